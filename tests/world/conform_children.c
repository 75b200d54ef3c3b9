/* Watches on the children of a node: one-shot, for one that comes or goes, or the node itself; and
 * over a lost connection. */
#include "conform.h"

TEST_SUITE(children, .init = conform_init);

/* One that watches the children of "p", and another. */
static struct client *watcher, *other;

static void begin(void)
{
    watcher = client_new();
    other = client_new();
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
}

static void check_heard_once(enum store_fired fired)
{
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
    CHECK_INT(heard_as(watcher, at("p"), fired), 1);
}

CASE(one_comes)
{
    begin();
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    RC(other, req_create(at("p/2"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
    CHECK_INT(heard(watcher, at("p/1")), 0);
}

CASE(one_goes)
{
    watcher = client_new();
    other = client_new();
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/1")), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
}

CASE(the_node_goes)
{
    begin();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    check_heard_once(STORE_FIRED_GONE);
}

/* It is no child's, and no grandchild's, data that is watched. */
CASE(of_children_alone)
{
    begin();
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    RC(other, req_set(at("p/1"), "new", -1), STORE_OK);
    RC(other, req_create(at("p/1/2"), STORE_PERSISTENT), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/1/2")), STORE_OK);
    RC(other, req_create(at("q"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
    RC(other, req(STORE_DELETE, at("p/1")), STORE_OK);
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
}

CASE(of_no_node)
{
    watcher = client_new();
    other = client_new();
    RC(watcher, req_watch_list(at("p")), STORE_NONODE);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    RC(watcher, req_unwatch_list(at("p")), STORE_BAD);
}

/* Both of its watches fire, but one event tells of the end. */
CASE(with_one_of_the_node)
{
    begin();
    RC(watcher, req_watch(at("p")), STORE_OK);
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(bench->watchers(at("p")), 1);
    CHECK_INT(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN), 1);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/1")), STORE_OK);
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(heard_gone(watcher, at("p")), 1);
    CHECK_INT(heard(watcher, at("p")), 3);
}

CASE(in_a_transaction)
{
    const struct store_change changes[] = {
        {.kind = STORE_CREATE, .path = at("p/1"), .version = -1},
        {.kind = STORE_CREATE, .path = at("p/2"), .version = -1},
    };

    begin();
    RC(other, req_multi(changes, 2), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
}

CASE(of_a_session_that_ends)
{
    begin();
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(other, req_create(at("p/n-"), STORE_EPHEMERAL_SEQUENTIAL), STORE_OK);
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 1);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    client_close(other);
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
}

/* ---- taken back ---- */

CASE(removed_by_kind)
{
    begin();
    RC(watcher, req_watch(at("p")), STORE_OK);
    RC(watcher, req_unwatch_list(at("p")), STORE_OK);
    RC(watcher, req_unwatch_list(at("p")), STORE_BAD);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    RC(watcher, req_watch_list(at("p")), STORE_OK);
    RC(watcher, req(STORE_UNWATCH, at("p")), STORE_OK);
    RC(watcher, req(STORE_UNWATCH, at("p")), STORE_BAD);
    CHECK_INT(bench->watchers(at("p")), 0);
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/1")), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
}

/* ---- over a lost connection ---- */

static void cut_off(void)
{
    begin();
    bench->cut(client_link(watcher), true);
    UNTIL(events(watcher, STORE_EV_DOWN) == 1);
}

static void come_back(void)
{
    bench->cut(client_link(watcher), false);
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    CAUGHT_UP(watcher);
}

CASE(missed_one_that_came)
{
    cut_off();
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_CHILDREN);
    CHECK(place_of_watch(watcher, at("p")) > place_of_event(watcher, STORE_EV_UP, 1));
    RC(watcher, req_unwatch_list(at("p")), STORE_BAD);
}

CASE(missed_one_that_came_and_went)
{
    cut_off();
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    RC(other, req(STORE_DELETE, at("p/1")), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_CHILDREN);
}

CASE(missed_the_end)
{
    cut_off();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_GONE);
}

/* The same path again, without children: a change. */
CASE(missed_another_node)
{
    cut_off();
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_CHILDREN);
}

CASE(missed_nothing)
{
    cut_off();
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    come_back();
    CHECK_INT(heard(watcher, at("p")), 0);
    RC(other, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
}
