/* A connection that is made, lost and made again, and what becomes of requests meanwhile. */
#include "conform.h"

TEST_SUITE(connection, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

static void wait_back(struct client *c)
{
    unsigned before = events(c, STORE_EV_UP);

    bench->cut(client_link(c), false);
    UNTIL(events(c, STORE_EV_UP) > before);
}

CASE(begin)
{
    struct client *a = client_new(), *b = client_new();

    CHECK_INT(told(a), 2);
    CHECK_INT(place_of_event(a, STORE_EV_BEGIN, 0), 0);
    CHECK_INT(place_of_event(a, STORE_EV_UP, 0), 1);
    CHECK(client_session(a) != 0 && client_session(b) != 0);
    CHECK(client_session(a) != client_session(b));
}

CASE(timeouts)
{
    static const int wished[] = {CONFORM_TICK_MS, 2 * CONFORM_TICK_MS, 5 * CONFORM_TICK_MS + 1,
                                 20 * CONFORM_TICK_MS, 1000 * CONFORM_TICK_MS};

    for (size_t i = 0; i < G_N_ELEMENTS(wished); i++) {
        struct client *c = client_open((struct client_wish){.timeout_ms = wished[i]});
        CHECK_INT(client_timeout_ms(c),
                  CLAMP(wished[i], 2 * CONFORM_TICK_MS, 20 * CONFORM_TICK_MS));
        client_close(c);
    }
}

CASE(same_session_again)
{
    struct client *c = client_open((struct client_wish){.timeout_ms = 100000});
    int64_t session = client_session(c);
    const struct answer *a = ask(c, req_create(at("n-"), NUMBERED));

    for (unsigned i = 0; i < 3; i++) {
        bench->reset(client_link(c));
        UNTIL(events(c, STORE_EV_UP) == i + 2);
        CHECK_INT(events(c, STORE_EV_DOWN), i + 1);
        CHECK(place_of_event(c, STORE_EV_UP, i) < place_of_event(c, STORE_EV_DOWN, i));
        CHECK(place_of_event(c, STORE_EV_DOWN, i) < place_of_event(c, STORE_EV_UP, i + 1));
        CHECK_INT(client_session(c), session);
        CHECK_INT(client_timeout_ms(c), 20 * CONFORM_TICK_MS);
        CHECK_INT(ask(c, req(STORE_GET, a->path))->ephemeral_owner, session);
    }
    CHECK_INT(events(c, STORE_EV_BEGIN), 1);
    CHECK_INT(events(c, STORE_EV_EXPIRED), 0);
}

/* The news first, then the requests in their order; none was done. */
CASE(under_way_unknown)
{
    struct client *c = client_new();
    struct answer *a[3];
    const struct store_request all[] = {req_create(at("n-"), NUMBERED), req(STORE_LIST, at("")),
                                        req(STORE_SYNC, at(""))};

    bench->freeze(client_link(c), true);
    submit_all(c, all, 3, a, false);
    bench->cut(client_link(c), true);
    for (int i = 0; i < 3; i++)
        CHECK_INT(await(a[i])->rc, STORE_UNKNOWN);
    CHECK_INT(events(c, STORE_EV_DOWN), 1);
    CHECK(place_of_event(c, STORE_EV_DOWN, 0) < a[0]->place);
    CHECK(a[0]->place < a[1]->place && a[1]->place < a[2]->place);
    wait_back(c);
    const struct answer *list = ask(c, req(STORE_LIST, at("")));
    REQUIRE(list->rc == STORE_OK);
    CHECK_INT(g_strv_length(list->names), 0);
}

static const struct answer *lost(struct client *c, struct store_request request, bool after_effect)
{
    unsigned before = events(c, STORE_EV_UP);

    bench->lose(client_link(c), request.kind, after_effect);
    const struct answer *a = ask(c, request);
    CHECK_INT(a->rc, STORE_UNKNOWN);
    UNTIL(events(c, STORE_EV_UP) > before);
    return a;
}

CASE(lost_request)
{
    struct client *c = client_new();

    lost(c, req_create(at("n-"), NUMBERED), false);
    CHECK_INT(g_strv_length(ask(c, req(STORE_LIST, at("")))->names), 0);
    does(c, "create p");
    lost(c, req_set(at("p"), "new", -1), false);
    CHECK_INT(ask(c, req(STORE_GET, at("p")))->version, 0);
    const struct store_change changes[] = {{.kind = STORE_SET, .path = at("p"), .version = 0}};
    lost(c, req_multi(changes, 1), false);
    CHECK_INT(ask(c, req(STORE_GET, at("p")))->version, 0);
    lost(c, req(STORE_DELETE, at("p")), false);
    does(c, "read p");
}

CASE(lost_answer)
{
    struct client *c = client_new();

    lost(c, req_create(at("n-"), NUMBERED), true);
    CHECK_INT(ask(c, req(STORE_GET, at("n-0000000000")))->ephemeral_owner, client_session(c));
    lost(c, req_set(at("n-0000000000"), "new", 0), true);
    CHECK_INT(ask(c, req(STORE_GET, at("n-0000000000")))->version, 1);
    const struct store_change changes[] = {
        {.kind = STORE_SET, .path = at("n-0000000000"), .version = 1}};
    lost(c, req_multi(changes, 1), true);
    CHECK_INT(ask(c, req(STORE_GET, at("n-0000000000")))->version, 2);
    lost(c, req(STORE_DELETE, at("n-0000000000")), true);
    does(c, "read n-0000000000: no node");
}

/* Late is not lost. */
CASE(frozen_and_thawed)
{
    struct client *c = client_new(), *other = client_new();

    does(c, "watch .");
    bench->freeze(client_link(c), true);
    struct answer *a = submit(c, req_create(at("n-"), NUMBERED));
    does(other, "set .");
    CHECK(!is_answered(a));
    CHECK_INT(heard(c, at("")), 0);
    bench->freeze(client_link(c), false);
    CHECK_INT(await(a)->rc, STORE_OK);
    UNTIL(heard(c, at("")) == 1);
    CHECK_INT(events(c, STORE_EV_DOWN), 0);
    CHECK_INT(events(c, STORE_EV_UP), 1);
}

/* The client gives a mute connection up before the session's time is over. */
CASE(mute_server)
{
    struct client *c = client_new();
    int64_t session = client_session(c);

    bench->freeze(client_link(c), true);
    CHECK_INT(await(submit(c, req_create(at("n-"), NUMBERED)))->rc, STORE_UNKNOWN);
    CHECK_INT(events(c, STORE_EV_DOWN), 1);
    CHECK_INT(events(c, STORE_EV_UP), 1);
    bench->freeze(client_link(c), false);
    UNTIL(events(c, STORE_EV_UP) == 2);
    CHECK_INT(client_session(c), session);
    CAUGHT_UP(c);
}

/* Without anything asked, too. */
CASE(mute_and_idle)
{
    struct client *c = client_open((struct client_wish){.timeout_ms = 4000});

    bench->freeze(client_link(c), true);
    UNTIL(events(c, STORE_EV_DOWN) == 1);
    CHECK_INT(events(c, STORE_EV_EXPIRED), 0);
    CHECK_INT(told(c), 3);
}

/* Either it is said not to be sent, or it is answered once, and truly. */
CASE(submitted_while_down)
{
    struct client *c = client_new();
    unsigned there = 0, perhaps = 0;

    bench->cut(client_link(c), true);
    UNTIL(events(c, STORE_EV_DOWN) == 1);
    struct answer *a[3];
    for (int i = 0; i < 3; i++)
        a[i] = submit(c, req_create(at("n-"), NUMBERED));
    wait_back(c);
    for (int i = 0; i < 3; i++) {
        enum store_rc rc = a[i] ? await(a[i])->rc : STORE_BAD;
        CHECK(!a[i] || rc == STORE_OK || rc == STORE_UNKNOWN);
        there += rc == STORE_OK;
        perhaps += rc == STORE_UNKNOWN;
    }
    unsigned found = g_strv_length(ask(c, req(STORE_LIST, at("")))->names);
    CHECK(found >= there && found <= there + perhaps);
}

/* Pings keep a session that asks for nothing. */
CASE(idle)
{
    struct client *idle = client_open((struct client_wish){.timeout_ms = 6 * CONFORM_TICK_MS});
    struct client *lost_one = client_open((struct client_wish){.timeout_ms = 14 * CONFORM_TICK_MS});
    struct client *other = client_new();

    does(idle, "enter n-");
    does(lost_one, "enter n-");
    does(other, "watch n-0000000001");
    bench->freeze(client_link(lost_one), true);
    UNTIL(heard_gone(other, at("n-0000000001")) == 1);
    does(other, "read n-0000000000");
    CHECK_INT(events(idle, STORE_EV_EXPIRED), 0);
    does(idle, "read n-0000000000");
}
