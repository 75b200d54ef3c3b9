#include "semaphore_actors.h"

#include "live.h"

zkl_semaphore *semaphore_open(zkl_session *s, const char *path, int limit, enum semaphore_kind kind)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m = NULL;

    o.limit = limit;
    o.numbered = kind == SEMAPHORE_NUMBERED;
    o.layout = kind == SEMAPHORE_LEASES ? ZKL_SEMAPHORE_CURATOR : o.layout;
    REQUIRE(zkl_semaphore_new(&m, s, path, &o) == 0);
    return m;
}

zkl_grant *semaphore_acquire(zkl_semaphore *m, int permits)
{
    zkl_grant *g = NULL;

    REQUIRE(zkl_semaphore_acquire(m, permits, ZKL_FOREVER, &g) == 0);
    return g;
}

void semaphore_begin(zkl_semaphore *m, int permits, struct completion *c)
{
    REQUIRE(zkl_semaphore_acquire_async(m, permits, ZKL_FOREVER, completion_take, c, NULL) == 0);
}

void semaphore_begin_all(zkl_semaphore *const m[2], struct completion *all, int count)
{
    for (int i = 0; i < count; i++) {
        all[i] = (struct completion)COMPLETION_INIT;
        semaphore_begin(m[i % 2], 1, &all[i]);
    }
}

void semaphore_loss(enum semaphore_kind kind, bool (*waits)(struct live *t))
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, kind),
                  *n = semaphore_open(other, t->lock, 1, kind);
    zkl_grant *a = semaphore_acquire(n, 1);
    struct completion c = COMPLETION_INIT;
    struct changes changes = CHANGES_INIT;

    REQUIRE(zkl_grant_on_change(a, changes_take, &changes) == 0);
    semaphore_begin(m, 1, &c);
    LIVE_UNTIL(waits(t));
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&c), 0);
    REQUIRE(raw_expire(t->port, zkl_session_id(other)));
    changes_wait(&changes, ZKL_LOST);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(a);
    CHECK_INT(changes_seen(&changes, ZKL_LOST), 1);
    zkl_grant_release(c.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}
