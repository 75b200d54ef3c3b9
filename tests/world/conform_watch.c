/* Watches: what fires them, how often, and for whom. A request behind the change is answered behind
 * every event of it. */
#include "conform.h"

TEST_SUITE(watch, .init = conform_init);

static struct client *new_with(const char *path)
{
    struct client *c = client_new();

    RC(c, req_create(path, STORE_PERSISTENT), STORE_OK);
    return c;
}

CASE(change)
{
    struct client *a = new_with(at("p")), *b = client_new();

    RC(a, req_watch(at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(b, req_set(at("p"), "1", -1), STORE_OK);
    UNTIL(heard(a, at("p")) == 1);
    CHECK_INT(heard_gone(a, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(b, req_set(at("p"), "2", -1), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 1);
    CHECK_INT(heard(b, at("p")), 0);
}

CASE(delete)
{
    struct client *a = new_with(at("p")), *b = client_new();

    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    UNTIL(heard_gone(a, at("p")) == 1);
    RC(b, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 1);
    CHECK_INT(heard(b, at("p")), 0);
}

/* Set again by the read that the event asked for. */
CASE(again_and_again)
{
    struct client *a = new_with(at("p")), *b = client_new();

    for (unsigned i = 0; i < 5; i++) {
        const struct answer *get = ask(a, req_watch(at("p")));
        CHECK_INT(get->version, i);
        RC(b, req_set(at("p"), "new", (int)i), STORE_OK);
        UNTIL(heard(a, at("p")) == i + 1);
    }
    CHECK_INT(heard_gone(a, at("p")), 0);
}

/* Either the read shows the set that is on its way, or the watch fires for it. */
CASE(no_gap)
{
    struct client *a = client_new(), *b = client_new();

    for (unsigned i = 0; i < 5; i++) {
        char name[] = {(char)('a' + i), 0};
        RC(a, req_create(at(name), STORE_PERSISTENT), STORE_OK);
        struct answer *set = submit(b, req_set(at(name), "new", -1));
        const struct answer *get = ask(a, req_watch(at(name)));
        CHECK_INT(await(set)->rc, STORE_OK);
        CAUGHT_UP(a);
        CHECK_INT((unsigned)get->version + heard(a, at(name)), 1);
        CHECK(heard(a, at(name)) == 0 || place_of_watch(a, at(name)) > get->place);
    }
}

CASE(refused_set)
{
    struct client *a = new_with(at("p")), *b = client_new();

    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req_set(at("p"), "", INT32_MAX), STORE_BADVERSION);
    RC(a, req_set(at("p"), "", INT32_MAX), STORE_BADVERSION);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 1);
}

/* The same content is a change. */
CASE(equal_data)
{
    struct client *a = new_with(at("p"));

    RC(a, req_set(at("p"), "same", -1), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req_set(at("p"), "same", -1), STORE_OK);
    CHECK_INT(heard(a, at("p")), 1);
}

/* Children coming and going do not change a node, nor do its siblings. */
CASE(of_the_node_alone)
{
    struct client *a = new_with(at("p")), *b = client_new();

    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req_create(at("p/below"), STORE_PERSISTENT), STORE_OK);
    RC(b, req_set(at("p/below"), "new", -1), STORE_OK);
    RC(b, req(STORE_DELETE, at("p/below")), STORE_OK);
    RC(b, req_create(at("q"), STORE_PERSISTENT), STORE_OK);
    RC(b, req_create(at("pp"), STORE_PERSISTENT), STORE_OK);
    RC(b, req_set(at("q"), "new", -1), STORE_OK);
    RC(b, req_set(at(""), "new", -1), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    UNTIL(heard_gone(a, at("p")) == 1);
}

CASE(on_absent)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_watch(at("p")), STORE_NONODE);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(b, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(b, req_set(at("p"), "new", -1), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
}

/* A read that wants none takes none away and sets none. */
CASE(plain_read)
{
    struct client *a = new_with(at("p"));

    RC(a, req(STORE_GET, at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_GET, at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(a, req_set(at("p"), "new", -1), STORE_OK);
    CHECK_INT(heard(a, at("p")), 1);
}

CASE(two_clients)
{
    struct client *a = new_with(at("p")), *b = client_new(), *c = client_new();

    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req_watch(at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 2);
    RC(c, req_set(at("p"), "new", -1), STORE_OK);
    UNTIL(heard(a, at("p")) == 1 && heard(b, at("p")) == 1);
    RC(b, req_watch(at("p")), STORE_OK);
    RC(c, req(STORE_DELETE, at("p")), STORE_OK);
    UNTIL(heard_gone(b, at("p")) == 1);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 1);
    CHECK_INT(heard(c, at("p")), 0);
}

CASE(twice_by_one)
{
    struct client *a = new_with(at("p")), *b = client_new();
    struct answer *both[2];
    const struct store_request watches[] = {req_watch(at("p")), req_watch(at("p"))};

    RC(a, req_watch(at("p")), STORE_OK);
    submit_all(a, watches, 2, both, false);
    await(both[0]);
    await(both[1]);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(b, req_set(at("p"), "1", -1), STORE_OK);
    UNTIL(heard(a, at("p")) > 0);
    RC(b, req_set(at("p"), "2", -1), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 1);
}

/* Events of several nodes in the order of their changes. */
CASE(in_order_of_changes)
{
    static const char *const names[] = {"c", "a", "d", "b"};
    struct client *a = client_new(), *b = client_new();

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        RC(a, req_create(at(names[i]), STORE_PERSISTENT), STORE_OK);
        RC(a, req_watch(at(names[i])), STORE_OK);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        RC(b, i % 2 ? req_set(at(names[i]), "", -1) : req(STORE_DELETE, at(names[i])), STORE_OK);
    UNTIL(heard(a, at("b")) == 1);
    CHECK(place_of_watch(a, at("c")) < place_of_watch(a, at("a")));
    CHECK(place_of_watch(a, at("a")) < place_of_watch(a, at("d")));
    CHECK(place_of_watch(a, at("d")) < place_of_watch(a, at("b")));
}
