/* A semaphore in the layout of Curator's InterProcessSemaphoreV2: a lock at path/locks, and whoever
 * has it makes a node in path/leases and waits until there are few enough. */
#include "fourletter.h"
#include "live.h"
#include "parts.h"
#include "runner.h"
#include "semaphore_actors.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(leases, .init = live_init);

static int count(struct live *t, const char *below)
{
    char *path = g_strconcat(t->lock, below, NULL);
    const int n = live_contenders(t, path);

    g_free(path);
    return n;
}

/* So many have the lock or wait for it, and so many leases are there. */
static bool stands(struct live *t, int locks, int leases)
{
    return count(t, "/locks") == locks && count(t, "/leases") == leases;
}

/* The path of the only child below; free() it. */
static char *only_child(struct live *t, const char *below)
{
    char *path = g_strconcat(t->lock, below, NULL), **nodes = live_queue(t, path);

    REQUIRE(nodes[0] != NULL && nodes[1] == NULL);
    char *node = strdup(nodes[0]);
    g_strfreev(nodes);
    g_free(path);
    return node;
}

TEST_CASE(permits_are_shared)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;
    struct Stat stat;
    char *below = g_strconcat(t->lock, "/leases/_c_", NULL);

    CHECK(g_str_has_prefix(zkl_grant_node(a), below));
    CHECK(strstr(zkl_grant_node(a), "-lease-") != NULL);
    REQUIRE(raw_exists(t->admin, zkl_grant_node(b), &stat) == ZOK);
    CHECK_INT(stat.czxid, zkl_grant_token(b));
    LIVE_UNTIL(stands(t, 0, 2));
    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &none), ZKL_EBUSY);
    LIVE_UNTIL(stands(t, 0, 2));
    semaphore_begin(m, 1, &c);
    LIVE_UNTIL(stands(t, 1, 3)); /* it waits with the lock held */
    semaphore_begin(m, 1, &d);
    LIVE_UNTIL(stands(t, 2, 3));
    CHECK_INT(completion_calls(&c), 0);
    zkl_grant_release(b);
    CHECK_INT(completion_wait(&c), 0);
    LIVE_UNTIL(stands(t, 1, 3));
    CHECK_INT(completion_calls(&d), 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    LIVE_UNTIL(stands(t, 0, 0));
    g_free(below);
    zkl_semaphore_free(m);
    live_end(t);
}

/* Two that want the same two permits: one has both, the other none. */
TEST_CASE(several_at_once)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_LEASES),
                  *n = semaphore_open(other, t->lock, 2, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    CHECK_INT(zkl_semaphore_acquire(n, 2, 0, &none), ZKL_EBUSY);
    LIVE_UNTIL(stands(t, 0, 1));
    semaphore_begin(n, 2, &c);
    LIVE_UNTIL(stands(t, 1, 3));
    semaphore_begin(m, 2, &d);
    LIVE_UNTIL(stands(t, 2, 3));
    CHECK_INT(completion_calls(&c), 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(parts_of(c.grant, NULL, 0), 2);
    LIVE_UNTIL(stands(t, 1, 4));
    CHECK_INT(completion_calls(&d), 0);
    REQUIRE(raw_expire(t->port, zkl_session_id(other)));
    CHECK_INT(completion_wait(&d), 0);
    LIVE_UNTIL(zkl_grant_state(c.grant) == ZKL_LOST && stands(t, 0, 2));
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    LIVE_UNTIL(stands(t, 0, 0));
    CHECK_INT(zkl_semaphore_acquire(m, 3, ZKL_FOREVER, &none), ZKL_ELIMIT);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* Whatever is in path/leases is a permit that somebody has. */
TEST_CASE(every_child_counts)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT;
    char *odd = g_strconcat(t->lock, "/leases/odd", NULL);

    REQUIRE(raw_create(t->admin, odd, "", 0, 0, NULL) == ZOK);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &none), ZKL_EBUSY);
    semaphore_begin(m, 1, &c);
    LIVE_UNTIL(stands(t, 1, 2));
    CHECK_INT(completion_calls(&c), 0);
    REQUIRE(raw_delete(t->admin, odd) == ZOK);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(a);
    zkl_grant_release(c.grant);
    g_free(odd);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(gives_up)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_LEASES),
                  *n = semaphore_open(other, t->lock, 1, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    CHECK_INT(zkl_semaphore_acquire(n, 1, 100, &none), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    LIVE_UNTIL(stands(t, 0, 1));
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    semaphore_begin(n, 1, &c);
    LIVE_UNTIL(stands(t, 1, 2));
    semaphore_begin(m, 1, &d);
    LIVE_UNTIL(stands(t, 2, 2));
    zkl_semaphore_free(n);
    CHECK_INT(completion_wait(&c), ZKL_ECLOSED);
    LIVE_UNTIL(stands(t, 1, 2)); /* the next one has the lock now */
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

static bool one_waits(struct live *t)
{
    return stands(t, 1, 2);
}

TEST_CASE(loss)
{
    semaphore_loss(SEMAPHORE_LEASES, one_waits);
}

/* A lease that waits without the lock could wait for another that does: it goes, and its owner
 * queues for the lock again. */
TEST_CASE(lock_goes_while_it_waits)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_LEASES),
                  *n = semaphore_open(other, t->lock, 1, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    semaphore_begin(n, 1, &c);
    LIVE_UNTIL(stands(t, 1, 2));
    char *lock = only_child(t, "/locks");
    semaphore_begin(m, 1, &d);
    LIVE_UNTIL(stands(t, 2, 2));
    REQUIRE(raw_delete(t->admin, lock) == ZOK);
    LIVE_UNTIL(stands(t, 2, 2) && raw_exists(t->admin, lock, NULL) == ZNONODE);
    session_settle(t, other);
    LIVE_UNTIL(stands(t, 2, 2));
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0); /* which has the lock, and was behind */
    CHECK_INT(completion_calls(&c), 0);
    zkl_grant_release(d.grant);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(c.grant);
    LIVE_UNTIL(stands(t, 0, 0));
    free(lock);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* Both nodes go with the session, and it begins again with the lock. */
TEST_CASE(session_ends_while_it_waits)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_LEASES),
                  *n = semaphore_open(other, t->lock, 1, SEMAPHORE_LEASES);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT;

    semaphore_begin(n, 1, &c);
    LIVE_UNTIL(stands(t, 1, 2));
    char *lock = only_child(t, "/locks");
    REQUIRE(raw_expire(t->port, zkl_session_id(other)));
    LIVE_UNTIL(raw_exists(t->admin, lock, NULL) == ZNONODE && stands(t, 1, 2));
    CHECK_INT(completion_calls(&c), 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(c.grant);
    LIVE_UNTIL(stands(t, 0, 0));
    free(lock);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* The contender that comes second is refused, whichever layout it has. */
TEST_CASE(two_layouts)
{
    struct live *t = live_begin();
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_LEASES), *own = NULL;
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;

    o.limit = 2;
    REQUIRE(zkl_semaphore_new(&own, t->session, t->lock, &o) == 0);
    CHECK_INT(zkl_semaphore_acquire(own, 1, 1000, &none), ZKL_ELAYOUT);
    zkl_grant_release(a);
    LIVE_UNTIL(stands(t, 0, 0));
    char *path = g_strconcat(t->lock, "/leases", NULL);
    REQUIRE(raw_delete(t->admin, path) == ZOK);
    g_free(path);
    path = g_strconcat(t->lock, "/locks", NULL);
    REQUIRE(raw_delete(t->admin, path) == ZOK);
    g_free(path);
    REQUIRE(zkl_semaphore_acquire(own, 1, ZKL_FOREVER, &a) == 0);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 1000, &none), ZKL_ELAYOUT);
    CHECK_ERROR(ZKL_ELAYOUT, t->lock);
    LIVE_UNTIL(stands(t, 0, 0));
    zkl_grant_release(a);
    zkl_semaphore_free(m);
    zkl_semaphore_free(own);
    live_end(t);
}

static int new_with(struct live *t, int limit, int numbered, int layout)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;

    o.limit = limit;
    o.numbered = numbered;
    o.layout = (zkl_semaphore_layout)layout;
    return zkl_semaphore_new(&m, t->session, t->lock, &o);
}

TEST_CASE(what_is_refused)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_LEASES);
    zkl_grant *none = NULL;
    int limit;

    CHECK_INT(new_with(t, 2, 0, 2), ZKL_EINVAL);
    CHECK_INT(new_with(t, 0, 0, ZKL_SEMAPHORE_CURATOR), ZKL_EINVAL);
    CHECK_INT(new_with(t, 2, 1, ZKL_SEMAPHORE_CURATOR), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire(m, 65, 0, &none), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, t->lock);
    CHECK_INT(zkl_semaphore_get_limit(m, ZKL_FOREVER, &limit), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_set_limit(m, 2, ZKL_FOREVER), ZKL_EINVAL);
    zkl_semaphore_free(m);
    live_end(t);
}

/* Many at once on two sessions, never more than the limit: each reads how many there are. */
TEST_CASE(many_at_once)
{
    enum { COUNT = 24, LIMIT = 3 };
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m[] = {semaphore_open(t->session, t->lock, LIMIT, SEMAPHORE_LEASES),
                          semaphore_open(other, t->lock, LIMIT, SEMAPHORE_LEASES)};
    struct completion all[COUNT];
    int held = 0, released = 0;

    semaphore_begin_all(m, all, COUNT);
    while (released < COUNT) {
        held = 0;
        for (int i = 0; i < COUNT; i++)
            held += completion_calls(&all[i]) > 0 && all[i].grant != NULL;
        CHECK(held <= LIMIT);
        for (int i = 0; i < COUNT; i++) {
            if (completion_calls(&all[i]) == 0 || !all[i].grant)
                continue;
            zkl_grant_release(all[i].grant);
            all[i].grant = NULL;
            released++;
            break;
        }
    }
    LIVE_UNTIL(stands(t, 0, 0));
    zkl_semaphore_free(m[0]);
    zkl_semaphore_free(m[1]);
    live_end(t);
}
