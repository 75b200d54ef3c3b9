/* Scope guards, by each way out of a scope; and what those of locks and grants end. For each handle
 * see every_call. */
#include "by_hand.h"
#include "lib/contender/contender.h"
#include "runner.h"

#include <string.h>
#include <zkl-glib.h>

TEST_SUITE(cleanup);

/* A type like the library's. */
typedef struct counted counted;
static int ended, places;
static char order[16];

static void counted_end(counted *p)
{
    if (!p)
        return;
    ended++;
    order[places++] = (char)(uintptr_t)p;
    order[places] = '\0';
}

static void counted_cleanup(counted **p)
{
    counted_end(*p);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(counted, counted_end)

static counted *make(char name)
{
    return (counted *)(uintptr_t)name;
}

static void begin(void)
{
    ended = places = 0;
    order[0] = '\0';
}

static int by_return(int when)
{
    ZKL_AUTO(counted) a = make('a');
    g_autoptr(counted) b = make('b');

    if (when == 0)
        return ended;
    ZKL_AUTO(counted) none = NULL;
    (void)none, (void)a, (void)b;
    return ended + 10;
}

TEST_CASE(ways_out)
{
    for (int when = 0; when < 2; when++) {
        begin();
        CHECK_INT(by_return(when), when * 10);
        CHECK_STR(order, "ba");
    }
    begin();
    for (int i = 0; i < 4; i++) {
        ZKL_AUTO(counted) a = make((char)('0' + i));
        (void)a;
        if (i == 1)
            continue;
        if (i == 2)
            break;
        CHECK_INT(ended, i);
    }
    CHECK_STR(order, "012");
    begin();
    {
        ZKL_AUTO(counted) a = make('a');
        (void)a;
        goto out;
    }
out:
    CHECK_STR(order, "a");
    begin();
    {
        ZKL_AUTO(counted) kept = make('k');
        kept = NULL;
        (void)kept;
    }
    CHECK_INT(ended, 0);
}

/* ---- the library's ---- */

static zkl_session *s;
static zkl_grant *granted;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)error;
    (void)data;
    granted = grant;
}

static int lock_in_a_scope(zkl_mutex *m, bool by_glib, bool early)
{
    g_autoptr(zkl_mutex_locker) first = by_glib ? zkl_mutex_locker_new(m, ZKL_FOREVER, NULL) : NULL;
    ZKL_AUTO(zkl_mutex_locker)
    second = by_glib ? NULL : zkl_mutex_locker_new(m, ZKL_FOREVER, NULL);

    if (!first && !second)
        return -1;
    CHECK(s->owned_bytes > 0);
    if (early)
        return zkl_mutex_depth(m);
    ZKL_AUTO(zkl_mutex_locker) deeper = zkl_mutex_locker_new(m, 0, NULL);
    (void)deeper;
    return zkl_mutex_depth(m);
}

TEST_CASE(locks)
{
    ZKL_AUTO(zkl_mutex) m = NULL;

    s = fake_session();
    fake_answer_at_once(fake_alone);
    REQUIRE(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(lock_in_a_scope(m, i & 1, i & 2), i & 2 ? 1 : 2);
        CHECK_INT(zkl_mutex_depth(m), 0);
        CHECK_INT(contenders_of(s)->drivers.list.length, 0);
        CHECK_INT(s->owned_bytes, 0); /* although the handle stays */
    }
    fake_answer_at_once(NULL);
    zkl_session_close(s);
    CHECK_INT(lock_in_a_scope(m, true, true), -1); /* nothing to unlock */
    CHECK_INT(zkl_last_error(NULL), ZKL_ECLOSED);
}

/* A reader within a writer: what goes out of scope first goes first. */
static int levels_in_a_scope(zkl_rwlock *l, bool by_glib)
{
    if (by_glib) {
        g_autoptr(zkl_rwlock_writer) writer = zkl_rwlock_writer_new(l, ZKL_FOREVER, NULL);
        g_autoptr(zkl_rwlock_reader) reader = zkl_rwlock_reader_new(l, 0, NULL);
        CHECK(writer && reader);
        return zkl_rwlock_depth(l);
    }
    ZKL_AUTO(zkl_rwlock_writer) writer = zkl_rwlock_writer_new(l, ZKL_FOREVER, NULL);
    ZKL_AUTO(zkl_rwlock_reader) reader = zkl_rwlock_reader_new(l, 0, NULL);
    CHECK(writer && reader);
    return zkl_rwlock_depth(l);
}

TEST_CASE(rwlocks)
{
    g_autoptr(zkl_rwlock) first = NULL;
    ZKL_AUTO(zkl_rwlock) l = NULL;

    s = fake_session();
    fake_answer_at_once(fake_alone);
    REQUIRE(zkl_rwlock_new(&first, s, "/l", NULL) == 0);
    REQUIRE(zkl_rwlock_new(&l, s, "/l", NULL) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(levels_in_a_scope(l, i), 2);
        CHECK_INT(zkl_rwlock_depth(l), 0);
        CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    }
    CHECK_INT(zkl_rwlock_depth(NULL), ZKL_EINVAL);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

static void acquire(zkl_mutex *m, zkl_op **ret)
{
    granted = NULL;
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, NULL, ret) == 0);
    zkl_session_dispatch(s);
    REQUIRE(granted != NULL);
}

TEST_CASE(grants)
{
    ZKL_AUTO(zkl_mutex) m = NULL;

    s = hand_session();
    fake_answer_at_once(fake_alone);
    REQUIRE(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    {
        ZKL_AUTO(zkl_op) op = NULL;
        acquire(m, &op);
        ZKL_AUTO(zkl_grant) grant = granted;
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    }
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    {
        g_autoptr(zkl_op) op = NULL;
        acquire(m, &op);
        g_autoptr(zkl_grant) grant = granted;
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    }
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    fake_answer_at_once(NULL);
    hand_close(s);
}
