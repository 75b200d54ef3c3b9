/* What a create makes, how it is answered and numbered, and what refuses it. */
#include "conform.h"

#include <string.h>

TEST_SUITE(create, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

/* What the server appended to the path that was asked for. */
static const char *suffix(const struct answer *a, const char *asked)
{
    REQUIRE(a->rc == STORE_OK && a->path && g_str_has_prefix(a->path, asked));
    return a->path + strlen(asked);
}

static int64_t number(struct client *c, const char *prefix)
{
    const char *digits = suffix(ask(c, req_create(prefix, NUMBERED)), prefix);

    CHECK_INT(strlen(digits), 10);
    CHECK_INT(strspn(digits, "0123456789"), 10);
    return g_ascii_strtoll(digits, NULL, 10);
}

static void check_plain(struct client *c, const char *path, enum store_mode mode, int64_t owner)
{
    const struct answer *a = ask(c, req_create(path, mode));

    CHECK_INT(a->rc, STORE_OK);
    CHECK_STR(a->path, path);
    CHECK_INT(a->ephemeral_owner, owner);
    CHECK_INT(a->version, 0);
    CHECK_INT(a->children, 0);
    CHECK(a->czxid > 0);
}

CASE(persistent)
{
    check_plain(client_new(), at("p"), STORE_PERSISTENT, 0);
}

CASE(container)
{
    check_plain(client_new(), at("p"), STORE_CONTAINER, 0);
}

CASE(ephemeral)
{
    struct client *c = client_new();

    check_plain(c, at("p"), STORE_EPHEMERAL, client_session(c));
    RC(c, req_create(at("p"), STORE_EPHEMERAL), STORE_EXISTS);
    client_close(c);
    does(client_new(), "look p: no node");
}

CASE(sequential)
{
    struct client *c = client_new();
    const char *prefix = at("n-");
    const struct answer *a = ask(c, req_create(prefix, NUMBERED));

    CHECK_STR(suffix(a, prefix), "0000000000");
    CHECK_INT(a->ephemeral_owner, client_session(c));
    CHECK_INT(a->version, 0);
    CHECK(a->czxid > 0);
    CHECK_STR(suffix(ask(c, req_create(prefix, NUMBERED)), prefix), "0000000001");
}

CASE(prefix_may_be_empty)
{
    struct client *c = client_new();
    const char *prefix = at("dir/");

    does(c, "create dir");
    CHECK_STR(suffix(ask(c, req_create(prefix, NUMBERED)), prefix), "0000000000");
}

CASE(data)
{
    struct client *c = client_new();
    struct store_request with = req_create(at("p"), STORE_PERSISTENT);

    with.data = "text";
    with.length = 4;
    RC(c, with, STORE_OK);
    const struct answer *a = ask(c, req(STORE_GET, at("p")));
    CHECK_INT(a->length, 4);
    CHECK_STR(a->data, "text");
    does(c, "create q");
    CHECK_INT(ask(c, req(STORE_GET, at("q")))->length, 0);
}

/* The token: every create's is larger than those before it, whoever asks. */
CASE(czxid_rises)
{
    struct client *c[] = {client_new(), client_new()};
    uint64_t last = 0;

    for (int i = 0; i < 6; i++) {
        const struct answer *a = ask(c[i % 2], req_create(at("n-"), NUMBERED));
        CHECK(a->czxid > last);
        last = a->czxid;
        CHECK_INT(ask(c[1 - i % 2], req(STORE_GET, a->path))->czxid, last);
    }
}

/* A write between them takes a number of its own. */
CASE(czxid_counts_writes)
{
    struct client *c = client_new();
    uint64_t first = ask(c, req_create(at("p"), STORE_PERSISTENT))->czxid;

    does(c, "set p");
    CHECK(ask(c, req_create(at("q"), STORE_PERSISTENT))->czxid > first + 1);
}

CASE(numbers_go_on_after_deletes)
{
    struct client *c = client_new();
    const struct answer *a = ask(c, req_create(at("n-"), NUMBERED));

    RC(c, req(STORE_DELETE, a->path), STORE_OK);
    CHECK_INT(number(c, at("n-")), 1);
    client_close(c);
    CHECK_INT(number(client_new(), at("n-")), 2);
}

CASE(numbers_are_the_parents)
{
    struct client *c = client_new();

    does(c, "create a, create b");
    CHECK_INT(number(c, at("a/n-")), 0);
    CHECK_INT(number(c, at("a/other-")), 1);
    CHECK_INT(number(c, at("b/n-")), 0);
    CHECK_INT(number(c, at("n-")), 2);
}

/* Every child made counts, by whatever mode; a refused one does not. */
CASE(numbers_count_creates)
{
    struct client *c = client_new();

    CHECK_INT(number(c, at("n-")), 0);
    does(c, "create p, create p: exists, contain q");
    CHECK_INT(number(c, at("n-")), 3);
    does(c, "delete p, set q");
    CHECK_INT(number(c, at("n-")), 4);
}

/* A parent made anew counts from the beginning. */
CASE(numbers_restart)
{
    struct client *c = client_new();

    for (int i = 0; i < 2; i++) {
        does(c, "contain dir");
        const struct answer *a = ask(c, req_create(at("dir/n-"), NUMBERED));
        CHECK_STR(suffix(a, at("dir/n-")), "0000000000");
        RC(c, req(STORE_DELETE, a->path), STORE_OK);
        const struct answer *gone = ask(c, req(STORE_DELETE, at("dir")));
        CHECK(gone->rc == STORE_OK || gone->rc == STORE_NONODE); /* or it was reaped */
    }
}

CASE(without_parent)
{
    does(client_new(), "create no/p: no node, contain no/p: no node, enter no/n-: no node");
}

CASE(existing)
{
    does(client_new(), "contain p, contain p: exists, create p: exists");
}

CASE(below_ephemeral)
{
    struct client *c = client_new();
    const struct answer *a = ask(c, req_create(at("n-"), NUMBERED));
    char *below = g_strconcat(a->path, "/x", NULL);

    RC(c, req_create(below, STORE_PERSISTENT), STORE_NOCHILDREN);
    RC(c, req_create(below, STORE_CONTAINER), STORE_NOCHILDREN);
    RC(c, req_create(below, NUMBERED), STORE_NOCHILDREN);
    g_free(below);
}

/* ---- operations that not all servers know ---- */

CASE(plain)
{
    static const enum store_mode modes[] = {STORE_PERSISTENT, STORE_EPHEMERAL};
    struct client *c = client_new();

    bench->lack(client_link(c), true);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        const struct answer *a = ask(c, req_create_plain(at("p"), modes[i]));
        CHECK_INT(a->rc, STORE_OK);
        CHECK_STR(a->path, at("p"));
        CHECK_INT(a->czxid, 0);
        CHECK_INT(a->ephemeral_owner, 0);
        const struct answer *stat = ask(c, req(STORE_STAT, at("p")));
        CHECK(stat->czxid > 0);
        CHECK_INT(stat->ephemeral_owner, modes[i] == STORE_EPHEMERAL ? client_session(c) : 0);
        RC(c, req_create_plain(at("p"), modes[i]), STORE_EXISTS);
        does(c, "delete p");
    }
    RC(c, req_create_plain(at("no/p"), STORE_EPHEMERAL), STORE_NONODE);
}

CASE(plain_sequential)
{
    struct client *c = client_new();
    const char *prefix = at("n-");
    const struct answer *a = ask(c, req_create_plain(prefix, NUMBERED));

    CHECK_STR(suffix(a, prefix), "0000000000");
    CHECK_INT(ask(c, req(STORE_STAT, a->path))->ephemeral_owner, client_session(c));
    CHECK_STR(suffix(ask(c, req_create(prefix, NUMBERED)), prefix), "0000000001");
}

CASE(containers_unknown)
{
    struct client *c = client_new();

    bench->lack(client_link(c), false);
    RC(c, req_create(at("p"), STORE_CONTAINER), STORE_UNIMPLEMENTED);
    does(c, "look p: no node");
    CHECK_INT(number(c, at("n-")), 0);
    check_plain(c, at("p"), STORE_PERSISTENT, 0);
}

/* It is answered in its turn, and is no end of anything. */
CASE(create2_unknown)
{
    struct client *c = client_new();
    const struct store_request requests[] = {
        req_create_plain(at("before"), STORE_PERSISTENT),
        req_create(at("n-"), NUMBERED),
        req(STORE_LIST, at("")),
    };
    struct answer *a[G_N_ELEMENTS(requests)];

    bench->lack(client_link(c), true);
    submit_all(c, requests, G_N_ELEMENTS(requests), a, false);
    CHECK_INT(await(a[0])->rc, STORE_OK);
    CHECK_INT(await(a[1])->rc, STORE_UNIMPLEMENTED);
    CHECK_STR(await(a[2])->names[0], "before");
    CHECK(a[2]->names[1] == NULL);
    CHECK(a[0]->place < a[1]->place && a[1]->place < a[2]->place);
    RC(c, req_create(at("p"), STORE_CONTAINER), STORE_UNIMPLEMENTED);
    CHECK_INT(events(c, STORE_EV_DOWN), 0);
}
