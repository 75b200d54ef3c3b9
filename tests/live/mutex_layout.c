/* A mutex where children of other layouts stand, before it and behind; its peers' styles. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(mutex_layout, .init = live_init);

#define UUID "0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e"
#define HEX "5f0c54a1f7c44b5d8b6b0a3c52a0c9d1"
#define SESSION "72057594037927936"

static void uproot(struct live *t, char *path)
{
    REQUIRE(raw_delete(t->admin, path) == ZOK);
    g_free(path);
}

static zkl_mutex *mutex_with(struct live *t, zkl_peer peer)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    o.peer = peer;
    REQUIRE(zkl_mutex_new(&m, t->session, t->lock, &o) == 0);
    return m;
}

static const char *const incompatible[] = {
    "_c_" UUID "-__READ__",
    "_c_" UUID "-__WRIT__",
    HEX "__rlock__",
    "_c_" UUID "-latch-",
    "_c_" UUID "-lease-",
    "ex",
    "sh",
};

/* Apache's, which do not wait for kazoo's names. */
static const char *const apaches[] = {"x-" SESSION "-", "x--5-", "x-0100f6a2c3d4e5b7-"};

/* Whatever the time limit: refused, told which child it is, and no node left. */
static void check_refused(struct live *t, zkl_mutex *m, const char *child)
{
    static const int64_t timeouts[] = {0, 60000, ZKL_FOREVER};
    for (size_t i = 0; i < G_N_ELEMENTS(timeouts); i++) {
        CHECK_INT(zkl_mutex_lock(m, timeouts[i], NULL), ZKL_ELAYOUT);
        CHECK_ERROR(ZKL_ELAYOUT, strrchr(child, '/') + 1);
        CHECK_ERROR(ZKL_ELAYOUT, t->lock);
    }
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
}

static void check_refused_behind(struct live *t, zkl_peer peer, const char *name)
{
    zkl_mutex *m = mutex_with(t, peer);
    char *child = live_foreign_node(t, name, ZOO_SEQUENCE);

    check_refused(t, m, child);
    uproot(t, child);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
}

TEST_CASE(refused_behind)
{
    struct live *t = live_begin();
    live_make_directory(t);
    for (size_t i = 0; i < G_N_ELEMENTS(incompatible); i++)
        check_refused_behind(t, i % 2 ? ZKL_PEER_KAZOO : ZKL_PEER_CURATOR, incompatible[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(apaches); i++)
        check_refused_behind(t, ZKL_PEER_KAZOO, apaches[i]);
    live_end(t);
}

/* In front of them nothing changes, and a waiter of ours is not taken out of its turn. */
TEST_CASE(unmoved_before)
{
    struct live *t = live_begin();
    char *children[G_N_ELEMENTS(incompatible)];
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 2); /* the holder's node and its own */
    for (size_t i = 0; i < G_N_ELEMENTS(incompatible); i++)
        children[i] = live_foreign_node(t, incompatible[i], ZOO_SEQUENCE);
    session_settle(t, t->session);
    CHECK(!locker_done(l));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELAYOUT); /* now they are before it */
    for (size_t i = 0; i < G_N_ELEMENTS(incompatible); i++)
        uproot(t, children[i]);
    zkl_mutex_free(m);
    live_end(t);
}

/* By numbers alone, also where they are used up. */
TEST_CASE(numbers)
{
    static const char *const before[] = {"latch-0000000000", "__READ__-2147483648", "ex-000000001",
                                         "lease-2147483647"},
                             *const behind[] = {"latch-0000009999", "__WRIT__2147483646",
                                                "sh0000009998", "x-5-2147483645"};
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    for (size_t i = 0; i < G_N_ELEMENTS(before); i++) {
        char *child = live_foreign_node(t, before[i], 0);
        CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELAYOUT);
        uproot(t, child);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(behind); i++) {
        char *child = live_foreign_node(t, behind[i], 0);
        CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        uproot(t, child);
    }
    zkl_mutex_free(m);
    live_end(t);
}

/* Waited for by m, for as long as it stays there, though no session owns it. */
static void check_waits(struct live *t, zkl_mutex *m, const char *name)
{
    char *child = live_foreign_node(t, name, ZOO_SEQUENCE);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_lock(m, 20, NULL), ZKL_ETIMEDOUT);
    struct locker *l = locker_queue(t, m, t->lock, 1);
    LIVE_UNTIL(live_watches(t) == 2);
    session_settle(t, t->session);
    CHECK(!locker_done(l));
    uproot(t, child);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
}

TEST_CASE(peers_wait)
{
    static const char *const locks[] = {"_c_" UUID "-lock-", "_c_" HEX "-lock-", HEX "__lock__",
                                        HEX "-lock-"};
    struct live *t = live_begin();
    live_make_directory(t);
    for (zkl_peer peer = ZKL_PEER_CURATOR; peer <= ZKL_PEER_KAZOO; peer++) {
        zkl_mutex *m = mutex_with(t, peer);
        for (size_t i = 0; i < G_N_ELEMENTS(locks); i++)
            check_waits(t, m, locks[i]);
        zkl_mutex_free(m);
    }
    zkl_mutex *m = live_mutex(t->session, t->lock);
    for (size_t i = 0; i < G_N_ELEMENTS(apaches); i++)
        check_waits(t, m, apaches[i]);
    zkl_mutex_free(m);
    live_end(t);
}

/* Each in its turn between Apache's own, the nearest before it being waited for. */
TEST_CASE(an_apache_queue)
{
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    char *first = live_foreign_node(t, "x-" SESSION "-", ZOO_SEQUENCE);
    struct locker *l = locker_queue(t, m, t->lock, 1);
    char *second = live_foreign_node(t, "x-5-", ZOO_SEQUENCE);
    struct locker *later = locker_queue(t, n, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 3);
    uproot(t, first);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_regex_match_simple("/_c_[0-9a-f-]{36}-lock-[0-9]{10}$", l->node, 0, 0));
    CHECK_INT(locker_end(l), 0);
    session_settle(t, t->session);
    CHECK(!locker_done(later));
    uproot(t, second);
    CHECK_INT(locker_result(later), 0);
    CHECK_INT(locker_end(later), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* Named as kazoo would, in one queue with its locks; and with ours of the other styles. */
TEST_CASE(kazoos_style)
{
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = mutex_with(t, ZKL_PEER_KAZOO), *other = live_mutex(t->session, t->lock);
    char *kazoo = live_foreign_node(t, HEX "__lock__", ZOO_SEQUENCE);
    struct locker *l = locker_queue(t, m, t->lock, 1);
    struct locker *last = locker_queue(t, other, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 2);
    uproot(t, kazoo);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_regex_match_simple("/[0-9a-f]{12}8[0-9a-f]{19}__lock__[0-9]{10}$", l->node, 0, 0));
    session_settle(t, t->session);
    CHECK(!locker_done(last));
    CHECK_INT(zkl_mutex_lock(other, 0, NULL), ZKL_EBUSY);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(locker_result(last), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(locker_end(last), 0);
    zkl_mutex_free(other);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(no_contenders)
{
    static const char *const names[] = {"0", "junk", HEX, "lock-", "zz-0000009999", "n_0000000000"};
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        char *child = live_foreign_node(t, names[i], 0);
        CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        uproot(t, child);
    }
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(asynchronously_refused)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    char *child = live_foreign_node(t, "_c_" UUID "-latch-", ZOO_SEQUENCE);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_ELAYOUT);
    CHECK(strstr(c.error.text, strrchr(child, '/') + 1) != NULL);
    CHECK_STR(c.error.path, t->lock);
    uproot(t, child);
    zkl_mutex_free(m);
    live_end(t);
}
