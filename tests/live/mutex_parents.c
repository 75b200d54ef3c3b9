/* The lock's directory: made on demand, made again when it is gone, and the chroot above it. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(mutex_parents, .init = live_init);

static void visit(zkl_session *s, const char *path, const zkl_mutex_options *options)
{
    zkl_mutex *m;
    REQUIRE(zkl_mutex_new(&m, s, path, options) == 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
}

/* Stat does not tell a container; but the server reaps it, which this one does in a hurry. */
TEST_CASE(kinds)
{
    static const char *const jvm[] = {"-Dznode.container.checkIntervalMs=100", NULL};
    const struct zk_server_options so = {.jvm = jvm};
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct zk_server *server = zk_server_start(&so);
    REQUIRE(server != NULL);
    struct raw *r = raw_open(zk_server_connect(server));
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    o.parents = ZKL_PARENTS_PERSISTENT;
    visit(s, "/persistent/a/b", &o);
    visit(s, "/default/a/b", NULL);
    o.parents = ZKL_PARENTS_CONTAINER;
    visit(s, "/container/a/b", &o);
    LIVE_UNTIL(raw_exists(r, "/default", NULL) == ZNONODE);
    LIVE_UNTIL(raw_exists(r, "/container", NULL) == ZNONODE);
    CHECK_INT(raw_exists(r, "/persistent/a/b", NULL), ZOK);
    raw_close(r);
    live_end(t);
    zk_server_stop(server);
}

/* What is there already is taken as it is. */
TEST_CASE(given)
{
    struct live *t = live_begin();
    struct Stat stat;
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, "data", 4, 0, NULL) == ZOK);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(raw_exists(t->admin, t->lock, &stat), ZOK);
    CHECK(stat.ephemeralOwner == 0 && stat.version == 0 && stat.dataLength == 4);
    zkl_mutex_free(m);
    live_end(t);
}

/* Between one lock and the next the server may reap an empty container, and all above it. */
TEST_CASE(reaped_between)
{
    struct live *t = live_begin();
    char *path = g_strdup_printf("%s/a/b", t->lock);
    zkl_mutex *m = live_mutex(t->session, path);
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        const zkl_grant *g;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        CHECK(zkl_grant_token(g) > last);
        CHECK(g_str_has_suffix(zkl_grant_node(g), "-lock-0000000000")); /* numbers begin anew */
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        LIVE_UNTIL(live_contenders(t, path) == 0);
        REQUIRE(raw_delete_tree(t->admin, t->path) == ZOK);
    }
    zkl_mutex_free(m);
    g_free(path);
    live_end(t);
}

struct reaper {
    struct live *t;
    struct raw *raw;
    char *path; /* the deepest */
    atomic_bool stop;
    int reaped;
};

static void *reap(void *data)
{
    struct reaper *r = data;
    while (!atomic_load(&r->stop)) {
        char *path = g_strdup(r->path);
        for (; strcmp(path, r->t->path) != 0 && raw_delete(r->raw, path) == ZOK; r->reaped++)
            *strrchr(path, '/') = '\0';
        g_free(path);
    }
    return NULL;
}

/* An administrator who deletes whatever is empty, as fast as he can. */
TEST_CASE(reaped_all_the_time)
{
    enum { TIMES = 300 };
    struct live *t = live_begin();
    struct reaper r = {.t = t, .raw = raw_open(t->connect)};
    pthread_t thread;
    uint64_t last = 0;
    REQUIRE(r.raw != NULL);
    r.path = g_strdup_printf("%s/a/b", t->lock);
    zkl_mutex *m = live_mutex(t->session, r.path);
    REQUIRE(pthread_create(&thread, NULL, reap, &r) == 0);
    for (int i = 0; i < TIMES; i++) {
        const zkl_grant *g;
        int code = zkl_mutex_lock(m, ZKL_FOREVER, &g);
        CHECK_INT(code, 0);
        if (code != 0)
            continue;
        CHECK(zkl_grant_token(g) > last);
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    CHECK(r.reaped > 0);
    raw_close(r.raw);
    zkl_mutex_free(m);
    g_free(r.path);
    live_end(t);
}

/* A directory deleted with all that is in it: the holder loses, the waiters queue anew. */
TEST_CASE(deleted_with_contenders)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    char **queue = live_queue(t, t->lock);
    LIVE_UNTIL(live_watches(t) == 2);
    REQUIRE(raw_delete(t->admin, queue[1]) == ZOK);
    REQUIRE(raw_delete(t->admin, queue[0]) == ZOK);
    raw_delete(t->admin, t->lock); /* unless the waiter is back already */
    CHECK_INT(locker_result(l), 0);
    LIVE_UNTIL(zkl_grant_state(g) == ZKL_LOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    zkl_mutex_free(m);
    live_end(t);
}

static zkl_session *open_below(struct live *t, const char *chroot)
{
    char *connect = g_strconcat(t->connect, chroot, NULL);
    zkl_session *s = live_open(t, connect, NULL);
    g_free(connect);
    return s;
}

/* Names given and answered are the user's, the nodes stand below the chroot, which is made too. */
TEST_CASE(chroot_made)
{
    struct live *t = live_begin();
    zkl_session *s = open_below(t, t->lock);
    zkl_mutex *m = live_mutex(s, "/a/b"), *n;
    const zkl_grant *g;
    char *full = g_strconcat(t->lock, "/a/b", NULL);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK(g_str_has_prefix(zkl_grant_node(g), "/a/b/_c_"));
    char *node = g_strconcat(t->lock, zkl_grant_node(g), NULL);
    CHECK_INT(raw_exists(t->admin, node, NULL), ZOK);
    n = live_mutex(t->session, full);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY); /* the same lock by its full name */
    CHECK_ERROR(ZKL_EBUSY, full);
    struct locker *l = locker_start(m, 0);
    CHECK_INT(locker_result(l), ZKL_EBUSY);
    CHECK_STR(l->error.path, "/a/b");
    locker_end(l);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    g_free(node);
    g_free(full);
    live_end(t);
}
