#include "fixture.h"
#include "raw.h"
#include "selftest.h"
#include "server.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static struct zk_server *server;
static struct raw *raw;

static int start_server(void)
{
    if (!server_or_skip())
        return 0;
    server = zk_server_start(NULL);
    raw = server ? raw_open(zk_server_connect(server)) : NULL;
    return raw ? 0 : 1;
}

static int stop_server(void)
{
    raw_close(raw);
    zk_server_stop(server);
    raw = NULL;
    server = NULL;
    return 0;
}

TEST_SUITE(raw, .init = start_server, .done = stop_server);

static void check_list(char **list, const char *expected)
{
    char *text = list ? g_strjoinv(" ", list) : NULL;
    CHECK_STR(text, expected);
    g_free(text);
    g_strfreev(list);
}

TEST_CASE(tree)
{
    struct Stat stat;
    char name[RAW_PATH_SIZE];
    CHECK_INT(raw_create(raw, "/t", "text", 4, 0, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/t/b", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/t/a", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/t/a/x", NULL, -1, ZOO_EPHEMERAL, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/t/b/s-", NULL, -1, ZOO_SEQUENCE, name), ZOK);
    CHECK_STR(name, "/t/b/s-0000000000");
    check_list(raw_children(raw, "/t"), "a b");
    check_list(raw_tree_dump(raw, "/t"), "/t/a /t/a/x /t/b /t/b/s-0000000000");
    check_list(raw_tree_dump(raw, "/"), "/t /t/a /t/a/x /t/b /t/b/s-0000000000");
    CHECK(raw_children(raw, "/missing") == NULL);
    CHECK_INT(raw_exists(raw, "/t/a/x", &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, raw_session_id(raw));
    CHECK_INT(raw_sync(raw, "/t"), ZOK);
    char *text = raw_get(raw, "/t", &stat);
    CHECK_STR(text, "text");
    free(text);
    CHECK_INT(raw_delete(raw, "/t"), ZNOTEMPTY);
    CHECK_INT(raw_delete_tree(raw, "/t"), ZOK);
    CHECK_INT(raw_exists(raw, "/t", NULL), ZNONODE);
}

TEST_CASE(acl)
{
    CHECK_INT(raw_create_acl(raw, "/closed", &ZOO_READ_ACL_UNSAFE), ZOK);
    CHECK_INT(raw_create(raw, "/closed/x", NULL, -1, 0, NULL), ZNOAUTH);
    CHECK_INT(raw_create(raw, "/shut", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_set_acl(raw, "/shut", &ZOO_READ_ACL_UNSAFE), ZOK);
    CHECK_INT(raw_set(raw, "/shut", "x", 1), ZNOAUTH);
}

TEST_CASE(close_session)
{
    struct raw *victim = raw_open(zk_server_connect(server));
    REQUIRE(victim != NULL);
    clientid_t id = *zoo_client_id(raw_handle(victim));
    CHECK_INT(raw_create(victim, "/mortal", NULL, -1, ZOO_EPHEMERAL, NULL), ZOK);
    CHECK(raw_close_session(zk_server_port(server, 0), id.client_id, id.passwd));
    CHECK_INT(raw_sync(raw, "/"), ZOK);
    CHECK_INT(raw_exists(raw, "/mortal", NULL), ZNONODE);
    CHECK(raw_wait_expired(victim));
    raw_close(victim);
}

static void check_next(const char *parent, int rc, const char *suffix)
{
    char *prefix = g_strdup_printf("%s/n-", parent), name[RAW_PATH_SIZE] = "";
    CHECK_INT(raw_create(raw, prefix, NULL, -1, ZOO_SEQUENCE, name), rc);
    if (rc == ZOK)
        CHECK_STR(name + MIN(strlen(name), strlen(prefix)), suffix);
    g_free(prefix);
}

/* The client's session is in the snapshot too, and comes back after each restart. */
static bool set_and_read(const char *path, int32_t cversion)
{
    bool ok = zk_server_set_cversion(server, path, cversion);
    for (int left = 100; left > 0 && raw_exists(raw, "/", NULL) != ZOK; left--)
        ;
    return ok;
}

TEST_CASE(set_cversion)
{
    CHECK_INT(raw_create(raw, "/p", "text", 4, 0, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/p/q", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_create(raw, "/p/r", NULL, -1, 0, NULL), ZOK);
    check_next("/p/q", ZOK, "0000000000");
    REQUIRE(set_and_read("/p/q", 2147483645));
    check_next("/p/q", ZOK, "2147483645");
    check_next("/p/q", ZOK, "2147483646");
    check_next("/p/q", ZOK, "2147483647");
    check_next("/p/q", ZNODEEXISTS, NULL);
    check_next("/p/r", ZOK, "0000000000");
    REQUIRE(set_and_read("/p/r", 41));
    check_next("/p/r", ZOK, "0000000041");
    CHECK(!set_and_read("/no/such", 1));
    char *text = raw_get(raw, "/p", NULL);
    CHECK_STR(text, "text");
    free(text);
}
