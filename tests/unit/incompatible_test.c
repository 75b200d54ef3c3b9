/* What the driver does about children of other layouts, and in the styles of its peers. */
#include "lib/base/layout.h"
#include "lib/contender/contender.h"

#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(incompatible);

#define UUID "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
#define OUR_UUID "1b4e28ba-2fa1-81d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa141d2883f0016d3cca427"

static zkl_session *s;
static struct acquisition a;
static char lines[1024];

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    if (record->level == ZKL_LOG_WARN)
        g_strlcat(lines, record->text, sizeof lines);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    a.calls++;
    a.grant = grant;
    if (error)
        a.error = *error;
}

/* Enters at that path below the chroot, and is answered number 7. */
static void enter(const char *path, zkl_peer peer)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    lines[0] = '\0';
    so.log = on_log;
    so.log_level = ZKL_LOG_INFO;
    s = hand_session_with(&so);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    a = (struct acquisition){.calls = 0};
    o.peer = peer;
    REQUIRE(zkl_mutex_new(&a.mutex, s, path, &o) == 0);
    REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, on_acquired, NULL, &a.op) == 0);
    a.node = fake_created_name("/root/", 7);
    REQUIRE(a.node != NULL);
    ANSWER(STORE_CREATE, "/root/", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
}

static void list(const char *other)
{
    char *copy = g_strdup(other);
    char *both[] = {strrchr(a.node, '/') + 1, copy};

    ANSWER(STORE_LIST, "/root/", .rc = STORE_OK, .names = both, .count = 2);
    zkl_session_dispatch(s);
    g_free(copy);
}

static void leave(void)
{
    hand_leave(&a);
    hand_close(s);
}

/* The caller hears which child it is, and where, by its own name for the path. */
TEST_CASE(refused)
{
    static const char node[] = "_c_" UUID "-__WRIT__0000000003";

    enter("/l", ZKL_PEER_CURATOR);
    list(node);
    CHECK_INT(a.calls, 1);
    CHECK(a.grant == NULL);
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK_STR(a.error.path, "/l");
    CHECK_STR(a.error.text, "/l: \"_c_" UUID "-__WRIT__0000000003\" is of a read-write lock");
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    CHECK_INT(contenders_of(s)->list.length, 0);
    CHECK(g_str_has_suffix(lines, "its recipe does not wait for the contenders here"));
    leave();
}

/* A long path is cut, not the child. */
TEST_CASE(refused_at_a_long_path)
{
    char path[301];

    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    enter(path, ZKL_PEER_CURATOR);
    list("_c_" UUID "-latch-0000000003");
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK(g_str_has_prefix(a.error.text, "/pppp"));
    CHECK(g_str_has_suffix(a.error.text, "ppp: \"_c_" UUID "-latch-0000000003\" is of a latch's "
                                         "election"));
    leave();
}

/* The longest name there may be, with what a terminal would obey. */
TEST_CASE(refused_for_a_strange_name)
{
    char name[600];

    memset(name, '\x1b', sizeof name - 1);
    g_strlcpy(name + 400, "latch-0000000003", sizeof name - 400);
    enter("/l", ZKL_PEER_CURATOR);
    list(name);
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK(strchr(a.error.text, '\x1b') == NULL);
    CHECK(strstr(a.error.text, "is of a latch's election") != NULL);
    leave();
}

/* A contender that comes behind, and would not wait, is worth a warning; one that waits is not. */
TEST_CASE(warned)
{
    static const struct {
        const char *name;
        zkl_peer peer;
        bool warned;
    } rows[] = {
        {"latch-0000000009", ZKL_PEER_CURATOR, true},
        {"__READ__0000000009", ZKL_PEER_CURATOR, true},
        {"__WRIT__0000000009", ZKL_PEER_CURATOR, true},
        {"_c_" OUR_UUID "-__WRIT__0000000009", ZKL_PEER_CURATOR, false},
        {"_c_" UUID "-lock-0000000009", ZKL_PEER_KAZOO, false},
        {"lease-0000000009", ZKL_PEER_KAZOO, true},
        {"sh0000000009", ZKL_PEER_CURATOR, true},
        {"ex0000000009", ZKL_PEER_CURATOR, false},
        {"x-5-0000000009", ZKL_PEER_CURATOR, false},
        {"x-5-0000000009", ZKL_PEER_KAZOO, true},
        {"x-0123456789abcdef-0000000009", ZKL_PEER_CURATOR, false},
        {"lock-0000000009", ZKL_PEER_CURATOR, false},
        {"lock-0000000009", ZKL_PEER_KAZOO, false},
        {"junk", ZKL_PEER_CURATOR, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        enter("/l", rows[i].peer);
        list(rows[i].name);
        CHECK(a.grant != NULL);
        char *due = layout_incompatible(rows[i].name);
        if (!CHECK_INT(strstr(lines, due) != NULL, rows[i].warned) ||
            !CHECK_INT(lines[0] != '\0', rows[i].warned))
            runner_fail(__FILE__, __LINE__, "\"%s\", %d: %s", rows[i].name, rows[i].peer, lines);
        g_free(due);
        leave();
    }
}

/* Apache's, which do not wait for kazoo's names, are waited for by those that they wait for. */
TEST_CASE(apaches)
{
    static const char *const nodes[] = {"x-72057594037927936-0000000003",
                                        "x--72057594037927936-0000000003",
                                        "x-0100f6a2c3d4e5b7-0000000003"};

    for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
        char *path = g_strconcat("/root/l/", nodes[i], NULL);
        enter("/l", ZKL_PEER_KAZOO);
        list(nodes[i]);
        CHECK_INT(a.error.code, ZKL_ELAYOUT);
        leave();
        enter("/l", ZKL_PEER_CURATOR);
        list(nodes[i]);
        CHECK_INT(a.calls, 0);
        CHECK(fake_request(STORE_GET, path).watch);
        leave();
        g_free(path);
    }
}

/* The same of a lock at several paths. */
TEST_CASE(apaches_at_several_paths)
{
    static const char *const paths[] = {"/l"};
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    for (o.peer = ZKL_PEER_CURATOR; o.peer <= ZKL_PEER_KAZOO; o.peer++) {
        zkl_multilock *l;
        s = hand_session_with(NULL);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
        a = (struct acquisition){.calls = 0};
        REQUIRE(zkl_multilock_new(&l, s, paths, 1, &o) == 0);
        REQUIRE(zkl_multilock_lock_async(l, ZKL_FOREVER, on_acquired, NULL, &a.op) == 0);
        a.node = fake_created_name("/root/", 7);
        REQUIRE(a.node != NULL);
        ANSWER(STORE_CREATE, "/root/", .rc = STORE_OK, .path = a.node, .czxid = 5,
               .ephemeral_owner = FAKE_SESSION_ID);
        list("x-5-0000000003");
        CHECK_INT(a.error.code, o.peer == ZKL_PEER_KAZOO ? ZKL_ELAYOUT : 0);
        CHECK_INT(fake_is_asked(STORE_GET, "/root/l/x-5-0000000003"), o.peer == ZKL_PEER_CURATOR);
        zkl_multilock_free(l);
        leave();
    }
}

/* The answer to the create is lost. The contender finds its node of kazoo's style by the id, and
 * takes no node of kazoo's own for it. */
TEST_CASE(adopts_in_kazoos_style)
{
    static char theirs[] = HEX "__lock__0000000003", *names[2] = {theirs, NULL};

    enter("/l", ZKL_PEER_KAZOO);
    list("junk");
    CHECK(g_regex_match_simple("^/root/l/[0-9a-f]{32}__lock__0000000007$", a.node, 0, 0));
    zkl_grant_release(a.grant);
    a.grant = NULL;
    REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, on_acquired, NULL, NULL) == 0);
    g_free(a.node);
    a.node = fake_created_name("/root/l", 9);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    names[1] = strrchr(a.node, '/') + 1;
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    CHECK_INT(fake_count(STORE_CREATE, "/root/l"), 0);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 77);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    CHECK(fake_request(STORE_GET, "/root/l/" HEX "__lock__0000000003").watch);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/l/" HEX));
    leave();
}
