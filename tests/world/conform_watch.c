/* Watches: what fires them, how often, and for whom. A request behind the change is answered behind
 * every event of it. What happens while the watcher is cut off is told once, behind the news that
 * it is connected again. */
#include "conform.h"

#include <string.h>

TEST_SUITE(watch, .init = conform_init);
static struct test_suite children = {.name = "children", .init = conform_init};
static struct test_suite absent = {.name = "absent", .init = conform_init};
static struct test_suite replay = {.name = "replay", .init = conform_init};
static struct test_suite unwatch = {.name = "unwatch", .init = conform_init};

/* ---- one that watches "p", and another that does something ---- */

static struct client *watcher, *other;

static struct store_request req_watch_by(enum store_kind kind)
{
    return (struct store_request){.kind = kind, .path = at("p"), .watch = true};
}

/* kind: a GET, LIST or STAT. */
static void begin(enum store_kind kind, bool there)
{
    watcher = client_new();
    other = client_new();
    if (there)
        does(other, "create p");
    RC(watcher, req_watch_by(kind), there ? STORE_OK : STORE_NONODE);
}

static void cut_off(void)
{
    bench->cut(client_link(watcher), true);
    UNTIL(events(watcher, STORE_EV_DOWN) == 1);
}

static void come_back(void)
{
    bench->cut(client_link(watcher), false);
    UNTIL(events(watcher, STORE_EV_UP) == 2);
}

static void check_heard_once(enum store_fired fired)
{
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
    CHECK_INT(heard_as(watcher, at("p"), fired), 1);
}

/* ---- cases that are a row ---- */

enum { NOTHING = -1 };

static const struct row {
    struct test_suite *suite;
    const char *name;
    int line;
    enum store_kind by;          /* of the watcher */
    enum { ABSENT, THERE } node; /* "p", when it is watched */
    enum { UP, CUT } meanwhile;  /* the watcher */
    const char *does;            /* what the other one does, in words */
    int fired;                   /* what is told, once */
} rows[] = {
#define ROW(suite_, name_) .suite = &(suite_), .name = #name_, .line = __LINE__
    {ROW(this_suite, change), STORE_GET, THERE, UP, "set p, set p, delete p", STORE_FIRED_CHANGED},
    {ROW(this_suite, delete), STORE_GET, THERE, UP, "delete p, create p, delete p",
     STORE_FIRED_GONE},
    {ROW(this_suite, refused_set), STORE_GET, THERE, UP, "set p wrongly", NOTHING},
    /* Children coming and going do not change a node, nor do its siblings. */
    {ROW(this_suite, of_the_node_alone), STORE_GET, THERE, UP,
     "create p/below, set p/below, delete p/below, create q, create pp, set q, set .", NOTHING},
    {ROW(this_suite, on_absent), STORE_GET, ABSENT, UP, "create p, set p, delete p", NOTHING},
    {ROW(children, one_comes), STORE_LIST, THERE, UP, "create p/1, create p/2",
     STORE_FIRED_CHILDREN},
    {ROW(children, the_node_goes), STORE_LIST, THERE, UP, "delete p", STORE_FIRED_GONE},
    {ROW(children, of_no_node), STORE_LIST, ABSENT, UP, "create p, create p/1", NOTHING},
    {ROW(children, missed_one_that_came), STORE_LIST, THERE, CUT, "create p/1",
     STORE_FIRED_CHILDREN},
    {ROW(children, missed_one_that_came_and_went), STORE_LIST, THERE, CUT, "create p/1, delete p/1",
     STORE_FIRED_CHILDREN},
    {ROW(children, missed_the_end), STORE_LIST, THERE, CUT, "delete p", STORE_FIRED_GONE},
    /* The same path again, without children: a change. */
    {ROW(children, missed_another_node), STORE_LIST, THERE, CUT, "delete p, create p",
     STORE_FIRED_CHILDREN},
    {ROW(children, missed_nothing), STORE_LIST, THERE, CUT, "set p", NOTHING},
    {ROW(absent, made), STORE_STAT, ABSENT, UP, "create p, delete p", STORE_FIRED_CREATED},
    {ROW(absent, others_are_made), STORE_STAT, ABSENT, UP, "create q, create pp", NOTHING},
    {ROW(absent, changed), STORE_STAT, THERE, UP, "set p", STORE_FIRED_CHANGED},
    {ROW(absent, deleted), STORE_STAT, THERE, UP, "delete p", STORE_FIRED_GONE},
    {ROW(absent, missed_the_making), STORE_STAT, ABSENT, CUT, "create p", STORE_FIRED_CREATED},
    /* Made and deleted: nothing is told, and the watch stands. */
    {ROW(absent, missed_making_and_end), STORE_STAT, ABSENT, CUT, "create p, delete p", NOTHING},
    {ROW(absent, missed_the_end), STORE_STAT, THERE, CUT, "delete p", STORE_FIRED_GONE},
    {ROW(absent, missed_nothing), STORE_STAT, THERE, CUT, "", NOTHING},
    {ROW(absent, missed_nothing_of_none), STORE_STAT, ABSENT, CUT, "", NOTHING},
    {ROW(replay, deleted), STORE_GET, THERE, CUT, "delete p", STORE_FIRED_GONE},
    {ROW(replay, changed), STORE_GET, THERE, CUT, "set p, set p", STORE_FIRED_CHANGED},
    {ROW(replay, changed_and_deleted), STORE_GET, THERE, CUT, "set p, delete p", STORE_FIRED_GONE},
    /* It looks like a change. */
    {ROW(replay, made_anew), STORE_GET, THERE, CUT, "delete p, create p", STORE_FIRED_CHANGED},
    {ROW(replay, unchanged), STORE_GET, THERE, CUT, "create p/below, delete p/below, set p wrongly",
     NOTHING},
};

static const struct row *row;

static bool stands(void)
{
    return row->node == THERE || row->by == STORE_STAT;
}

/* The bench counts watches of nodes, but none of children. */
static void check_watchers(bool any)
{
    CHECK_INT(bench->watchers(at("p")), any && row->by != STORE_LIST);
}

/* The watch stands, and tells of what comes next; or there is none. */
static void check_nothing_heard(void)
{
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    check_watchers(stands());
    if (!stands()) {
        does(watcher, row->by == STORE_LIST ? "unlist p: bad" : "unwatch p: bad");
        return;
    }
    does(other, row->node == THERE ? "delete p" : "create p");
    check_heard_once(row->node == THERE ? STORE_FIRED_GONE : STORE_FIRED_CREATED);
}

static void row_body(void)
{
    begin(row->by, row->node == THERE);
    check_watchers(stands());
    if (row->meanwhile == CUT)
        cut_off();
    does(other, row->does);
    if (row->meanwhile == CUT)
        come_back();
    if (row->fired == NOTHING) {
        check_nothing_heard();
        return;
    }
    check_heard_once((enum store_fired)row->fired);
    CHECK_INT(heard(other, at("p")), 0);
    check_watchers(false);
    if (row->meanwhile == CUT)
        CHECK(place_of_watch(watcher, at("p")) > place_of_event(watcher, STORE_EV_UP, 1));
}

static void play_row(void)
{
    const char *name = strchr(runner_current(), '.') + 1;

    row = rows;
    while (strcmp(row->name, name) != 0 || !g_str_has_prefix(runner_current(), row->suite->name))
        row++;
    conform_case(1, row_body);
}

__attribute__((constructor)) static void add_rows(void)
{
    static struct test_case cases[G_N_ELEMENTS(rows)];

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        cases[i] = (struct test_case){.name = rows[i].name, .fn = play_row, .line = rows[i].line};
        runner_add(rows[i].suite, &cases[i]);
    }
}

/* ---- on a node ---- */

static struct client *new_with(const char *path)
{
    struct client *c = client_new();

    RC(c, req_create(path, STORE_PERSISTENT), STORE_OK);
    return c;
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

/* The same content is a change. */
CASE(equal_data)
{
    struct client *a = new_with(at("p"));

    does(a, "set p, watch p, set p");
    CHECK_INT(heard(a, at("p")), 1);
}

/* A read that wants none takes none away and sets none. */
CASE(plain_read)
{
    struct client *a = new_with(at("p"));

    does(a, "read p");
    CHECK_INT(bench->watchers(at("p")), 0);
    does(a, "watch p, read p");
    CHECK_INT(bench->watchers(at("p")), 1);
    does(a, "set p");
    CHECK_INT(heard(a, at("p")), 1);
}

CASE(two_clients)
{
    struct client *a = new_with(at("p")), *b = client_new(), *c = client_new();

    does(a, "watch p");
    does(b, "watch p");
    CHECK_INT(bench->watchers(at("p")), 2);
    does(c, "set p");
    UNTIL(heard(a, at("p")) == 1 && heard(b, at("p")) == 1);
    does(b, "watch p");
    does(c, "delete p");
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

    does(a, "watch p");
    submit_all(a, watches, 2, both, false);
    await(both[0]);
    await(both[1]);
    CHECK_INT(bench->watchers(at("p")), 1);
    does(b, "set p");
    UNTIL(heard(a, at("p")) > 0);
    does(b, "set p");
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

/* ---- on the children of a node ---- */

CASE_IN(children, one_goes, 1)
{
    watcher = client_new();
    other = client_new();
    does(other, "create p, create p/1");
    does(watcher, "list p");
    does(other, "delete p/1");
    check_heard_once(STORE_FIRED_CHILDREN);
}

/* It is no child's, and no grandchild's, data that is watched. */
CASE_IN(children, of_children_alone, 1)
{
    begin(STORE_LIST, true);
    does(other, "create p/1");
    check_heard_once(STORE_FIRED_CHILDREN);
    does(watcher, "list p");
    does(other, "set p, set p/1, create p/1/2, delete p/1/2, create q");
    check_heard_once(STORE_FIRED_CHILDREN);
    does(other, "delete p/1");
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
}

/* Both of its watches fire, but one event tells of the end. */
CASE_IN(children, with_one_of_the_node, 1)
{
    begin(STORE_LIST, true);
    does(watcher, "watch p");
    does(other, "create p/1");
    CAUGHT_UP(watcher);
    CHECK_INT(bench->watchers(at("p")), 1);
    CHECK_INT(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN), 1);
    does(watcher, "list p");
    does(other, "delete p/1");
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
    does(watcher, "list p");
    does(other, "delete p");
    CAUGHT_UP(watcher);
    CHECK_INT(heard_gone(watcher, at("p")), 1);
    CHECK_INT(heard(watcher, at("p")), 3);
}

CASE_IN(children, in_a_transaction, 1)
{
    const struct store_change changes[] = {
        {.kind = STORE_CREATE, .path = at("p/1"), .version = -1},
        {.kind = STORE_CREATE, .path = at("p/2"), .version = -1},
    };

    begin(STORE_LIST, true);
    RC(other, req_multi(changes, 2), STORE_OK);
    check_heard_once(STORE_FIRED_CHILDREN);
}

CASE_IN(children, of_a_session_that_ends, 1)
{
    begin(STORE_LIST, true);
    does(watcher, "list p");
    does(other, "enter p/n-");
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 1);
    does(watcher, "list p");
    client_close(other);
    UNTIL(heard_as(watcher, at("p"), STORE_FIRED_CHILDREN) == 2);
}

CASE_IN(children, removed_by_kind, 1)
{
    begin(STORE_LIST, true);
    does(watcher, "watch p, unlist p, unlist p: bad");
    CHECK_INT(bench->watchers(at("p")), 1);
    does(other, "create p/1");
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    does(watcher, "list p, unwatch p, unwatch p: bad");
    CHECK_INT(bench->watchers(at("p")), 0);
    does(other, "set p, delete p/1");
    check_heard_once(STORE_FIRED_CHILDREN);
}

/* ---- on what may be absent ---- */

CASE_IN(absent, stat, 1)
{
    struct client *a = client_new();

    does(a, "look p: no node");
    const struct answer *made = ask(a, req_create(at("p"), STORE_PERSISTENT));
    does(a, "set p, create p/1");
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
CASE_IN(absent, of_what_may_not_be_read, 1)
{
    struct client *a = client_new();

    does(a, "create p");
    REQUIRE(bench->refuse(STORE_GET, at("p")));
    does(a, "read p: no permission");
    const enum store_rc rc = ask(a, req(STORE_STAT, at("p")))->rc;
    CHECK(rc == STORE_OK || (rc == STORE_NOAUTH && bench->ops == &store_zk));
}

/* The same watch as a read's. */
CASE_IN(absent, one_with_a_read, 1)
{
    begin(STORE_STAT, true);
    does(watcher, "watch p");
    CHECK_INT(bench->watchers(at("p")), 1);
    does(other, "set p");
    check_heard_once(STORE_FIRED_CHANGED);
}

CASE_IN(absent, taken_back, 1)
{
    for (int there = 0; there < 2; there++) {
        begin(STORE_STAT, there);
        does(watcher, "unlist p: bad, unwatch p, unwatch p: bad");
        CHECK_INT(bench->watchers(at("p")), 0);
        does(other, there ? "delete p" : "create p");
        CAUGHT_UP(watcher);
        CHECK_INT(heard(watcher, at("p")), 0);
        if (!there)
            does(other, "delete p");
    }
}

/* ---- over a lost connection ---- */

/* The server had sent the event already. */
CASE_IN(replay, event_lost, 1)
{
    begin(STORE_GET, true);
    bench->freeze(client_link(watcher), true);
    does(other, "delete p");
    cut_off();
    CHECK_INT(heard(watcher, at("p")), 0);
    come_back();
    check_heard_once(STORE_FIRED_GONE);
}

/* Each connection takes over what the last one had. */
CASE_IN(replay, each_connection, 1)
{
    begin(STORE_GET, true);
    for (unsigned i = 0; i < 3; i++) {
        bench->reset(client_link(watcher));
        UNTIL(events(watcher, STORE_EV_UP) == i + 2);
    }
    does(other, "set p");
    UNTIL(heard(watcher, at("p")) == 1);
    bench->reset(client_link(watcher));
    UNTIL(events(watcher, STORE_EV_UP) == 5);
    does(other, "set p");
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 1);
}

/* The watch knows what its client has seen last, not what it was set at. */
CASE_IN(replay, change_seen_before, 1)
{
    watcher = client_new();
    does(watcher, "create p, set p, watch p");
    bench->reset(client_link(watcher));
    UNTIL(events(watcher, STORE_EV_UP) == 2);
    CAUGHT_UP(watcher);
    CHECK_INT(heard(watcher, at("p")), 0);
    CHECK_INT(bench->watchers(at("p")), 1);
}

/* Answers on the new connection come behind what was missed. */
CASE_IN(replay, before_answers, 1)
{
    begin(STORE_GET, true);
    cut_off();
    does(other, "delete p");
    come_back();
    const struct answer *get = ask(watcher, req(STORE_GET, at("p")));
    CHECK_INT(get->rc, STORE_NONODE);
    CHECK_INT(heard_gone(watcher, at("p")), 1);
    CHECK(place_of_watch(watcher, at("p")) < get->place);
}

/* A read whose answer is lost has set no watch that anybody is told of. */
CASE_IN(replay, of_a_lost_answer, 1)
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
CASE_IN(replay, of_a_lost_removal, 1)
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

/* ---- taken back, and taken along by a client ---- */

CASE_IN(unwatch, removes, 1)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p, watch p, unwatch p");
    CHECK_INT(bench->watchers(at("p")), 0);
    does(b, "set p, delete p");
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE_IN(unwatch, of_nothing, 1)
{
    does(client_new(), "unwatch p: bad, create p, unwatch p: bad, read p, unwatch p: bad");
}

/* What has fired is no watch any more, nor is what was removed. */
CASE_IN(unwatch, of_fired, 1)
{
    struct client *a = client_new();

    does(a, "create p, watch p, set p, unwatch p: bad, watch p, unwatch p, unwatch p: bad");
    CHECK_INT(heard(a, at("p")), 1);
}

CASE_IN(unwatch, of_several_at_once, 1)
{
    struct client *a = client_new();

    does(a, "create p");
    for (int i = 0; i < 3; i++)
        does(a, "watch p");
    does(a, "unwatch p");
    CHECK_INT(bench->watchers(at("p")), 0);
    does(a, "set p");
    CHECK_INT(heard(a, at("p")), 0);
}

CASE_IN(unwatch, leaves_others, 1)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p, create q, watch p, watch q");
    does(b, "watch p");
    does(a, "unwatch p");
    CHECK_INT(bench->watchers(at("p")), 1);
    does(b, "set p, set q");
    UNTIL(heard(a, at("q")) == 1 && heard(b, at("p")) == 1);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE_IN(unwatch, set_again, 1)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p, watch p, unwatch p, watch p");
    does(b, "delete p");
    UNTIL(heard_gone(a, at("p")) == 1);
}

/* Removed, it is not set again by the next connection. */
CASE_IN(unwatch, stays_removed, 1)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p, create q, watch p, watch q, unwatch p");
    bench->reset(client_link(a));
    UNTIL(events(a, STORE_EV_UP) == 2);
    CAUGHT_UP(a);
    CHECK_INT(bench->watchers(at("p")), 0);
    CHECK_INT(bench->watchers(at("q")), 1);
    does(b, "set p");
    CAUGHT_UP(a);
    CHECK_INT(heard(a, at("p")), 0);
}

CASE_IN(unwatch, go_with_the_client, 1)
{
    struct client *a = client_new(), *b = client_new();

    does(a, "create p");
    does(a, "enter n-");
    does(a, "watch p");
    does(b, "watch n-0000000001");
    client_close(a);
    UNTIL(heard_gone(b, at("n-0000000001")) == 1);
    /* A server forgets the connection of its client behind the end of the session. */
    CAUGHT_UP(b);
    for (int i = 0; i < 1000 && bench->watchers(at("p")) > 0; i++)
        CAUGHT_UP(b);
    CHECK_INT(bench->watchers(at("p")), 0);
    does(b, "set p");
    CHECK_INT(heard(a, at("p")), 0);
}
