/* An ensemble of three: its servers may lag, but each shows changes in their order. */
#include "conform_trio.h"

#include <string.h>

TEST_SUITE(trio, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

static struct client *c[SERVERS];

struct client *client_on(int server)
{
    struct client *new = client_open((struct client_wish){.server = server});

    CAUGHT_UP(new);
    return new;
}

void clients_everywhere(struct client *ret[SERVERS])
{
    for (int i = 0; i < SERVERS; i++)
        ret[i] = client_on(i);
}

TRIO(sync_shows_writes)
{
    clients_everywhere(c);
    for (int i = 0; i < SERVERS; i++) {
        const struct answer *made = ask(c[i], req_create(at("n-"), NUMBERED));
        struct client *other = c[(i + 1) % SERVERS];
        const struct store_request both[] = {req(STORE_SYNC, at("")), req(STORE_LIST, at(""))};
        struct answer *a[2];
        REQUIRE(made->rc == STORE_OK);
        submit_all(other, both, 2, a, false);
        CHECK_INT(await(a[0])->rc, STORE_OK);
        REQUIRE(await(a[1])->rc == STORE_OK);
        CHECK_INT(g_strv_length(a[1]->names), i + 1);
        CHECK_STR(a[1]->names[i], strrchr(made->path, '/') + 1);
    }
}

/* However far it is behind, a sync lets it catch up; and its events are as late as its answers. */
TRIO(sync_at_one_behind)
{
    int leader = bench->leader(), behind = (leader + 1) % SERVERS;

    clients_everywhere(c);
    bench->lag(behind, 300);
    for (int i = 0; i < 3; i++) {
        RC(c[leader], req_set(at(""), "new", i), STORE_OK);
        const struct store_request both[] = {req(STORE_SYNC, at("")), req_watch(at(""))};
        struct answer *a[2];
        submit_all(c[behind], both, 2, a, false);
        CHECK_INT(await(a[0])->rc, STORE_OK);
        CHECK_INT(await(a[1])->version, i + 1);
        CHECK_INT(heard(c[behind], at("")), i);
    }
    bench->lag(behind, 0);
}

/* One's own writes are seen without. */
TRIO(own_writes_shown)
{
    clients_everywhere(c);
    for (int i = 0; i < SERVERS; i++)
        for (int j = 0; j < 5; j++) {
            const struct store_request both[] = {req_create(at("n-"), NUMBERED),
                                                 req(STORE_LIST, at(""))};
            struct answer *a[2];
            submit_all(c[i], both, 2, a, false);
            REQUIRE(await(a[0])->rc == STORE_OK && await(a[1])->rc == STORE_OK);
            CHECK_STR(a[1]->names[5 * i + j], strrchr(a[0]->path, '/') + 1);
        }
}

TRIO(ephemerals_everywhere)
{
    clients_everywhere(c);
    struct client *owner = client_on(1);
    const struct answer *made = ask(owner, req_create(at("n-"), NUMBERED));
    for (int i = 0; i < SERVERS; i++) {
        CAUGHT_UP(c[i]);
        const struct answer *a = ask(c[i], req_watch(made->path));
        CHECK_INT(a->ephemeral_owner, client_session(owner));
        CHECK_INT(a->czxid, made->czxid);
    }
    client_close(owner);
    UNTIL(heard_gone(c[0], made->path) == 1 && heard_gone(c[1], made->path) == 1 &&
          heard_gone(c[2], made->path) == 1);
}

TRIO(numbers_are_shared)
{
    enum { EACH = 5, ALL = SERVERS * EACH };
    struct store_request create[EACH];
    struct answer *a[ALL];
    const struct answer *by_number[ALL] = {NULL};

    clients_everywhere(c);
    for (int i = 0; i < EACH; i++)
        create[i] = req_create(at("n-"), NUMBERED);
    for (int i = 0; i < SERVERS; i++)
        submit_all(c[i], create, EACH, a + i * EACH, false);
    for (int i = 0; i < ALL; i++) {
        REQUIRE(await(a[i])->rc == STORE_OK);
        int64_t number = g_ascii_strtoll(a[i]->path + strlen(at("n-")), NULL, 10);
        REQUIRE(number >= 0 && number < ALL && !by_number[number]);
        by_number[number] = a[i];
        CHECK(i % EACH == 0 || a[i]->czxid > a[i - 1]->czxid);
    }
    for (int i = 1; i < ALL; i++)
        CHECK(by_number[i]->czxid > by_number[i - 1]->czxid);
}

/* The watch is at the follower that the reader uses, whoever writes wherever. */
TRIO(watches)
{
    clients_everywhere(c);
    RC(c[0], req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    for (int i = 0; i < SERVERS; i++) {
        RC(c[i], req(STORE_SYNC, at("p")), STORE_OK);
        RC(c[i], req_watch(at("p")), STORE_OK);
    }
    RC(c[1], req_set(at("p"), "new", 0), STORE_OK);
    UNTIL(heard(c[0], at("p")) == 1 && heard(c[1], at("p")) == 1 && heard(c[2], at("p")) == 1);
    for (int i = 0; i < SERVERS; i++) {
        const struct answer *a = ask(c[i], req(STORE_GET, at("p")));
        CHECK_INT(a->version, 1);
        CHECK(place_of_watch(c[i], at("p")) < a->place);
    }
}

/* A read that shows the change comes behind its event, without any sync. */
TRIO(event_before_answer_that_shows_it)
{
    clients_everywhere(c);
    RC(c[0], req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    for (int i = 0; i < SERVERS; i++) {
        RC(c[i], req(STORE_SYNC, at("p")), STORE_OK);
        RC(c[i], req_watch(at("p")), STORE_OK);
    }
    struct answer *set = submit(c[0], req_set(at("p"), "new", 0));
    for (int i = 1; i < SERVERS; i++) {
        const struct answer *a = ask(c[i], req(STORE_GET, at("p")));
        for (int left = 10000; left > 0 && a->version == 0; left--)
            a = ask(c[i], req(STORE_GET, at("p")));
        CHECK_INT(a->version, 1);
        CHECK_INT(heard(c[i], at("p")), 1);
        CHECK(place_of_watch(c[i], at("p")) < a->place);
    }
    CHECK_INT(await(set)->rc, STORE_OK);
}

TRIO(config)
{
    clients_everywhere(c);
    for (int i = 0; i < SERVERS; i++) {
        const struct answer *a = ask(c[i], req(STORE_GET, "/zookeeper/config"));
        CHECK_INT(a->rc, STORE_OK);
        CHECK(a->length > 0);
    }
}
