/* Reading, changing, listing and deleting single nodes. */
#include "conform.h"

#include <string.h>

TEST_SUITE(node, .init = conform_init);

CASE(delete_absent)
{
    does(client_new(), "delete p: no node, delete no/p: no node");
}

CASE(delete_parent)
{
    does(client_new(), "create dir, create dir/p, delete dir: not empty, read dir/p, delete dir/p, "
                       "delete dir, delete dir: no node");
}

/* Anybody may, and whatever its version. */
CASE(delete_of_others)
{
    struct client *owner = client_new(), *other = client_new();
    const struct answer *a = ask(owner, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL));

    RC(owner, req_set(a->path, "new", -1), STORE_OK);
    RC(other, req(STORE_DELETE, a->path), STORE_OK);
    RC(owner, req(STORE_GET, a->path), STORE_NONODE);
}

CASE(get_absent)
{
    does(client_new(), "read p: no node");
}

CASE(get_fields)
{
    struct client *owner = client_new(), *other = client_new();
    const struct answer *made = ask(owner, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL));

    RC(owner, req_set(made->path, "one", -1), STORE_OK);
    RC(owner, req_set(made->path, "three", 1), STORE_OK);
    const struct answer *a = ask(other, req(STORE_GET, made->path));
    CHECK_INT(a->version, 2);
    CHECK_INT(a->ephemeral_owner, client_session(owner));
    CHECK_INT(a->czxid, made->czxid);
    CHECK_INT(a->children, 0);
    CHECK_INT(a->length, 5);
    CHECK_STR(a->data, "three");
}

CASE(get_counts_children)
{
    struct client *c = client_new();

    does(c, "create p, create q, create q/below");
    const struct answer *a = ask(c, req(STORE_GET, at("")));
    CHECK_INT(a->children, 2);
    CHECK_INT(a->ephemeral_owner, 0);
    CHECK_INT(a->version, 0); /* children do not change it */
    does(c, "delete p");
    CHECK_INT(ask(c, req(STORE_GET, at("")))->children, 1);
}

CASE(made_anew)
{
    struct client *c = client_new();
    uint64_t first = ask(c, req_create(at("p"), STORE_PERSISTENT))->czxid;

    does(c, "set p, delete p");
    uint64_t second = ask(c, req_create(at("p"), STORE_PERSISTENT))->czxid;
    const struct answer *a = ask(c, req(STORE_GET, at("p")));
    CHECK(second > first);
    CHECK_INT(a->czxid, second);
    CHECK_INT(a->version, 0);
    CHECK_INT(a->length, 0);
    a = ask(c, req_set(at("p"), "newer", 0)); /* whose version was 0 before, too */
    CHECK_INT(a->czxid, second);
    CHECK_INT(a->version, 1);
}

CASE(set_version)
{
    struct client *c = client_new();

    does(c, "create p");
    RC(c, req_set(at("p"), "a", 0), STORE_OK);
    RC(c, req_set(at("p"), "b", 0), STORE_BADVERSION);
    RC(c, req_set(at("p"), "b", 2), STORE_BADVERSION);
    RC(c, req_set(at("p"), "b", INT32_MAX), STORE_BADVERSION);
    const struct answer *a = ask(c, req(STORE_GET, at("p")));
    CHECK_STR(a->data, "a");
    CHECK_INT(a->version, 1);
    RC(c, req_set(at("p"), "c", -1), STORE_OK);
    CHECK_INT(ask(c, req(STORE_GET, at("p")))->version, 2);
}

/* Sets the node until that is seen to be later than before. */
static int64_t set_later(struct client *c, const char *path, int64_t before)
{
    int64_t at_ms = before;

    while (at_ms <= before)
        at_ms = ask(c, req_set(path, "later", -1))->mtime_ms;
    return at_ms;
}

/* When its data were set, by the leader's clock: a child changes nothing. */
CASE(set_time)
{
    struct client *c = client_new();

    RC(c, req_create(at("dir"), STORE_PERSISTENT), STORE_OK);
    const int64_t set = set_later(c, at("dir"), ask(c, req(STORE_GET, at("dir")))->mtime_ms);
    RC(c, req_create(at("dir/p"), STORE_PERSISTENT), STORE_OK);
    CHECK(set_later(c, at("dir/p"), set) > set);
    CHECK_INT(ask(c, req(STORE_GET, at("dir")))->mtime_ms, set);
}

CASE(set_absent)
{
    does(client_new(), "set p: no node, set p wrongly: no node, read p: no node");
}

CASE(list_absent)
{
    RC(client_new(), req(STORE_LIST, at("p")), STORE_NONODE);
}

static void check_names(struct client *c, const char *path, const char *expected)
{
    const struct answer *a = ask(c, req(STORE_LIST, path));

    REQUIRE(a->rc == STORE_OK);
    char *names = g_strjoinv(" ", a->names);
    CHECK_STR(names, expected);
    g_free(names);
}

/* Names without their path, in no order that counts; not what is below them. */
CASE(list_complete)
{
    struct client *c = client_new();

    check_names(c, at(""), "");
    does(c, "contain q, create q/below, create p, enter n-");
    check_names(c, at(""), "n-0000000002 p q");
    check_names(c, at("q"), "below");
    check_names(c, at("p"), "");
    does(c, "delete p");
    check_names(client_new(), at(""), "n-0000000002 q");
}

/* What a list tells of the node itself. */
CASE(list_fields)
{
    struct client *c = client_new();

    does(c, "create p, create p/below");
    CHECK_INT(ask(c, req(STORE_LIST, at("p")))->data_length, 0);
    RC(c, req_set(at("p"), "three", -1), STORE_OK);
    RC(c, req_set(at("p"), "seven", 1), STORE_OK);
    RC(c, req_set(at("p"), "refused", 1), STORE_BADVERSION);
    const struct answer *list = ask(c, req(STORE_LIST, at("p")));
    const struct answer *get = ask(c, req(STORE_GET, at("p")));
    CHECK_INT(list->version, 2);
    CHECK_INT(list->children, 1);
    CHECK_INT(list->data_length, 5);
    CHECK_INT(list->czxid, get->czxid);
    CHECK_INT(get->data_length, 5);
}

CASE(list_many)
{
    enum { MANY = 100 };
    struct client *c = client_new();
    struct store_request requests[MANY];
    struct answer *a[MANY];

    for (int i = 0; i < MANY; i++)
        requests[i] = req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL);
    submit_all(c, requests, MANY, a, false);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(await(a[i])->rc, STORE_OK);
    const struct answer *list = ask(c, req(STORE_LIST, at("")));
    REQUIRE(list->rc == STORE_OK && g_strv_length(list->names) == MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_STR(list->names[i], strrchr(a[i]->path, '/') + 1);
}

CASE(sync_absent)
{
    does(client_new(), "sync p, sync .");
}
