/* Looking whether a node exists, with a watch: one for its making if it is not there, and an
 * ordinary one if it is; and over a lost connection. */
#include "conform.h"

TEST_SUITE(absent, .init = conform_init);

static struct client *watcher, *other;

/* The watcher looks for "p", which is there or is not. */
static void begin(bool there)
{
    watcher = client_new();
    other = client_new();
    if (there)
        RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(watcher, req_watch_stat(at("p")), there ? STORE_OK : STORE_NONODE);
    CHECK_INT(bench->watchers(at("p")), 1);
}

static void check_heard_once(enum store_fired fired)
{
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
    CHECK_INT(heard_as(watcher, at("p"), fired), 1);
}

CASE(stat)
{
    struct client *a = client_new();

    RC(a, req(STORE_STAT, at("p")), STORE_NONODE);
    const struct answer *made = ask(a, req_create(at("p"), STORE_PERSISTENT));
    RC(a, req_set(at("p"), "new", -1), STORE_OK);
    RC(a, req_create(at("p/1"), STORE_PERSISTENT), STORE_OK);
    const struct answer *stat = ask(a, req(STORE_STAT, at("p")));
    CHECK_INT(stat->rc, STORE_OK);
    CHECK_INT(stat->czxid, made->czxid);
    CHECK_INT(stat->version, 1);
    CHECK_INT(stat->children, 1);
    CHECK_INT(stat->ephemeral_owner, 0);
    CHECK(!stat->data);
    CHECK_INT(bench->watchers(at("p")), 0);
}

/* 3.8.0 needs no permission to read for that, 3.9.3 does. */
CASE(of_what_may_not_be_read)
{
    struct client *a = client_new();

    RC(a, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    REQUIRE(bench->refuse(STORE_GET, at("p")));
    RC(a, req(STORE_GET, at("p")), STORE_NOAUTH);
    const enum store_rc rc = ask(a, req(STORE_STAT, at("p")))->rc;
    CHECK(rc == STORE_OK || (rc == STORE_NOAUTH && bench->ops == &store_zk));
}

CASE(made)
{
    begin(false);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CREATED);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    check_heard_once(STORE_FIRED_CREATED);
}

CASE(others_are_made)
{
    begin(false);
    RC(other, req_create(at("q"), STORE_PERSISTENT), STORE_OK);
    RC(other, req_create(at("pp"), STORE_PERSISTENT), STORE_OK);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
}

CASE(changed)
{
    begin(true);
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    check_heard_once(STORE_FIRED_CHANGED);
}

CASE(deleted)
{
    begin(true);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    check_heard_once(STORE_FIRED_GONE);
}

/* The same watch as a read's. */
CASE(one_with_a_read)
{
    begin(true);
    RC(watcher, req_watch(at("p")), STORE_OK);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(other, req_set(at("p"), "new", -1), STORE_OK);
    check_heard_once(STORE_FIRED_CHANGED);
}

CASE(taken_back)
{
    for (int there = 0; there < 2; there++) {
        begin(there);
        RC(watcher, req_unwatch_list(at("p")), STORE_BAD);
        RC(watcher, req(STORE_UNWATCH, at("p")), STORE_OK);
        RC(watcher, req(STORE_UNWATCH, at("p")), STORE_BAD);
        CHECK_INT(bench->watchers(at("p")), 0);
        RC(other, there ? req(STORE_DELETE, at("p")) : req_create(at("p"), STORE_PERSISTENT),
           STORE_OK);
        CAUGHT_UP(watcher);
        CHECK_INT(heard(watcher, at("p")), 0);
        if (!there)
            RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    }
}

/* ---- over a lost connection ---- */

static void cut_off(bool there)
{
    begin(there);
    bench->cut(client_link(watcher), true);
    UNTIL(events(watcher, STORE_EV_DOWN) == 1);
}

static void come_back(void)
{
    bench->cut(client_link(watcher), false);
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    CAUGHT_UP(watcher);
}

CASE(missed_the_making)
{
    cut_off(false);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_CREATED);
    CHECK(place_of_watch(watcher, at("p")) > place_of_event(watcher, STORE_EV_UP, 1));
}

/* Made and deleted: nothing is told, and the watch stands. */
CASE(missed_making_and_end)
{
    cut_off(false);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    come_back();
    CHECK_INT(heard(watcher, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 1);
    RC(other, req_create(at("p"), STORE_PERSISTENT), STORE_OK);
    check_heard_once(STORE_FIRED_CREATED);
}

CASE(missed_the_end)
{
    cut_off(true);
    RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    come_back();
    check_heard_once(STORE_FIRED_GONE);
}

CASE(missed_nothing)
{
    for (int there = 0; there < 2; there++) {
        cut_off(there);
        come_back();
        CHECK_INT(heard(watcher, at("p")), 0);
        CHECK_INT(bench->watchers(at("p")), 1);
        RC(other, there ? req(STORE_DELETE, at("p")) : req_create(at("p"), STORE_PERSISTENT),
           STORE_OK);
        check_heard_once(there ? STORE_FIRED_GONE : STORE_FIRED_CREATED);
        if (!there)
            RC(other, req(STORE_DELETE, at("p")), STORE_OK);
    }
}
