/* Watches that are taken back, and those that a client takes along. */
#include "conform.h"

TEST_SUITE(unwatch, .init = conform_init);

CASE(removes)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(b, req_set(at("p"), "new", -1), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE(of_nothing)
{
    struct client *a = client_new();

    RC(a, req(STORE_UNWATCH, at("p")), STORE_BAD);
    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_BAD);
    RC(a, req(STORE_GET, at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_BAD);
}

/* What has fired is no watch any more, nor is what was removed. */
CASE(of_fired)
{
    struct client *a = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req_set(at("p"), "new", -1), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_BAD);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_BAD);
    CHECK_INT(heard(a, at("p")), 1);
}

CASE(of_several_at_once)
{
    struct client *a = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    for (int i = 0; i < 3; i++)
        RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(a, req_set(at("p"), "new", -1), STORE_OK);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE(leaves_others)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_create(at("q"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req_watch(at("q")), STORE_OK);
    RC(b, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(b, req_set(at("p"), "new", -1), STORE_OK);
    RC(b, req_set(at("q"), "new", -1), STORE_OK);
    UNTIL(heard(a, at("q")) == 1 && heard(b, at("p")) == 1);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE(set_again)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req(STORE_DELETE, at("p")), STORE_OK);
    UNTIL(heard_gone(a, at("p")) == 1);
}

/* Removed, it is not set again by the next connection. */
CASE(stays_removed)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_create(at("q"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(a, req_watch(at("q")), STORE_OK);
    RC(a, req(STORE_UNWATCH, at("p")), STORE_OK);
    bench->reset(client_link(a));
    UNTIL(events(a, STORE_EV_UP) == 2);
    CAUGHT_UP(a);
    CHECK_INT(bench->watchers(at("p")), 0);
    CHECK_INT(bench->watchers(at("q")), 1);
    RC(b, req_set(at("p"), "new", -1), STORE_OK);
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE(go_with_the_client)
{
    struct client *a = client_new(), *b = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(a, req_create(at("n-"), STORE_EPHEMERAL_SEQUENTIAL), STORE_OK);
    RC(a, req_watch(at("p")), STORE_OK);
    RC(b, req_watch(at("n-0000000001")), STORE_OK);
    client_close(a);
    UNTIL(heard_gone(b, at("n-0000000001")) == 1);
    /* A server forgets the connection of its client behind the end of the session. */
    CAUGHT_UP(b);
    for (int i = 0; i < 1000 && bench->watchers(at("p")) > 0; i++)
        CAUGHT_UP(b);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(b, req_set(at("p"), "new", -1), STORE_OK);
    CHECK_INT(heard(a, at("p")), 0);
}
