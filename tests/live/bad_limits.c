/* What is used up: a directory's numbers, a session's watches. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

enum { NEARLY_USED_UP = 2147483645 };

/* A server of its own, whose directories stand two numbers before the end. */
static struct zk_server *server;
static struct raw *raw;

static void visit(zkl_session *s, const char *path, zkl_parents parents)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    o.parents = parents;
    REQUIRE(zkl_mutex_new(&m, s, path, &o) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
}

/* Two directories as the library makes them, and one with somebody's data in it. */
static void prepare(struct live *t)
{
    static const char *const paths[] = {"/container", "/persistent", "/used"};
    if (server)
        return;
    server = zk_server_start(NULL);
    REQUIRE(server != NULL);
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    visit(s, paths[0], ZKL_PARENTS_CONTAINER);
    visit(s, paths[1], ZKL_PARENTS_PERSISTENT);
    visit(s, paths[2], ZKL_PARENTS_CONTAINER);
    live_close(t, s);
    raw = raw_open(zk_server_connect(server));
    REQUIRE(raw && raw_create(raw, "/used/x", NULL, -1, 0, NULL) == ZOK);
    raw_close(raw);
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        REQUIRE(zk_server_set_cversion(server, paths[i], NEARLY_USED_UP));
    raw = raw_open(zk_server_connect(server));
    REQUIRE(raw != NULL);
}

static int finish(void)
{
    raw_close(raw);
    zk_server_stop(server);
    return 0;
}

TEST_SUITE(bad_limits, .init = live_init, .done = finish);

static int children(const char *path)
{
    char **names = raw_children(raw, path);
    int count = names ? (int)g_strv_length(names) : -1;
    g_strfreev(names);
    return count;
}

static void check_number(zkl_mutex *m, const char *number)
{
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    if (!g_str_has_suffix(zkl_grant_node(g), number))
        runner_fail(__FILE__, __LINE__, "%s is not number %s", zkl_grant_node(g), number);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

static void check_overflow(zkl_mutex *m, const char *path, int others)
{
    struct completion c = COMPLETION_INIT;
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EOVERFLOW);
    CHECK_ERROR(ZKL_EOVERFLOW, path);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EOVERFLOW);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EOVERFLOW);
    CHECK_STR(c.error.path, path);
    LIVE_UNTIL(children(path) == others);
}

/* Somebody's child keeps the directory: it cannot be renewed. */
TEST_CASE(not_empty)
{
    struct live *t = live_begin();
    prepare(t);
    zkl_mutex *m = live_mutex(live_open(t, zk_server_connect(server), NULL), "/used");
    check_number(m, "lock-2147483645");
    LIVE_UNTIL(live_logged(t, "2147483647") == 1); /* a warning, in time */
    check_number(m, "lock-2147483646");
    check_overflow(m, "/used", 1);
    zkl_mutex_free(m);
    live_end(t);
}

/* Nor one that was made to stay. */
TEST_CASE(not_a_container)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    prepare(t);
    o.parents = ZKL_PARENTS_PERSISTENT;
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    REQUIRE(zkl_mutex_new(&m, s, "/persistent", &o) == 0);
    check_number(m, "lock-2147483645");
    check_number(m, "lock-2147483646");
    check_overflow(m, "/persistent", 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* A container is renewed as soon as it is empty, and the tokens go on. */
TEST_CASE(container)
{
    struct live *t = live_begin();
    const zkl_grant *g;
    prepare(t);
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    zkl_mutex *m = live_mutex(s, "/container"), *n = live_mutex(s, "/container");
    zkl_mutex *late = live_mutex(s, "/container");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    uint64_t token = zkl_grant_token(g);
    CHECK(g_str_has_suffix(zkl_grant_node(g), "lock-2147483645"));
    struct locker *l = locker_start(n, ZKL_FOREVER);
    LIVE_UNTIL(children("/container") == 2);
    CHECK_INT(zkl_mutex_lock(late, ZKL_FOREVER, NULL), ZKL_EOVERFLOW);
    LIVE_UNTIL(children("/container") == 2);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_str_has_suffix(l->node, "lock-2147483646"));
    CHECK_INT(locker_end(l), 0);
    LIVE_UNTIL(children("/container") == 0);
    int code = zkl_mutex_lock(m, ZKL_FOREVER, &g);
    CHECK_INT(code, 0);
    if (code == 0) {
        CHECK(g_str_has_suffix(zkl_grant_node(g), "lock-0000000000"));
        CHECK(zkl_grant_token(g) > token);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        check_number(m, "lock-0000000001");
    }
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    zkl_mutex_free(late);
    live_end(t);
}

enum { WAITERS = 70, FITTING = 64, DIRECTORY = 8100 };

static int refused(struct completion *c)
{
    int count = 0;
    for (int i = 0; i < WAITERS; i++)
        count += completion_calls(&c[i]) == 1 && completion_wait(&c[i]) == ZKL_ELIMIT;
    return count;
}

static void check_elimit(struct live *t, struct completion *c)
{
    for (int i = 0; i < WAITERS; i++) {
        if (completion_calls(&c[i]) == 0)
            continue;
        CHECK_INT(completion_wait(&c[i]), ZKL_ELIMIT);
        CHECK(g_str_has_prefix(c[i].error.path, t->path));
    }
}

/* 64 names of 8 KiB are watched; more would make the packet that renews all watches too large. A
 * contender that waits already goes on waiting. */
TEST_CASE(watches)
{
    struct live *t = live_begin();
    struct completion c[WAITERS];
    zkl_op *op[WAITERS];
    char *name = g_strnfill(DIRECTORY - strlen(t->path), 'd');
    char *path = g_strdup_printf("%s/%s", t->path, name);
    zkl_mutex *holder = live_mutex(live_open(t, t->connect, NULL), path);
    zkl_mutex *m[WAITERS];
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < WAITERS; i++) {
        c[i] = (struct completion)COMPLETION_INIT;
        m[i] = live_mutex(t->session, path);
        REQUIRE(zkl_mutex_lock_async(m[i], ZKL_FOREVER, completion_take, &c[i], &op[i]) == 0);
    }
    LIVE_UNTIL(refused(c) == WAITERS - FITTING);
    check_elimit(t, c);
    LIVE_UNTIL(live_contenders(t, path) == 1 + FITTING);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    CHECK_INT(completion_wait(&c[0]), 0);
    for (int i = 1; i < WAITERS; i++) {
        zkl_op_cancel(op[i]);
        CHECK(completion_wait(&c[i]) != 0);
    }
    zkl_grant_release(c[0].grant);
    for (int i = 0; i < WAITERS; i++) {
        zkl_op_free(op[i]);
        zkl_mutex_free(m[i]);
    }
    zkl_mutex_free(holder);
    g_free(path);
    g_free(name);
    live_end(t);
}
