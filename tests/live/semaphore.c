/* A semaphore: who has its permits, who hears of a release, what its limit is; and the layout of
 * Curator's InterProcessSemaphoreV2: a lock at path/locks, and whoever has it makes a node in
 * path/leases and waits until there are few enough. */
#include "fourletter.h"
#include "live.h"
#include "mutex_actors.h"
#include "parts.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(semaphore, .init = live_init);

enum semaphore_kind { SEMAPHORE_PLAIN, SEMAPHORE_NUMBERED, SEMAPHORE_LEASES };

/* For zkl_semaphore_free(). */
static zkl_semaphore *semaphore_open(zkl_session *s, const char *path, int limit,
                                     enum semaphore_kind kind)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m = NULL;

    o.limit = limit;
    o.numbered = kind == SEMAPHORE_NUMBERED;
    o.layout = kind == SEMAPHORE_LEASES ? ZKL_SEMAPHORE_CURATOR : o.layout;
    REQUIRE(zkl_semaphore_new(&m, s, path, &o) == 0);
    return m;
}

static zkl_grant *semaphore_acquire(zkl_semaphore *m, int permits)
{
    zkl_grant *g = NULL;

    REQUIRE(zkl_semaphore_acquire(m, permits, ZKL_FOREVER, &g) == 0);
    return g;
}

static void semaphore_begin(zkl_semaphore *m, int permits, struct completion *c)
{
    REQUIRE(zkl_semaphore_acquire_async(m, permits, ZKL_FOREVER, completion_take, c, NULL) == 0);
}

/* A test: a session ends by force, its holder hears it, and its permit is the next one's.
 * waits: whether the server shows one holder and one that waits. */
static void semaphore_loss(enum semaphore_kind kind, bool (*waits)(struct live *t))
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

/* One that waits, in its place of n children. */
static void queue(struct live *t, zkl_semaphore *m, int permits, struct completion *c, int n)
{
    semaphore_begin(m, permits, c);
    LIVE_UNTIL(live_contenders(t, t->lock) == n);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(c), 0);
}

static char *limit_of(struct live *t)
{
    return raw_get(t->admin, t->lock, NULL);
}

static void check_limit(struct live *t, const char *due)
{
    char *limit = limit_of(t);

    CHECK_STR(limit, due);
    free(limit);
}

TEST_CASE(permits_are_shared)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 1), *c = NULL;
    struct Stat stat;

    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &c), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, t->lock);
    CHECK(c == NULL);
    check_limit(t, "2");
    CHECK_INT(zkl_grant_state(a), ZKL_HELD);
    REQUIRE(raw_exists(t->admin, zkl_grant_node(b), &stat) == ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(t->session));
    CHECK_INT(stat.czxid, zkl_grant_token(b));
    CHECK_INT(stat.version, 0); /* nobody was behind: nobody was told */
    zkl_grant_release(a);
    c = semaphore_acquire(m, 1);
    zkl_grant_release(b);
    zkl_grant_release(c);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    live_end(t);
}

/* A and B hold, C and D wait: B's release reaches C, and then A's D. */
TEST_CASE(release_reaches_the_first_in_line)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN),
                  *n = semaphore_open(live_open(t, t->connect, NULL), t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(n, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 1, &c, 3);
    queue(t, n, 1, &d, 4);
    zkl_grant_release(b);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(completion_calls(&d), 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

TEST_CASE(limit_is_raised)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN),
                  *admin = semaphore_open(other, t->lock, 0, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;
    int limit = 0;

    queue(t, m, 1, &c, 2);
    queue(t, m, 1, &d, 3);
    CHECK_INT(zkl_semaphore_get_limit(admin, ZKL_FOREVER, &limit), 0);
    CHECK_INT(limit, 1);
    CHECK_INT(zkl_semaphore_set_limit(admin, 3, ZKL_FOREVER), 0);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(completion_wait(&d), 0);
    check_limit(t, "3");
    zkl_grant_release(a);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(admin);
    live_end(t);
}

TEST_CASE(limit_is_lowered)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 2, &c, 3);
    queue(t, m, 1, &d, 4);
    CHECK_INT(zkl_semaphore_set_limit(m, 1, ZKL_FOREVER), 0);
    CHECK_INT(completion_wait(&c), ZKL_ELIMIT); /* it would wait for ever */
    CHECK(strstr(c.error.text, "limit") != NULL);
    CHECK_INT(zkl_grant_state(a), ZKL_HELD);
    CHECK_INT(zkl_grant_state(b), ZKL_HELD);
    zkl_grant_release(a);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&d), 0);
    zkl_grant_release(b);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(more_than_the_limit)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *g = NULL;

    CHECK_INT(zkl_semaphore_acquire(m, 3, ZKL_FOREVER, &g), ZKL_ELIMIT);
    CHECK_ERROR(ZKL_ELIMIT, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    live_end(t);
}

/* The directory's limit counts; without one, that of the options is written. */
TEST_CASE(whose_limit)
{
    struct live *t = live_begin();
    zkl_semaphore *none = semaphore_open(t->session, t->lock, 0, SEMAPHORE_PLAIN),
                  *three = semaphore_open(t->session, t->lock, 3, SEMAPHORE_PLAIN);
    zkl_grant *g = NULL;
    int limit;

    CHECK_INT(zkl_semaphore_acquire(none, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_get_limit(none, ZKL_FOREVER, &limit), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_set_limit(none, 3, ZKL_FOREVER), ZKL_ENOENT);
    live_make_directory(t);
    CHECK_INT(zkl_semaphore_acquire(none, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_get_limit(none, ZKL_FOREVER, &limit), ZKL_ELAYOUT);
    zkl_grant_release(semaphore_acquire(three, 3));
    check_limit(t, "3");
    CHECK_INT(zkl_semaphore_set_limit(none, 2, ZKL_FOREVER), 0);
    zkl_grant_release(semaphore_acquire(none, 2));
    CHECK_INT(zkl_semaphore_acquire(three, 3, ZKL_FOREVER, &g), ZKL_ELIMIT);
    REQUIRE(raw_set(t->admin, t->lock, "some text", 9) == ZOK);
    CHECK_INT(zkl_semaphore_acquire(three, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_set_limit(three, 1, ZKL_FOREVER), ZKL_ELAYOUT);
    check_limit(t, "some text");
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(none);
    zkl_semaphore_free(three);
    live_end(t);
}

/* One that gives up leaves no watch and no gap in the line. */
TEST_CASE(gives_up)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN),
                  *n = semaphore_open(other, t->lock, 1, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;
    zkl_op *op;

    CHECK_INT(zkl_semaphore_acquire(n, 1, 100, &none), ZKL_ETIMEDOUT);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    REQUIRE(zkl_semaphore_acquire_async(n, 1, ZKL_FOREVER, completion_take, &c, &op) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    queue(t, m, 1, &d, 3);
    zkl_op_cancel(op);
    zkl_op_free(op);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

static bool one_waits(struct live *t)
{
    return live_contenders(t, t->lock) == 2;
}

TEST_CASE(loss)
{
    semaphore_loss(SEMAPHORE_PLAIN, one_waits);
}

/* The numbers of g in words. */
static void check_slots(const zkl_grant *g, const char *due)
{
    GString *text = g_string_new(NULL);
    zkl_part part;

    for (size_t i = 0; zkl_grant_part(g, i, &part) == 0; i++)
        g_string_append_printf(text, i ? " %d" : "%d", part.slot);
    CHECK_STR(text->str, due);
    g_string_free(text, TRUE);
}

TEST_CASE(numbers)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 4, SEMAPHORE_NUMBERED),
                  *plain = semaphore_open(t->session, t->lock, 4, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 2),
              *c = semaphore_acquire(plain, 1);
    struct completion d = COMPLETION_INIT, e = COMPLETION_INIT;

    check_slots(a, "0");
    check_slots(b, "1 2");
    check_slots(c, "-1");
    CHECK(strstr(zkl_grant_node(b), "-s2-lease-") != NULL);
    queue(t, m, 1, &d, 4);
    queue(t, m, 3, &e, 5);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    check_slots(d.grant, "0");
    zkl_grant_release(b);
    zkl_grant_release(c);
    CHECK_INT(completion_wait(&e), 0);
    check_slots(e.grant, "1 2 3");
    zkl_grant_release(d.grant);
    a = semaphore_acquire(m, 1);
    check_slots(a, "0");
    zkl_grant_release(a);
    zkl_grant_release(e.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(plain);
    live_end(t);
}

/* A transaction writes its own line behind them, and they are read all the same. */
TEST_CASE(numbers_and_transactions)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 3, SEMAPHORE_NUMBERED);
    zkl_grant *a = semaphore_acquire(m, 2), *b;

    REQUIRE(zkl_grant_multi(a, NULL, 0, 0, ZKL_FOREVER) == 0);
    b = semaphore_acquire(m, 1);
    check_slots(a, "0 1");
    check_slots(b, "2");
    REQUIRE(zkl_grant_multi(b, NULL, 0, 0, ZKL_FOREVER) == 0);
    char *data = raw_get(t->admin, zkl_grant_node(b), NULL);
    CHECK(strstr(data, "\nzkl numbers 2 of 3\nzkl tx ") != NULL);
    free(data);
    zkl_grant_release(a);
    a = semaphore_acquire(m, 1);
    check_slots(a, "0");
    zkl_grant_release(a);
    zkl_grant_release(b);
    zkl_semaphore_free(m);
    live_end(t);
}

/* ---- Curator's layout ---- */

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

TEST_CASE(leases_are_shared)
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
TEST_CASE(leases_several_at_once)
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

static bool one_lease_waits(struct live *t)
{
    return stands(t, 1, 2);
}

TEST_CASE(leases_lost)
{
    semaphore_loss(SEMAPHORE_LEASES, one_lease_waits);
}

/* A lease that waits without the lock could wait for another that does: it goes, and its owner
 * queues for the lock again. */
TEST_CASE(leases_lock_goes)
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
TEST_CASE(leases_session_ends)
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
TEST_CASE(leases_and_own_layout)
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
