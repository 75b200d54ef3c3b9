/* Watches over a lost connection: what happened meanwhile is told once, behind the news that the
 * client is connected again. */
#include "conform.h"

TEST_SUITE(replay, .init = conform_init);

/* A client that watches a node, cut off from now on, and another one. */
static struct client *watcher, *other;

static void cut_off(void)
{
    watcher = client_new();
    other = client_new();
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch(at("p")), STORE_OK);
    bench->cut(client_link(watcher), true);
    UNTIL(events(watcher, STORE_EV_DOWN) == 1);
}

static void come_back(void)
{
    bench->cut(client_link(watcher), false);
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    CAUGHT_UP(watcher);
}

static void check_told_once(bool gone)
{
    come_back();
    CHECK_INT(heard(watcher, at("p")), 1);
    CHECK_INT(heard_gone(watcher, at("p")), gone);
    CHECK(place_of_watch(watcher, at("p")) > place_of_event(watcher, STORE_EV_UP, 1));
    CHECK_INT(bench->watchers(at("p")), 0);
}

CASE(deleted)
{
    cut_off();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    check_told_once(true);
}

CASE(changed)
{
    cut_off();
    RC(other, req_set(at("p"), "1", -1), STORE_OK);
    RC(other, req_set(at("p"), "2", -1), STORE_OK);
    check_told_once(false);
}

CASE(changed_and_deleted)
{
    cut_off();
    RC(other, req_set(at("p"), "1", -1), STORE_OK);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    check_told_once(true);
}

/* The server had sent the event already. */
CASE(event_lost)
{
    watcher = client_new();
    other = client_new();
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch(at("p")), STORE_OK);
    bench->freeze(client_link(watcher), true);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    bench->cut(client_link(watcher), true);
    UNTIL(events(watcher, STORE_EV_DOWN) == 1);
    CHECK_INT(heard(watcher, at("p")), 0);
    check_told_once(true);
}

/* It looks like a change. */
CASE(made_anew)
{
    cut_off();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    check_told_once(false);
}

CASE(unchanged)
{
    cut_off();
    RC(other, req_create(at("p/below"), STORE_PERSISTENT), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/below")), STORE_OK);
    RC(other, req_set(at("p"), "", INT32_MAX), STORE_BADVERSION);
    come_back();
    CHECK_INT(heard(watcher, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    UNTIL(heard_gone(watcher, at("p")) == 1);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
}

/* Each connection takes over what the last one had. */
CASE(again_and_again)
{
    watcher = client_new();
    other = client_new();
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch(at("p")), STORE_OK);
    for (unsigned i = 0; i < 3; i++) {
        bench->reset(client_link(watcher));
        UNTIL(events(watcher, STORE_EV_UP) == i + 2);
    }
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    UNTIL(heard(watcher, at("p")) == 1);
    bench->reset(client_link(watcher));
    UNTIL(events(watcher, STORE_EV_UP) == 5);
    RC(other, req_set(at("p"), "newer", -1), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
}

/* The watch knows what its client has seen last, not what it was set at. */
CASE(change_seen_before)
{
    watcher = client_new();
    RC(watcher, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_set(at("p"), "new", -1), STORE_OK);
    RC(watcher, req_watch(at("p")), STORE_OK);
    bench->reset(client_link(watcher));
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 1);
}

/* Answers on the new connection come behind what was missed. */
CASE(before_answers)
{
    cut_off();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    bench->cut(client_link(watcher), false);
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    const struct answer *get = ask(watcher, req(STORE_GET, at("p")));
    CHECK_INT(get->rc, STORE_NONODE);
    CHECK_INT(heard_gone(watcher, at("p")), 1);
    CHECK(place_of_watch(watcher, at("p")) < get->place);
}

/* A read whose answer is lost has set no watch that anybody is told of. */
CASE(of_a_lost_answer)
{
    for (int after_effect = 0; after_effect < 2; after_effect++) {
        const char *path = at(after_effect ? "p" : "q");
        watcher = client_new();
        RC(watcher, req_create(path, STORE_PERSISTENT), STORE_OK);
        bench->lose(client_link(watcher), STORE_GET, after_effect);
        RC(watcher, req_watch(path), STORE_UNKNOWN);
        UNTIL(events(watcher, STORE_EV_UP) == 2);
        RC(watcher, req_set(path, "new", -1), STORE_OK);
        CHECK_INT(heard(watcher, path), 0);
    }
}

/* Not removed as long as nobody was told so: the next connection sets it again. */
CASE(of_a_lost_removal)
{
    for (int after_effect = 0; after_effect < 2; after_effect++) {
        const char *path = at(after_effect ? "p" : "q");
        watcher = client_new();
        RC(watcher, req_create(path, STORE_PERSISTENT), STORE_OK);
        RC(watcher, req_watch(path), STORE_OK);
        bench->lose(client_link(watcher), STORE_UNWATCH, after_effect);
        RC(watcher, req(STORE_UNWATCH, path), STORE_UNKNOWN);
        UNTIL(events(watcher, STORE_EV_UP) == 2);
        RC(watcher, req(STORE_SYNC, path), STORE_OK);
        CHECK_INT(bench->watchers(path), 1);
        RC(watcher, req_set(path, "new", -1), STORE_OK);
        CHECK_INT(heard(watcher, path), 1);
    }
}
