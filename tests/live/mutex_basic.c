/* Lock, unlock, try, and what stands on the server meanwhile. */
#include "fourletter.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(mutex_basic, .init = live_init);

/* The grant's own words against the server's. */
TEST_CASE(granted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g = NULL;
    struct Stat stat;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(g) > 0 && zkl_grant_remaining_ms(g) < 10000);
    CHECK(g_str_has_prefix(zkl_grant_node(g), t->lock));
    REQUIRE(raw_exists(t->admin, zkl_grant_node(g), &stat) == ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_grant_session_id(g));
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(t->session));
    CHECK_INT(stat.czxid, zkl_grant_token(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* Also across handles and sessions. */
TEST_CASE(tokens_rise)
{
    struct live *t = live_begin();
    zkl_session *sessions[] = {t->session, live_open(t, t->connect, NULL)};
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        zkl_mutex *m = live_mutex(sessions[i % 2], t->lock);
        const zkl_grant *g = NULL;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        CHECK(zkl_grant_token(g) > last);
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        zkl_mutex_free(m);
    }
    live_end(t);
}

TEST_CASE(try_free)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g = NULL;
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock(m, 0, &g), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    zkl_mutex_free(m);
    live_end(t);
}

/* What a lock() that failed has left behind, while the holder still holds. */
static void check_traceless(struct live *t, zkl_session *loser, const char *held)
{
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(loser)) == 0);
    CHECK_INT(raw_exists(t->admin, held, NULL), ZOK);
}

TEST_CASE(try_busy)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    const zkl_grant *g, *unset = NULL;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_mutex_lock(n, 0, &unset), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, t->lock);
    CHECK(unset == NULL);
    check_traceless(t, other, zkl_grant_node(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* After a time-out nothing queues again, whatever happens to the lock later. */
TEST_CASE(timed_out)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    int64_t start = g_get_monotonic_time();
    CHECK_INT(zkl_mutex_lock(n, 150, NULL), ZKL_ETIMEDOUT);
    CHECK(g_get_monotonic_time() - start >= 150000);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    check_traceless(t, other, zkl_grant_node(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    session_settle(t, other);
    CHECK_INT(live_contenders(t, t->lock), 0);
    CHECK_INT(zkl_mutex_unlock(n), ZKL_EPERM);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* A limit that is not reached changes nothing. */
TEST_CASE(timed_in_time)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, 60000, NULL) == 0);
    struct locker *l = locker_start(n, 60000);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    CHECK(!locker_done(l));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(zkl_mutex_lock(m, INT64_MAX, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

static char *payload_of_a_holder(struct live *t, const zkl_mutex_options *options)
{
    zkl_mutex *m;
    const zkl_grant *g;
    REQUIRE(zkl_mutex_new(&m, t->session, t->lock, options) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    char *text = raw_get(t->admin, zkl_grant_node(g), NULL);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    REQUIRE(text != NULL);
    return text;
}

TEST_CASE(payload)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    char host[256] = "", *pid = g_strdup_printf("%d", (int)getpid());
    char *text = payload_of_a_holder(t, NULL);
    gethostname(host, sizeof(host) - 1);
    CHECK(strstr(text, host) != NULL);
    CHECK(strstr(text, pid) != NULL);
    free(text);
    g_free(pid);
    o.name = "Zo\xc3\xab's \"backup\" job";
    text = payload_of_a_holder(t, &o);
    CHECK_STR(text, o.name);
    free(text);
    live_end(t);
}

/* A waiter watches its predecessor and nothing else, the one behind the holder its own node, too; a
 * holder its own node. */
TEST_CASE(watches)
{
    struct live *t = live_begin();
    zkl_session *others[] = {live_open(t, t->connect, NULL), live_open(t, t->connect, NULL)};
    zkl_mutex *m[] = {live_mutex(t->session, t->lock), live_mutex(others[0], t->lock),
                      live_mutex(others[1], t->lock)};
    REQUIRE(zkl_mutex_lock(m[0], ZKL_FOREVER, NULL) == 0);
    struct locker *a = locker_queue(t, m[1], t->lock, 2);
    struct locker *b = locker_queue(t, m[2], t->lock, 3);
    LIVE_UNTIL(live_watches(t) == 4);
    char **nodes = live_queue(t, t->lock);
    const int64_t ids[] = {zkl_session_id(t->session), zkl_session_id(others[0]),
                           zkl_session_id(others[1])};
    CHECK_INT(fourletter_has_watch(t->port, ids[0], nodes[0]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[1], nodes[0]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[1], nodes[1]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[2], nodes[1]), 1);
    g_strfreev(nodes);
    CHECK_INT(zkl_mutex_unlock(m[0]), 0);
    CHECK_INT(locker_result(a), 0);
    CHECK_INT(locker_end(a), 0);
    CHECK_INT(locker_end(b), 0);
    for (int i = 0; i < 3; i++)
        zkl_mutex_free(m[i]);
    live_end(t);
}
