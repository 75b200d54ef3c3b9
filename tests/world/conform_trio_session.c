/* A session is the ensemble's: it is kept, and ends, wherever its client is connected. */
#include "conform_trio.h"

TEST_SUITE(trio_session, .init = conform_init);

#define NUMBERED STORE_EPHEMERAL_SEQUENTIAL

static struct client *c[SERVERS];

TRIO(expired_everywhere)
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
TRIO(idle)
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
        RC(idle[i], req_create(at("n-"), NUMBERED), STORE_OK);
        CHECK_INT(events(idle[i], STORE_EV_UP), 1);
        CHECK_INT(events(idle[i], STORE_EV_DOWN), 0);
    }
}

/* The session survives, with its nodes and watches, and what it missed meanwhile is told. */
TRIO(moves)
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
TRIO(moves_forward)
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
TRIO(moves_to_one_behind)
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
TRIO(leader_crashes)
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

TRIO(timeouts)
{
    static const int wished[] = {CONFORM_TICK_MS, 5 * CONFORM_TICK_MS + 1, 1000 * CONFORM_TICK_MS};

    for (int server = 0; server < SERVERS; server++) {
        struct client *one =
            client_open((struct client_wish){.server = server, .timeout_ms = wished[server]});
        CHECK_INT(client_timeout_ms(one),
                  CLAMP(wished[server], 2 * CONFORM_TICK_MS, 20 * CONFORM_TICK_MS));
    }
}
