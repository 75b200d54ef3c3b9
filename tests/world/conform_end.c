/* How sessions end, by close and by expiry, and what goes with them. */
#include "conform.h"

TEST_SUITE(end, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

enum { SHORT_MS = 4 * CONFORM_TICK_MS };

static struct client *owner, *other;

/* Its nodes are n-0000000000 and n-0000000001, of which the other watches the first, and p. */
static void begin_with_nodes(void)
{
    owner = client_open((struct client_wish){.timeout_ms = SHORT_MS});
    other = client_new();
    does(owner, "enter n-, enter n-, create p");
    does(other, "enter n-, watch n-0000000000");
}

/* All of the owner's, none of the others', and none that is not ephemeral. */
static void wait_nodes_gone(void)
{
    UNTIL(heard_gone(other, at("n-0000000000")) == 1);
    does(other, "read n-0000000001: no node, read p, read n-0000000003");
    CHECK_INT(heard(other, at("n-0000000000")), 1);
}

CASE(closed)
{
    begin_with_nodes();
    unsigned before = told(owner);
    client_close(owner);
    wait_nodes_gone();
    CHECK_INT(told(owner), before);
}

CASE(answers_before_close_returns)
{
    struct client *c = client_new();
    struct answer *a[3];
    const struct store_request all[] = {req_create(at("n-"), NUMBERED), req(STORE_LIST, at("")),
                                        req_watch(at(""))};

    submit_all(c, all, 3, a, true);
    for (int i = 0; i < 3; i++) {
        REQUIRE(a[i] && is_answered(a[i]));
        CHECK_INT(a[i]->rc, STORE_GONE);
    }
    unsigned before = told(c);
    client_wait_closed(c);
    other = client_new();
    CAUGHT_UP(other);
    CHECK_INT(told(c), before);
}

/* What was asked before the close is done before it, and no ephemeral stays. */
CASE(requests_before_close)
{
    other = client_new();
    for (int i = 0; i < 5; i++) {
        struct client *c = client_new();
        char name[] = {(char)('a' + i), 0};
        const struct store_request all[] = {req_create(at(name), STORE_PERSISTENT),
                                            req_create(at("n-"), NUMBERED)};
        struct answer *a[2];
        submit_all(c, all, 2, a, true);
        client_wait_closed(c);
        const struct answer *list = ask(other, req(STORE_LIST, at("")));
        for (int left = 10000; left > 0 && g_strv_length(list->names) != (guint)i + 1; left--)
            list = ask(other, req(STORE_LIST, at("")));
        CHECK_INT(g_strv_length(list->names), i + 1);
        CHECK(g_strv_contains((const char *const *)list->names, name));
    }
}

CASE(closed_at_once)
{
    struct client *c = client_start((struct client_wish){.server = 0});

    client_close(c);
    CHECK_INT(events(c, STORE_EV_UP), 0);
}

/* The server cannot be told: it finds out. */
CASE(closed_while_cut)
{
    begin_with_nodes();
    bench->cut(client_link(owner), true);
    UNTIL(events(owner, STORE_EV_DOWN) == 1);
    client_close(owner);
    does(other, "read n-0000000000");
    wait_nodes_gone();
}

/* Not before its time: counted from a request that the server was certainly not sent before. */
static void check_expiry(int64_t sent_ms)
{
    wait_nodes_gone();
    CHECK(heard_at_ms(other, at("n-0000000000")) - sent_ms >= SHORT_MS);
}

CASE(expired_mute)
{
    begin_with_nodes();
    CHECK_INT(client_timeout_ms(owner), SHORT_MS);
    int64_t sent_ms = bench->now_ms();
    does(owner, "read p");
    bench->freeze(client_link(owner), true);
    check_expiry(sent_ms);
    /* The client cannot know: only a server tells it. */
    CHECK_INT(events(owner, STORE_EV_EXPIRED), 0);
    bench->freeze(client_link(owner), false);
    UNTIL(events(owner, STORE_EV_EXPIRED) == 1);
    CHECK_INT(events(owner, STORE_EV_UP), 1);
}

CASE(expired_cut)
{
    begin_with_nodes();
    int64_t sent_ms = bench->now_ms();
    does(owner, "read p");
    bench->cut(client_link(owner), true);
    check_expiry(sent_ms);
    CHECK_INT(events(owner, STORE_EV_EXPIRED), 0);
    bench->cut(client_link(owner), false);
    UNTIL(events(owner, STORE_EV_EXPIRED) == 1);
    CHECK_INT(events(owner, STORE_EV_DOWN), 1);
    CHECK_INT(events(owner, STORE_EV_UP), 1);
}

/* Each request has its answer before, none is sent any more, and nothing follows. */
CASE(told_of_expiry)
{
    struct answer *a[4];

    begin_with_nodes();
    does(owner, "watch p");
    bench->freeze(client_link(owner), true);
    a[0] = submit(owner, req_create(at("n-"), NUMBERED));
    a[1] = submit(owner, req(STORE_LIST, at("")));
    wait_nodes_gone();
    does(other, "set p");
    a[2] = submit(owner, req_create(at("n-"), NUMBERED));
    a[3] = submit(owner, req(STORE_SYNC, at("")));
    bench->freeze(client_link(owner), false);
    UNTIL(events(owner, STORE_EV_EXPIRED) == 1);
    unsigned end = place_of_event(owner, STORE_EV_EXPIRED, 0);
    for (int i = 0; i < 4; i++) {
        if (!a[i])
            continue;
        REQUIRE(is_answered(a[i]));
        CHECK(a[i]->rc == STORE_UNKNOWN || a[i]->rc == STORE_GONE);
        CHECK(a[i]->place < end);
    }
    CHECK(submit(owner, req(STORE_GET, at("p"))) == NULL);
    client_close(owner);
    CHECK_INT(told(owner), end + 1);
    CHECK_INT(g_strv_length(ask(other, req(STORE_LIST, at("")))->names), 2);
}

CASE(closed_by_somebody_else)
{
    begin_with_nodes();
    int64_t session = client_session(owner);
    REQUIRE(bench->expire(session));
    wait_nodes_gone();
    UNTIL(events(owner, STORE_EV_EXPIRED) == 1);
    CHECK(submit(owner, req(STORE_GET, at("p"))) == NULL);
    client_close(owner);
    struct client *next = client_new();
    CHECK(client_session(next) != session);
    CHECK_INT(events(other, STORE_EV_DOWN), 0);
}

/* With a connection again in time, it goes on for its whole time. */
CASE(back_in_time)
{
    begin_with_nodes();
    for (unsigned i = 0; i < 3; i++) {
        bench->cut(client_link(owner), true);
        UNTIL(events(owner, STORE_EV_DOWN) == i + 1);
        int64_t sent_ms = bench->now_ms();
        bench->cut(client_link(owner), false);
        UNTIL(events(owner, STORE_EV_UP) == i + 2);
        if (i < 2)
            continue;
        bench->freeze(client_link(owner), true);
        check_expiry(sent_ms);
    }
}
