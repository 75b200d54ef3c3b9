/* What administrators and the server itself do: refusals, reaped containers, exhausted numbers, the
 * configuration. */
#include "conform.h"

#include <string.h>

TEST_SUITE(admin, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

static struct client *c;

/* dir, with x in it, where nobody is allowed that. */
static void begin_refused(enum store_kind kind)
{
    c = client_new();
    does(c, "create dir, create dir/x");
    REQUIRE(bench->refuse(kind, at("dir")));
}

CASE(create_refused)
{
    begin_refused(STORE_CREATE);
    does(c, "create dir/p: no permission, create dir/x: no permission, "
            "enter dir/n-: no permission, read dir, set dir, delete dir/x");
    CHECK_INT(g_strv_length(ask(c, req(STORE_LIST, at("dir")))->names), 0);
    does(c, "create p");
}

CASE(delete_refused)
{
    begin_refused(STORE_DELETE);
    does(c, "delete dir/x: no permission, delete dir/no: no permission, read dir/x, set dir/x, "
            "create dir/y");
}

/* Nobody has to allow that a session's nodes go with it. */
CASE(delete_refused_and_closed)
{
    begin_refused(STORE_DELETE);
    struct client *owner = client_new();
    const struct answer *a = ask(owner, req_create(at("dir/n-"), NUMBERED));
    RC(owner, req(STORE_DELETE, a->path), STORE_NOAUTH);
    RC(c, req_watch(a->path), STORE_OK);
    client_close(owner);
    UNTIL(heard_gone(c, a->path) == 1);
}

/* Whatever version it asks for. */
CASE(set_refused)
{
    begin_refused(STORE_SET);
    does(c, "set dir: no permission, set dir wrongly: no permission");
    CHECK_INT(ask(c, req(STORE_GET, at("dir")))->version, 0);
    does(c, "enter dir/n-");
}

CASE(get_refused)
{
    begin_refused(STORE_GET);
    does(c, "read dir: no permission, watch dir: no permission");
    CHECK_INT(bench->watchers(at("dir")), 0);
    does(c, "set dir");
    CHECK_INT(heard(c, at("dir")), 0);
    const struct store_change check[] = {{.kind = STORE_GET, .path = at("dir"), .version = -1}};
    RC(c, req_multi(check, 1), STORE_NOAUTH);
    does(c, "enter dir/n-");
}

CASE(list_refused)
{
    begin_refused(STORE_LIST);
    RC(c, req(STORE_LIST, at("dir")), STORE_NOAUTH);
    does(c, "enter dir/n-");
    RC(c, req(STORE_LIST, at("")), STORE_OK);
}

CASE(multi_refused)
{
    begin_refused(STORE_SET);
    const struct store_change changes[] = {
        {.kind = STORE_CREATE, .path = at("p"), .version = -1},
        {.kind = STORE_SET, .path = at("dir"), .version = -1},
    };
    const struct answer *a = ask(c, req_multi(changes, 2));
    CHECK_INT(a->rc, STORE_NOAUTH);
    CHECK_INT(a->failed, 1);
    does(c, "read p: no node");
}

/* ---- containers ---- */

static void leave_empty(const char *path)
{
    char *child = g_strconcat(path, "/x", NULL);

    RC(c, req_create(path, STORE_CONTAINER), STORE_OK);
    RC(c, req_create(child, STORE_PERSISTENT), STORE_OK);
    RC(c, req_watch(path), STORE_OK);
    RC(c, req(STORE_DELETE, child), STORE_OK);
    g_free(child);
}

CASE(reaped_when_empty)
{
    c = client_new();
    leave_empty(at("dir"));
    UNTIL(heard_gone(c, at("dir")) == 1);
    does(c, "read dir: no node, contain dir");
}

/* Nor one that is not empty, nor what is no container: others of the kind go meanwhile. */
CASE(not_reaped_before_it_had_any)
{
    c = client_new();
    does(c, "contain new, contain full, enter full/n-, create plain, create plain/x, "
            "delete plain/x");
    for (unsigned i = 0; i < 3; i++) {
        leave_empty(at("dir"));
        UNTIL(heard_gone(c, at("dir")) == i + 1);
    }
    does(c, "read new, read full, read plain");
}

/* ---- numbers ---- */

static void check_next(const char *prefix, const char *digits)
{
    const struct answer *a = ask(c, req_create(at(prefix), NUMBERED));
    char *expected = g_strconcat(at(prefix), digits, NULL);

    CHECK_INT(a->rc, STORE_OK);
    CHECK_STR(a->path, expected);
    g_free(expected);
}

/* Nothing comes behind 2147483647 but itself, as long as it is asked for by one at a time. */
CASE(exhausted)
{
    c = client_new();
    does(c, "create dir");
    client_close(c);
    REQUIRE(bench->count_from(at("dir"), 2147483646));
    c = client_new();
    check_next("dir/n-", "2147483646");
    check_next("dir/n-", "2147483647");
    does(c, "enter dir/n-: exists");
    check_next("dir/other-", "2147483647");
    does(c, "delete dir/n-2147483647");
    check_next("dir/n-", "2147483647");
    check_next("n-", "0000000001");
}

CASE(numbers_go_on)
{
    c = client_new();
    does(c, "create dir");
    client_close(c);
    REQUIRE(bench->count_from(at("dir"), 41));
    c = client_new();
    check_next("dir/n-", "0000000041");
    check_next("dir/n-", "0000000042");
}

/* ---- configuration ---- */

/* How a server tells that it stands alone. */
CASE(config_alone)
{
    c = client_new();
    const struct answer *a = ask(c, req(STORE_GET, "/zookeeper/config"));
    CHECK_INT(a->rc, STORE_OK);
    CHECK_INT(a->length, 0);
}
