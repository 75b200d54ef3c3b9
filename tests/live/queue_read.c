/* The snapshot of a queue, for people. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(queue_read, .init = live_init);

TEST_CASE(missing_and_empty)
{
    struct live *t = live_begin();
    zkl_queue *q = NULL;
    CHECK_INT(zkl_queue_read(&q, t->session, t->lock, NULL, ZKL_FOREVER), ZKL_ENOENT);
    CHECK_ERROR(ZKL_ENOENT, t->lock);
    CHECK(q == NULL);
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(zkl_queue_read(&q, t->session, t->path, NULL, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_queue_count(q), 0);
    CHECK(zkl_queue_get(q, 0) == NULL);
    zkl_queue_free(q);
    zkl_queue_free(NULL);
    CHECK_INT(zkl_queue_count(NULL), 0);
    live_end(t);
}

/* One line against what the server says of the node. */
static void check_contender(struct live *t, const zkl_contender *c, const char *path, int holds)
{
    struct Stat stat;
    char *number = g_strdup_printf("%010d", (int)c->number);
    CHECK_STR(c->node, strrchr(path, '/') + 1);
    CHECK_INT(raw_exists(t->admin, path, &stat), ZOK);
    CHECK_INT(c->token, stat.czxid);
    CHECK_INT(c->session_id, stat.ephemeralOwner);
    CHECK_INT(c->ctime_ms, stat.ctime);
    CHECK_INT(c->holds, holds);
    CHECK(g_str_has_suffix(c->node, number));
    g_free(number);
}

TEST_CASE(in_order)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m;
    zkl_queue *q;
    o.name = "the holder";
    REQUIRE(zkl_mutex_new(&m, t->session, t->lock, &o) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *l[3];
    for (int i = 0; i < 3; i++)
        l[i] = locker_apart(t, other, t->lock, i + 2);
    char **paths = live_queue(t, t->lock);
    REQUIRE(zkl_queue_read(&q, t->session, t->lock, NULL, 0) == 0);
    CHECK_INT(zkl_queue_count(q), 4);
    for (size_t i = 0; i < zkl_queue_count(q) && i < 4; i++)
        check_contender(t, zkl_queue_get(q, i), paths[i], i == 0);
    CHECK_STR(zkl_queue_get(q, 0)->owner, "the holder");
    CHECK(zkl_queue_get(q, 4) == NULL);
    zkl_queue_free(q);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(locker_end(l[i]), 0);
    g_strfreev(paths);
    zkl_mutex_free(m);
    live_end(t);
}

static void put_foreign_node(struct live *t, const char *name, const char *data, int length)
{
    char *path = g_strdup_printf("%s/%s", t->lock, name);
    REQUIRE(raw_create(t->admin, path, data, length, 0, NULL) == ZOK);
    g_free(path);
}

/* Other libraries' contenders are shown, other children are not, and no payload can harm. */
TEST_CASE(of_others)
{
    struct live *t = live_begin();
    zkl_queue *q;
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, 0, NULL) == ZOK);
    put_foreign_node(t, "x", NULL, -1);
    put_foreign_node(t, "lock-", NULL, -1);
    put_foreign_node(t, "_c_0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e-lock-0000000007",
                     "\x1b[2J\n\xff\x00z", 8);
    put_foreign_node(t, "5f0c54a1f7c44b5d8b6b0a3c52a0c9d1__lock__0000000003", NULL, -1);
    put_foreign_node(t, "lock--2147483648", "", 0);
    REQUIRE(zkl_queue_read(&q, t->session, t->lock, NULL, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_queue_count(q), 3);
    const int64_t numbers[] = {INT32_MIN, 3, 7};
    for (size_t i = 0; i < zkl_queue_count(q) && i < 3; i++) {
        const zkl_contender *c = zkl_queue_get(q, i);
        CHECK_INT(c->number, numbers[i]);
        CHECK_INT(c->session_id, 0);
        CHECK_INT(c->holds, i == 0);
        CHECK(g_utf8_validate(c->owner, -1, NULL));
        for (const char *at = c->owner; *at; at++)
            CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    CHECK_STR(zkl_queue_get(q, 1)->owner, "");
    zkl_queue_free(q);
    live_end(t);
}

/* Names are those of the session's own view. */
TEST_CASE(below_a_chroot)
{
    struct live *t = live_begin();
    char *connect = g_strconcat(t->connect, t->lock, NULL);
    zkl_session *s = live_open(t, connect, NULL);
    zkl_mutex *m = live_mutex(s, "/m");
    const zkl_grant *g;
    zkl_queue *q;
    CHECK_INT(zkl_queue_read(&q, s, "/m", NULL, ZKL_FOREVER), ZKL_ENOENT);
    CHECK_ERROR(ZKL_ENOENT, "/m");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_queue_read(&q, s, "/m", NULL, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_queue_count(q), 1);
    CHECK_STR(zkl_queue_get(q, 0)->node, strrchr(zkl_grant_node(g), '/') + 1);
    CHECK_INT(zkl_queue_get(q, 0)->token, zkl_grant_token(g));
    zkl_queue_free(q);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    g_free(connect);
    live_end(t);
}
