/* A ZooKeeper session that another process ends. */
#include "live.h"
#include "mutex_actors.h"
#include "ports.h"
#include "runner.h"

TEST_SUITE(session_end, .init = live_init);

enum { LONG_MS = 60000, SESSION_MS = 6000 };

/* Its holder does not hear of it before the server tells; whoever waits has the lock at once. */
TEST_CASE(ends_at_once)
{
    struct live *t = live_begin();
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = SESSION_MS;
    zkl_session *dead = live_open(t, t->connect, &o);
    zkl_mutex *held = live_mutex(dead, t->lock), *wanted = live_mutex(t->session, t->lock);
    const zkl_grant *grant;
    zkl_session_claim claim;
    REQUIRE(zkl_mutex_lock(held, 0, &grant) == 0);
    struct locker *next = locker_queue(t, wanted, t->lock, 2);
    REQUIRE(zkl_session_get_claim(dead, &claim) == 0);
    CHECK(claim.id == zkl_session_id(dead));
    CHECK_INT(zkl_session_end(t->connect, &o, &claim, LONG_MS), 0);
    CHECK_INT(locker_result(next), 0);
    LIVE_UNTIL(zkl_grant_state(grant) == ZKL_LOST);
    LIVE_UNTIL(zkl_session_id(dead) != claim.id);
    /* There is none any more, as there is none with another password. */
    CHECK_INT(zkl_session_end(t->connect, NULL, &claim, LONG_MS), 0);
    CHECK_INT(locker_end(next), 0);
    CHECK_INT(zkl_mutex_unlock(held), ZKL_ELOST);
    live_end(t);
}

TEST_CASE(wrong_password)
{
    struct live *t = live_begin();
    zkl_session_claim claim;
    REQUIRE(zkl_session_get_claim(t->session, &claim) == 0);
    claim.password[0] ^= 1;
    CHECK_INT(zkl_session_end(t->connect, NULL, &claim, LONG_MS), 0);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK(claim.id == zkl_session_id(t->session));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    live_end(t);
}

TEST_CASE(nobody_there)
{
    struct live *t = live_begin();
    const zkl_session_claim some = {.id = 1};
    struct held_port port;
    REQUIRE(port_hold(&port));
    char *dead = g_strdup_printf("127.0.0.1:%d", port.port);
    zkl_session *s = live_open_only(t, dead, NULL);
    zkl_session_claim claim;
    CHECK_INT(zkl_session_get_claim(s, &claim), ZKL_EUNREACHABLE);
    CHECK_INT(zkl_session_end(dead, NULL, &some, 300), ZKL_EUNREACHABLE);
    CHECK_INT(zkl_session_end("no-such-host.invalid", NULL, &some, 3000), ZKL_EHOST);
    CHECK_ERROR(ZKL_EHOST, "no-such-host");
    g_free(dead);
    live_close(t, s);
    port_release(&port);
    live_end(t);
}
