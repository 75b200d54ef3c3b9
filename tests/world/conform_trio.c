/* An ensemble of three: its servers may lag, but each shows changes in their order. */
#include "conform.h"

#include <string.h>

TEST_SUITE(trio, .init = conform_init);
static struct test_suite trio_session = {.name = "trio_session", .init = conform_init};

enum { SERVERS = 3 };

#define TRIO(name) CASE_IN(this_suite, name, SERVERS)
#define TRIO_SESSION(name) CASE_IN(trio_session, name, SERVERS)

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

static struct client *c[SERVERS];

/* It has caught up with the case's beginning. */
static struct client *client_on(int server)
{
    struct client *new = client_open((struct client_wish){.server = server});

    CAUGHT_UP(new);
    return new;
}

/* One at each server; the leader is one of them. */
static void clients_everywhere(struct client *ret[SERVERS])
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
    does(c[0], "create p");
    for (int i = 0; i < SERVERS; i++) {
        does(c[i], "sync p, watch p");
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
    does(c[0], "create p");
    for (int i = 0; i < SERVERS; i++) {
        does(c[i], "sync p, watch p");
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

/* ---- a session is the ensemble's: it is kept, and ends, wherever its client is connected ---- */

TRIO_SESSION(expired_everywhere)
{
    clients_everywhere(c);
    struct client *owner[SERVERS];
    const struct answer *made[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        owner[i] =
            client_open((struct client_wish){.server = i, .timeout_ms = 4 * CONFORM_TICK_MS});
        made[i] = ask(owner[i], req_create(at("n-"), NUMBERED));
        CAUGHT_UP(c[0]);
        RC(c[0], req_watch(made[i]->path), STORE_OK);
    }
    for (int i = 0; i < SERVERS; i++)
        bench->cut(client_link(owner[i]), true);
    UNTIL(heard_gone(c[0], made[0]->path) == 1 && heard_gone(c[0], made[1]->path) == 1 &&
          heard_gone(c[0], made[2]->path) == 1);
    for (int i = 0; i < SERVERS; i++) {
        bench->cut(client_link(owner[i]), false);
        UNTIL(events(owner[i], STORE_EV_EXPIRED) == 1);
    }
}

/* A session that is idle at a follower for twice its timeout is kept by what the follower reports.
 * A timeout of 2 s would be short on a loaded machine. */
TRIO_SESSION(idle)
{
    clients_everywhere(c);
    struct client *idle[SERVERS], *lost;
    for (int i = 0; i < SERVERS; i++)
        idle[i] = client_open((struct client_wish){.server = i, .timeout_ms = 8 * CONFORM_TICK_MS});
    lost = client_open((struct client_wish){.server = 1, .timeout_ms = 16 * CONFORM_TICK_MS});
    const struct answer *made = ask(lost, req_create(at("n-"), NUMBERED));
    CAUGHT_UP(c[0]);
    RC(c[0], req_watch(made->path), STORE_OK);
    bench->cut(client_link(lost), true);
    UNTIL(heard_gone(c[0], made->path) == 1);
    for (int i = 0; i < SERVERS; i++) {
        does(idle[i], "enter n-");
        CHECK_INT(events(idle[i], STORE_EV_UP), 1);
        CHECK_INT(events(idle[i], STORE_EV_DOWN), 0);
    }
}

/* The session survives, with its nodes and watches, and what it missed meanwhile is told. */
TRIO_SESSION(moves)
{
    struct client *mover = client_on(0);
    int64_t session = client_session(mover);

    clients_everywhere(c);
    const struct answer *made = ask(mover, req_create(at("n-"), NUMBERED));
    for (int i = 1; i <= 3; i++) {
        int server = i % SERVERS;
        const char *path = at(i == 1 ? "x" : i == 2 ? "y" : "z");
        RC(mover, req_create(path, STORE_PERSISTENT), STORE_OK);
        RC(mover, req_watch(path), STORE_OK);
        RC(mover, req_watch(made->path), STORE_OK);
        bench->cut(client_link(mover), true);
        UNTIL(events(mover, STORE_EV_DOWN) == (unsigned)i);
        RC(c[server], req_set(path, "new", -1), STORE_OK);
        bench->move(client_link(mover), server);
        bench->cut(client_link(mover), false);
        UNTIL(events(mover, STORE_EV_UP) == (unsigned)i + 1);
        CHECK_INT(client_session(mover), session);
        UNTIL(heard(mover, path) == 1);
        CHECK_INT(ask(mover, req(STORE_GET, made->path))->ephemeral_owner, session);
        CHECK_INT(heard(mover, made->path), 0);
    }
    CAUGHT_UP(c[2]);
    RC(c[2], req_watch(made->path), STORE_OK);
    client_close(mover);
    UNTIL(heard_gone(c[2], made->path) == 1);
}

/* Reads never go back: what was seen at one server is there at the next. */
TRIO_SESSION(moves_forward)
{
    struct client *mover = client_on(0);

    for (int i = 1; i < 7; i++) {
        const struct answer *made = ask(mover, req_create(at("n-"), NUMBERED));
        bench->move(client_link(mover), i % SERVERS);
        UNTIL(events(mover, STORE_EV_UP) == (unsigned)i + 1);
        CHECK_INT(ask(mover, req(STORE_GET, made->path))->czxid, made->czxid);
    }
}

/* Not by a server that is behind, either: it accepts nobody who has seen more. */
TRIO_SESSION(moves_to_one_behind)
{
    int led = bench->leader(), behind = (led + 1) % SERVERS;
    struct client *mover = client_on(led);

    bench->lag(behind, 300);
    for (unsigned i = 0; i < 3; i++) {
        const struct answer *made = ask(mover, req_create(at("n-"), NUMBERED));
        bench->move(client_link(mover), behind);
        UNTIL(events(mover, STORE_EV_UP) == 2 * i + 2);
        CHECK_INT(ask(mover, req(STORE_GET, made->path))->czxid, made->czxid);
        bench->move(client_link(mover), led);
        UNTIL(events(mover, STORE_EV_UP) == 2 * i + 3);
    }
    bench->lag(behind, 0);
}

/* Another one leads: sessions, nodes and watches are still there, and zxids go on. */
TRIO_SESSION(leader_crashes)
{
    clients_everywhere(c);
    int led = bench->leader(), next = (led + 1) % SERVERS;
    const struct answer *made[SERVERS];
    for (int i = 0; i < SERVERS; i++)
        made[i] = ask(c[i], req_create(at("n-"), NUMBERED));
    RC(c[led], req_watch(made[led]->path), STORE_OK);
    RC(c[next], req_watch(made[next]->path), STORE_OK);
    REQUIRE(bench->crash(led, true));
    bench->move(client_link(c[led]), next);
    for (int i = 0; i < SERVERS; i++) {
        UNTIL(events(c[i], STORE_EV_UP) == 2);
        CHECK_INT(events(c[i], STORE_EV_DOWN), 1);
        CAUGHT_UP(c[i]);
        CHECK_INT(ask(c[i], req(STORE_GET, made[i]->path))->ephemeral_owner, client_session(c[i]));
        CHECK(ask(c[i], req_create(at("n-"), NUMBERED))->czxid > made[SERVERS - 1]->czxid);
    }
    CHECK(bench->leader() != led);
    CHECK_INT(heard(c[led], made[led]->path) + heard(c[next], made[next]->path), 0);
    REQUIRE(bench->crash(led, false));
    bench->move(client_link(c[led]), led);
    UNTIL(events(c[led], STORE_EV_UP) == 3);
    RC(c[next], req(STORE_DELETE, made[led]->path), STORE_OK);
    UNTIL(heard_gone(c[led], made[led]->path) == 1);
    CHECK_INT(g_strv_length(ask(c[led], req(STORE_LIST, at("")))->names), 2 * SERVERS - 1);
}

TRIO_SESSION(timeouts)
{
    static const int wished[] = {CONFORM_TICK_MS, 5 * CONFORM_TICK_MS + 1, 1000 * CONFORM_TICK_MS};

    for (int server = 0; server < SERVERS; server++) {
        struct client *one =
            client_open((struct client_wish){.server = server, .timeout_ms = wished[server]});
        CHECK_INT(client_timeout_ms(one),
                  CLAMP(wished[server], 2 * CONFORM_TICK_MS, 20 * CONFORM_TICK_MS));
    }
}
