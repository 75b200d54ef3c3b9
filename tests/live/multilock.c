/* Locks at several paths on a real server: what stands there, who waits for whom, how they end. */
#include "live.h"
#include "mutex_actors.h"
#include "parts.h"
#include "runner.h"

#include <inttypes.h>
#include <string.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(multilock, .init = live_init);

enum { PATHS = 4 };

static struct live *t;
static char *paths[PATHS]; /* in the order of bytes */

static void begin(void)
{
    t = live_begin();
    for (int i = 0; i < PATHS; i++)
        paths[i] = g_strdup_printf("%s/%c", t->path, 'a' + i);
}

static void end(void)
{
    for (int i = 0; i < PATHS; i++)
        g_clear_pointer(&paths[i], g_free);
    live_end(t);
}

/* Makes a lock of the paths with these letters, in that order. */
static zkl_multilock *lock_of(zkl_session *s, const char *letters)
{
    const char *chosen[PATHS];
    zkl_multilock *l = NULL;

    for (size_t i = 0; i < strlen(letters); i++)
        chosen[i] = paths[letters[i] - 'a'];
    REQUIRE(zkl_multilock_new(&l, s, chosen, strlen(letters), NULL) == 0);
    return l;
}

static void check_contenders(int a, int b, int c, int d)
{
    const int wanted[PATHS] = {a, b, c, d};

    for (int i = 0; i < PATHS; i++)
        CHECK_INT(live_contenders(t, paths[i]), wanted[i]);
}

static int all_contenders(void)
{
    int all = 0;

    for (int i = 0; i < PATHS; i++)
        all += live_contenders(t, paths[i]);
    return all;
}

TEST_CASE(granted)
{
    static const int order[PATHS] = {3, 1, 0, 2};
    zkl_grant *g = NULL;
    zkl_part parts[PATHS];
    char fence[ZKL_FENCE_SIZE];
    struct Stat stat;

    begin();
    zkl_multilock *l = lock_of(t->session, "dbac");
    REQUIRE(zkl_multilock_lock(l, ZKL_FOREVER, &g) == 0);
    check_contenders(1, 1, 1, 1);
    REQUIRE(parts_of(g, parts, PATHS) == PATHS);
    CHECK_INT(zkl_grant_token(g), parts[0].token);
    char *due = g_strdup_printf("%016" PRIx64 "%016x", parts[0].token, 0);
    CHECK_INT(zkl_grant_fence(g, fence, sizeof fence), 0);
    CHECK_STR(fence, due);
    g_free(due);
    for (int i = 0; i < PATHS; i++) {
        CHECK(g_str_has_prefix(parts[i].node, paths[order[i]]));
        REQUIRE(raw_exists(t->admin, parts[i].node, &stat) == ZOK);
        CHECK_INT(stat.czxid, parts[i].token);
        CHECK_INT(stat.ephemeralOwner, zkl_grant_session_id(g));
    }
    CHECK(zkl_grant_remaining_ms(g) > 0);
    CHECK_INT(zkl_multilock_lock(l, 0, &g), ZKL_EBUSY);
    zkl_grant_release(g);
    LIVE_UNTIL(all_contenders() == 0);
    zkl_multilock_free(l);
    end();
}

/* It stands in line at the first path that is not free, and nowhere behind it. */
TEST_CASE(waits_in_order)
{
    struct completion c = COMPLETION_INIT;

    begin();
    zkl_mutex *b = live_mutex(t->session, paths[1]);
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_multilock *l = lock_of(other, "abcd");
    REQUIRE(zkl_mutex_lock(b, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_multilock_lock_async(l, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    LIVE_UNTIL(live_contenders(t, paths[1]) == 2 && all_contenders() == 3);
    session_settle(t, other);
    check_contenders(1, 2, 0, 0);
    CHECK_INT(completion_calls(&c), 0);
    CHECK_INT(zkl_mutex_unlock(b), 0);
    CHECK_INT(completion_wait(&c), 0);
    check_contenders(1, 1, 1, 1);
    zkl_grant_release(c.grant);
    LIVE_UNTIL(all_contenders() == 0);
    zkl_multilock_free(l);
    end();
}

TEST_CASE(in_vain)
{
    zkl_grant *g = NULL;
    struct completion c = COMPLETION_INIT;
    zkl_op *op = NULL;

    begin();
    zkl_mutex *m = live_mutex(t->session, paths[2]);
    zkl_multilock *l = lock_of(live_open(t, t->connect, NULL), "abcd");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_multilock_lock(l, 0, &g), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, paths[2]);
    CHECK_INT(zkl_multilock_lock(l, 3000, &g), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, paths[2]);
    REQUIRE(zkl_multilock_lock_async(l, ZKL_FOREVER, completion_take, &c, &op) == 0);
    LIVE_UNTIL(live_contenders(t, paths[2]) == 2);
    zkl_op_cancel(op);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    LIVE_UNTIL(all_contenders() == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_op_free(op);
    zkl_multilock_free(l);
    end();
}

static int create_node(zkl_grant *g, const char *name)
{
    char *path = g_strdup_printf("%s/%s", t->path, name);
    const zkl_change change = {ZKL_CHANGE_CREATE, 0, path, "x", 1};
    int code = zkl_grant_multi(g, &change, 1, 0, 10000);

    CHECK_INT(raw_exists(t->admin, path, NULL), code == 0 ? ZOK : ZNONODE);
    g_free(path);
    return code;
}

/* All nodes must exist, whichever is taken; by the library and by its check operations. */
TEST_CASE(fenced)
{
    begin();
    zkl_multilock *l = lock_of(t->session, "bca");
    for (size_t i = 0; i < 3; i++) {
        zkl_grant *g = NULL;
        struct zoo_op ops[3];
        zoo_op_result_t results[3];
        zkl_part part;
        char *name = g_strdup_printf("made-%zu", i);
        REQUIRE(zkl_multilock_lock(l, ZKL_FOREVER, &g) == 0);
        CHECK_INT(create_node(g, name), 0);
        CHECK_INT(zkl_grant_check_op(g, ops, 3), 3);
        CHECK_INT(zoo_multi(raw_handle(t->admin), 3, ops, results), ZOK);
        REQUIRE(zkl_grant_part(g, i, &part) == 0);
        REQUIRE(raw_delete(t->admin, part.node) == ZOK);
        CHECK_INT(zoo_multi(raw_handle(t->admin), 3, ops, results), ZNONODE);
        CHECK_INT(create_node(g, "never"), ZKL_ELOST);
        CHECK_INT(zkl_grant_state(g), ZKL_LOST);
        zkl_grant_release(g);
        g_free(name);
    }
    zkl_multilock_free(l);
    end();
}

/* Half of it is held when the session ends: it begins anew in the next one. */
TEST_CASE(session_expired_while_it_waits)
{
    struct completion c = COMPLETION_INIT;

    begin();
    zkl_mutex *m = live_mutex(t->session, paths[1]);
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_multilock *l = lock_of(other, "abc");
    const int64_t session = zkl_session_id(other);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_multilock_lock_async(l, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    LIVE_UNTIL(live_contenders(t, paths[1]) == 2);
    REQUIRE(raw_expire(t->port, session));
    LIVE_UNTIL(zkl_session_id(other) != session && live_contenders(t, paths[1]) == 2);
    CHECK_INT(completion_calls(&c), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(completion_wait(&c), 0);
    CHECK(zkl_grant_session_id(c.grant) != session);
    CHECK_INT(all_contenders(), 3);
    zkl_grant_release(c.grant);
    zkl_multilock_free(l);
    end();
}

/* ---- everybody at once ---- */

enum { ROUNDS = 40 };

/* One way of taking some of the paths; what each path guards is changed without any other lock. */
struct taker {
    pthread_t thread;
    zkl_session *session;
    const char *letters;
    bool nested; /* one by one */
    int wrong;
};

static volatile int guarded[PATHS]; /* 1: somebody is inside */
static volatile int entered[PATHS];

static void be_inside(struct taker *w)
{
    for (size_t i = 0; i < strlen(w->letters); i++) {
        w->wrong += guarded[w->letters[i] - 'a'];
        guarded[w->letters[i] - 'a'] = 1;
    }
    for (size_t i = 0; i < strlen(w->letters); i++) {
        entered[w->letters[i] - 'a']++;
        guarded[w->letters[i] - 'a'] = 0;
    }
}

static void take_nested(struct taker *w)
{
    zkl_mutex *m[PATHS];
    const size_t count = strlen(w->letters);

    for (size_t i = 0; i < count; i++)
        m[i] = live_mutex(w->session, paths[w->letters[i] - 'a']);
    for (int n = 0; n < ROUNDS; n++) {
        for (size_t i = 0; i < count; i++)
            w->wrong += zkl_mutex_lock(m[i], ZKL_FOREVER, NULL) != 0;
        be_inside(w);
        for (size_t i = count; i-- > 0;)
            w->wrong += zkl_mutex_unlock(m[i]) != 0;
    }
}

static void take_all(struct taker *w)
{
    zkl_multilock *l = lock_of(w->session, w->letters);

    for (int n = 0; n < ROUNDS; n++) {
        zkl_grant *g = NULL;
        w->wrong += zkl_multilock_lock(l, ZKL_FOREVER, &g) != 0;
        be_inside(w);
        zkl_grant_release(g);
    }
    zkl_multilock_free(l);
}

static void *take(void *data)
{
    struct taker *w = data;

    if (w->nested)
        take_nested(w);
    else
        take_all(w);
    return NULL;
}

/* In whatever order their paths were given, and beside others who take them one by one in order:
 * all come to their end. */
TEST_CASE(no_deadlock)
{
    struct taker takers[] = {{.letters = "abcd"},
                             {.letters = "dcba"},
                             {.letters = "ca"},
                             {.letters = "bd"},
                             {.letters = "db"},
                             {.letters = "ab", .nested = true},
                             {.letters = "bcd", .nested = true},
                             {.letters = "c", .nested = true}};

    begin();
    for (int i = 0; i < PATHS; i++)
        guarded[i] = entered[i] = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(takers); i++) {
        takers[i].session = i % 2 ? t->session : live_open(t, t->connect, NULL);
        REQUIRE(pthread_create(&takers[i].thread, NULL, take, &takers[i]) == 0);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(takers); i++) {
        pthread_join(takers[i].thread, NULL);
        CHECK_INT(takers[i].wrong, 0);
    }
    CHECK_INT(entered[0], 4 * ROUNDS);
    CHECK_INT(entered[1], 6 * ROUNDS);
    CHECK_INT(entered[2], 5 * ROUNDS);
    CHECK_INT(entered[3], 5 * ROUNDS);
    LIVE_UNTIL(all_contenders() == 0);
    end();
}
