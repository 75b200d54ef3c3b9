/* Paths that cannot be: told at once, with their name. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(bad_path, .init = live_init);

static void check_refused(struct live *t, const char *path, const char *named)
{
    zkl_mutex *m = NULL;
    zkl_queue *q = NULL;
    CHECK_INT(zkl_mutex_new(&m, t->session, path, NULL), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, named);
    CHECK(m == NULL);
    CHECK_INT(zkl_queue_read(&q, t->session, path, NULL, 0), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, named);
    CHECK(q == NULL);
}

TEST_CASE(syntax)
{
    static const struct {
        const char *path, *named; /* what is not UTF-8 is not shown */
    } odd[] = {
        {"/a\x80", "/a?"}, {"/\xff/b", "/?/b"}, {"/a\xc3", "/a?"}, {"/\xed\xa0\x80", "/???"}};
    static const char *const paths[] = {
        "relative", "relative/more",  "/",      "//",  "//a",   "/a//b",   "/a/", "/a/b//",
        "/.",       "/a/.",           "/a/./b", "/..", "/a/..", "/a/../b", "./a", "/\xee\x80\x80",
        " /a",      "/a\xef\xbf\xbf",
    };
    struct live *t = live_begin();
    check_refused(t, NULL, "NULL");
    check_refused(t, "", "empty");
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        check_refused(t, paths[i], paths[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(odd); i++)
        check_refused(t, odd[i].path, odd[i].named);
    live_end(t);
}

/* They are named, but not printed as they are. */
TEST_CASE(control_characters)
{
    static const char *const paths[] = {"/a\n",   "/a\tb",   "/\x1b[2J",
                                        "/a\x7f", "/\x01/b", "/\xc2\x85"};
    struct live *t = live_begin();
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        zkl_error e;
        check_refused(t, paths[i], "/");
        zkl_last_error(&e);
        for (const char *at = e.text; *at; at++)
            CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
        for (const char *at = e.path; *at; at++)
            CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    }
    live_end(t);
}

/* What looks odd but is a path all the same. */
TEST_CASE(odd_but_good)
{
    static const char *const names[] = {
        "...", ".a", "a.", "a b", "\xc3\xa4\xe2\x82\xac", "%s%n", "lock-", "_c_x-lock-0000000000"};
    struct live *t = live_begin();
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        char *path = g_strdup_printf("%s/%s", t->path, names[i]);
        zkl_mutex *m = live_mutex(t->session, path);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(live_contenders(t, path), 1);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        zkl_mutex_free(m);
        g_free(path);
    }
    live_end(t);
}

static char *long_path(const char *parent, size_t length)
{
    char *path = g_malloc(length + 1);
    memset(path, 'x', length);
    path[length] = '\0';
    memcpy(path, parent, strlen(parent));
    path[strlen(parent)] = '/';
    return path;
}

/* The limit of 8192 bytes is said, and nothing below it fails. */
TEST_CASE(lengths)
{
    struct live *t = live_begin();
    char *mib = long_path(t->path, 1 << 20), *over = long_path(t->path, 8193);
    char *most = long_path(t->path, 8192);
    zkl_error e;
    check_refused(t, mib, "8192");
    zkl_last_error(&e);
    CHECK(g_str_has_prefix(e.path, t->path) && g_str_has_suffix(e.path, "..."));
    check_refused(t, over, "8192");
    zkl_mutex *m = live_mutex(t->session, most);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    struct locker *l = locker_apart(t, t->session, most, 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    zkl_mutex_free(m);
    g_free(mib);
    g_free(over);
    g_free(most);
    live_end(t);
}

static void check_unlockable(zkl_session *s, const char *path, const char *named)
{
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(s, path);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EPATH);
    CHECK_ERROR(ZKL_EPATH, named);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EPATH);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EPATH);
    CHECK(strstr(c.error.text, named) || strstr(c.error.path, named));
    zkl_mutex_free(m);
}

/* The node itself, and one and two levels down. */
TEST_CASE(below_ephemeral)
{
    struct live *t = live_begin();
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, ZOO_EPHEMERAL, NULL) == ZOK);
    char *one = g_strdup_printf("%s/a", t->lock), *two = g_strdup_printf("%s/a/b", t->lock);
    check_unlockable(t->session, t->lock, t->lock);
    check_unlockable(t->session, one, one);
    check_unlockable(t->session, two, one);
    REQUIRE(raw_delete(t->admin, t->lock) == ZOK);
    g_free(one);
    g_free(two);
    live_end(t);
}

/* What cannot be made lies in the chroot: it is named by its full path. */
TEST_CASE(chroot_below_ephemeral)
{
    struct live *t = live_begin();
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, ZOO_EPHEMERAL, NULL) == ZOK);
    char *first = g_strdup_printf("%s/first", t->lock);
    char *connect = g_strdup_printf("%s%s/a-second-one/a-third-one", t->connect, first);
    zkl_session *s = live_open(t, connect, NULL);
    check_unlockable(s, "/m", first);
    REQUIRE(raw_delete(t->admin, t->lock) == ZOK);
    g_free(first);
    g_free(connect);
    live_end(t);
}
