/* A lock's directory that others use too. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(bad_children, .init = live_init);

#define UUID "0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e"
#define HEX "5f0c54a1f7c44b5d8b6b0a3c52a0c9d1"

/* Names that are no contender's are in nobody's way. */
TEST_CASE(foreign)
{
    static const char *const names[] = {
        "x",
        "0",
        "-",
        "lock-",
        "lock-abc",
        "lock-12345",
        "lock-000000000a",
        "lock-0000000000x",
        "lock-99999999999",
        "0000000000",
        "_c_" UUID "-lock-",
        HEX "__lock__",
        HEX,
        "_c_",
        "locks",
        "leases",
        "\xc3\xa4-0000000000",
    };
    struct live *t = live_begin();
    live_make_directory(t);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_free(live_foreign_node(t, names[i], 0));
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(live_logged(t, "not a contender"), 1); /* once for the directory, not for each */
    zkl_mutex_free(m);
    live_end(t);
}

/* We wait for a node that stands before us by number, whichever library made it, and however long
 * it stands. */
static void check_waits_for(struct live *t, const char *name)
{
    zkl_mutex *m = live_mutex(t->session, t->lock);
    char *path = live_foreign_node(t, name, 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_lock(m, 20, NULL), ZKL_ETIMEDOUT);
    struct locker *l = locker_queue(t, m, t->lock, 1);
    LIVE_UNTIL(live_watches(t) == 2);
    session_settle(t, t->session);
    CHECK(!locker_done(l));
    REQUIRE(raw_delete(t->admin, path) == ZOK);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    zkl_mutex_free(m);
    g_free(path);
}

TEST_CASE(lower)
{
    static const char *const names[] = {
        "_c_" UUID "-lock-0000000000",
        HEX "__lock__0000000000",
        "x-lock-0000000000",
        "lock-0000000000",
        HEX "-lock-0000000000",
        "_c_" UUID "-lock--2147483648",
        "lock--000000001",
        "lock-2147483647", /* before those of ours */
    };
    struct live *t = live_begin();
    live_make_directory(t);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        check_waits_for(t, names[i]);
    live_end(t);
}

TEST_CASE(higher)
{
    static const char *const names[] = {"_c_" UUID "-lock-0000009999", HEX "__lock__0000009998",
                                        "lock-2147483646"};
    struct live *t = live_begin();
    live_make_directory(t);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_free(live_foreign_node(t, names[i], 0));
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* Other libraries' clients and ours in one queue, each in its turn. */
TEST_CASE(mixed)
{
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    char *curator = live_foreign_node(t, "_c_" UUID "-lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    struct locker *first = locker_queue(t, m, t->lock, 2);
    char *kazoo = live_foreign_node(t, HEX "__lock__", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    struct locker *second = locker_apart(t, t->session, t->lock, 4);
    LIVE_UNTIL(live_watches(t) == 3);
    CHECK(!locker_done(first) && !locker_done(second));
    REQUIRE(raw_delete(t->admin, curator) == ZOK);
    CHECK_INT(locker_result(first), 0);
    CHECK_INT(locker_end(first), 0);
    session_settle(t, t->session);
    CHECK(!locker_done(second));
    REQUIRE(raw_delete(t->admin, kazoo) == ZOK);
    CHECK_INT(locker_result(second), 0);
    CHECK_INT(locker_end(second), 0);
    zkl_mutex_free(m);
    g_free(curator);
    g_free(kazoo);
    live_end(t);
}

/* Another's node of the same number can only be forged: it is waited for, for safety. */
TEST_CASE(same_number)
{
    struct live *t = live_begin();
    live_make_directory(t);
    char *forged = live_foreign_node(t, "_c_" UUID "-lock-0000000001", 0);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    g_free(forged);
    zkl_mutex_free(m);
    live_end(t);
}

/* More names than one packet of requests could carry: 1 MiB of them in one list. */
TEST_CASE(a_long_list)
{
    enum { LENGTH = 4000, COUNT = 270 };
    struct live *t = live_begin();
    char name[LENGTH + 1];
    live_make_directory(t);
    memset(name, 'n', LENGTH);
    name[LENGTH] = '\0';
    for (int i = 0; i < COUNT; i++) {
        name[0] = (char)('A' + i % 26), name[1] = (char)('A' + i / 26);
        g_free(live_foreign_node(t, name, 0));
    }
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}
