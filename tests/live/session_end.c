/* A ZooKeeper session that another process ends. */
#include "live.h"
#include "mutex_actors.h"
#include "ports.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

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

/* As the servers make it: by Java's Random, from the id and a constant. */
static void guess_password(zkl_session_claim *claim)
{
    const uint64_t multiplier = 0x5DEECE66D, mask = (UINT64_C(1) << 48) - 1;
    uint64_t seed = (((uint64_t)claim->id ^ 0xB3415C00) ^ multiplier) & mask;
    for (size_t i = 0; i < sizeof claim->password; i++) {
        if (i % 4 == 0)
            seed = (seed * multiplier + 0xB) & mask;
        claim->password[i] = (unsigned char)(seed >> (16 + 8 * (i % 4)));
    }
}

/* So whoever knows the id, which stands in each ephemeral node, can end the session: SECURITY.md
 * says so. */
TEST_CASE(password_follows_from_the_id)
{
    struct live *t = live_begin();
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const zkl_credential me = {"digest", "me:secret"};
    o.session_timeout_ms = SESSION_MS;
    o.credentials = &me;
    o.credential_count = 1;
    o.acl = "auth::cdrwa,world:anyone:r";
    zkl_session *victim = live_open(t, t->connect, &o);
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    const zkl_grant *grant;
    zkl_mutex *m = live_mutex(victim, t->lock);
    REQUIRE(zkl_mutex_lock(m, 0, &grant) == 0);
    zkl_queue *q;
    REQUIRE(zkl_queue_read(&q, t->session, t->lock, NULL, LONG_MS) == 0);
    zkl_session_claim claim = {.id = zkl_queue_get(q, 0)->session_id}, real;
    guess_password(&claim);
    REQUIRE(zkl_session_get_claim(victim, &real) == 0);
    CHECK(memcmp(claim.password, real.password, sizeof real.password) == 0);
    CHECK_INT(zkl_session_end(t->connect, NULL, &claim, LONG_MS), 0);
    LIVE_UNTIL(zkl_grant_state(grant) == ZKL_LOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    zkl_queue_free(q);
    REQUIRE(zoo_add_auth(raw_handle(t->admin), me.scheme, me.auth, (int)strlen(me.auth), NULL,
                         NULL) == ZOK);
    live_end(t);
}

static void end_inside(zkl_grant *grant, const zkl_error *error, void *code)
{
    const zkl_session_claim claim = {.id = 1};
    (void)error;
    atomic_store((atomic_int *)code, zkl_session_end("127.0.0.1", NULL, &claim, 0));
    zkl_grant_release(grant);
}

TEST_CASE(refused)
{
    struct live *t = live_begin();
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const zkl_session_claim none = {.id = 0}, some = {.id = 1};
    zkl_session_claim claim;
    atomic_int code = 0;
    CHECK_INT(zkl_session_get_claim(NULL, &claim), ZKL_EINVAL);
    CHECK_INT(zkl_session_get_claim(t->session, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_end(t->connect, NULL, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_session_end(t->connect, NULL, &none, 0), ZKL_EINVAL);
    CHECK_INT(zkl_session_end("a:b", NULL, &some, 0), ZKL_EINVAL);
    o.size = 0;
    CHECK_INT(zkl_session_end(t->connect, &o, &some, 0), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, "size");
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, end_inside, &code, NULL) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0 && atomic_load(&code) != 0);
    CHECK_INT(atomic_load(&code), ZKL_EDEADLK);
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
    CHECK_INT(zkl_session_end(dead, NULL, &some, -1), ZKL_EUNREACHABLE); /* is 0 */
    CHECK_INT(zkl_session_end("no-such-host.invalid", NULL, &some, 3000), ZKL_EHOST);
    CHECK_ERROR(ZKL_EHOST, "no-such-host");
    g_free(dead);
    live_close(t, s);
    port_release(&port);
    live_end(t);
}
