/* What candidates look like to other libraries, and whom of theirs ours respect. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(election_layout, .init = live_init);

#define UUID "0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e"
#define UUID_PATTERN "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

static void check_node(struct live *t, const zkl_election_options *o, const char *end)
{
    char *path = g_strdup_printf("%s-%s", t->lock, end);
    char *pattern = g_strdup_printf("^_c_" UUID_PATTERN "-%s[0-9]{10}$", end);
    zkl_election *e = election_with(t->session, path, "the id, and nothing else", o);
    struct Stat stat;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    char **queue = live_queue(t, path);
    REQUIRE(g_strv_length(queue) == 1);
    if (!CHECK(g_regex_match_simple(pattern, strrchr(queue[0], '/') + 1, 0, 0)))
        runner_fail(__FILE__, __LINE__, "\"%s\" is not as %s", queue[0], pattern);
    char *data = raw_get(t->admin, queue[0], &stat);
    CHECK_STR(data, "the id, and nothing else");
    CHECK_INT(stat.dataLength, strlen("the id, and nothing else"));
    CHECK(stat.ephemeralOwner == zkl_session_id(t->session));
    free(data);
    zkl_election_free(e);
    LIVE_UNTIL(live_contenders(t, path) == 0);
    g_strfreev(queue);
    g_free(pattern);
    g_free(path);
}

TEST_CASE(names_and_payload)
{
    struct live *t = live_begin();
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    check_node(t, NULL, "latch-");
    o.layout = ZKL_LAYOUT_SELECTOR;
    check_node(t, &o, "lock-");
    o.priority = 7;
    check_node(t, &o, "p007-lock-");
    o.layout = ZKL_LAYOUT_LATCH;
    o.priority = 999;
    check_node(t, &o, "p999-latch-");
    live_end(t);
}

TEST_CASE(empty_id)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "");
    struct Stat stat;
    char buf[8] = "x";
    zkl_grant *g;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(raw_exists(t->admin, zkl_grant_node(g), &stat), ZOK);
    CHECK_INT(stat.dataLength, 0);
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), NULL), 0);
    CHECK_STR(buf, "");
    zkl_grant_release(g);
    zkl_election_free(e);
    live_end(t);
}

/* As another library's candidate stands there: deleting *ret ends it. */
static void put_foreign_node(struct live *t, const char *name, const char *data,
                             char ret[RAW_PATH_SIZE])
{
    char *path = g_strdup_printf("%s/%s", t->lock, name);
    REQUIRE(raw_create(t->admin, path, data, (int)strlen(data), ZOO_EPHEMERAL | ZOO_SEQUENCE,
                       ret) == ZOK);
    g_free(path);
}

static void respects(const char *name, zkl_layout layout)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, leaders = TALE_INIT;
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    char planted[RAW_PATH_SIZE], buf[16];
    live_make_directory(t);
    put_foreign_node(t, name, "java-1", planted);
    CHECK(g_str_has_suffix(planted, "0000000000"));
    o.layout = layout;
    zkl_election *e = election_with(t->session, t->lock, "ours", &o);
    zkl_watch *observer;
    REQUIRE(zkl_election_watch(&observer, e, tale_leader, &leaders) == 0);
    election_queue(t, e, &tale, t->lock, 2);
    LIVE_UNTIL(election_status(e).ahead == 1);
    CHECK_TALE(&tale, "");
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), NULL), 0);
    CHECK_STR(buf, "java-1");
    TALE_WAIT(&leaders, "java-1");
    CHECK(g_str_has_suffix(planted, leaders.node));
    REQUIRE(raw_delete(t->admin, planted) == ZOK);
    TALE_WAIT(&tale, "leading");
    TALE_WAIT(&leaders, "java-1 ours");
    zkl_watch_free(observer);
    zkl_election_free(e);
    TALE_WAIT(&tale, "leading resigned stopped");
    live_end(t);
}

TEST_CASE(respects_a_latch)
{
    respects("_c_" UUID "-latch-", ZKL_LAYOUT_LATCH);
}

TEST_CASE(respects_a_selector)
{
    respects("_c_" UUID "-lock-", ZKL_LAYOUT_SELECTOR);
}

TEST_CASE(respects_kazoo)
{
    respects("5f0c54a1f7c44b5d8b6b0a3c52a0c9d1__lock__", ZKL_LAYOUT_SELECTOR);
}

/* A selector's candidates and locks are one queue. */
TEST_CASE(a_selector_is_a_lock)
{
    struct live *t = live_begin();
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    o.layout = ZKL_LAYOUT_SELECTOR;
    zkl_election *e = election_with(t->session, t->lock, "a", &o);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_election_campaign(e, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    zkl_election_free(e);
    zkl_mutex_free(m);
    live_end(t);
}

/* Two layouts on one path: who comes second is refused, and it is said, once, who that is. */
TEST_CASE(two_layouts_on_one_path)
{
    struct live *t = live_begin();
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    zkl_election *latch = election_of(t->session, t->lock, "latch");
    zkl_grant *g;
    char buf[16];
    o.layout = ZKL_LAYOUT_SELECTOR;
    zkl_election *selector = election_with(t->session, t->lock, "selector", &o);
    REQUIRE(zkl_election_campaign(latch, ZKL_FOREVER, &g) == 0);
    session_settle(t, t->session);
    CHECK_INT(live_logged(t, "a latch's election"), 0);
    for (int64_t timeout = -1; timeout <= 1000; timeout += 500) {
        CHECK_INT(zkl_election_campaign(selector, timeout < 0 ? ZKL_FOREVER : timeout, NULL),
                  ZKL_ELAYOUT);
        CHECK_ERROR(ZKL_ELAYOUT, strrchr(zkl_grant_node(g), '/') + 1);
        CHECK_ERROR(ZKL_ELAYOUT, t->lock);
    }
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    LIVE_UNTIL(live_logged(t, "a latch's election: its recipe does not wait") == 1);
    CHECK_INT(zkl_election_leader(latch, buf, sizeof(buf), NULL), 0);
    CHECK_STR(buf, "latch");
    CHECK_INT(zkl_election_leader(selector, buf, sizeof(buf), NULL), ZKL_ENOENT);
    CHECK_INT(zkl_election_resign(latch), 0);
    REQUIRE(zkl_election_campaign(selector, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_election_campaign(latch, 0, NULL), ZKL_ELAYOUT);
    zkl_grant_release(g);
    zkl_election_free(latch);
    zkl_election_free(selector);
    live_end(t);
}

/* A started election goes on trying, and leads once the other layout has gone. */
TEST_CASE(a_started_one_tries_again)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_election *e = election_of(t->session, t->lock, "late");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    LIVE_UNTIL(tale_ends(&tale, "failed-25"));
    CHECK_INT(election_status(e).last.code, ZKL_ELAYOUT);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(tale_ends(&tale, "leading"));
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELAYOUT);
    zkl_election_free(e);
    LIVE_UNTIL(tale_ends(&tale, "leading resigned stopped"));
    zkl_mutex_free(m);
    live_end(t);
}

/* kazoo's Election: named as it names, seen by selectors and locks, seeing them. */
TEST_CASE(kazoos_layout)
{
    struct live *t = live_begin();
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    struct Stat stat;
    zkl_grant *g;
    o.layout = ZKL_LAYOUT_KAZOO;
    o.parents = ZKL_PARENTS_PERSISTENT;
    zkl_election *e = election_with(t->session, t->lock, "ours", &o);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK(g_regex_match_simple("/[0-9a-f]{12}8[0-9a-f]{19}__lock__[0-9]{10}$", zkl_grant_node(g), 0,
                               0));
    char *data = raw_get(t->admin, zkl_grant_node(g), &stat);
    CHECK_STR(data, "ours");
    free(data);
    o.layout = ZKL_LAYOUT_SELECTOR;
    zkl_election *selector = election_with(t->session, t->lock, "selector", &o);
    CHECK_INT(zkl_election_campaign(selector, 0, NULL), ZKL_EBUSY);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    zkl_election *latch = election_of(t->session, t->lock, "latch");
    CHECK_INT(zkl_election_campaign(latch, 0, NULL), ZKL_ELAYOUT);
    CHECK_INT(zkl_election_resign(e), 0);
    zkl_grant_release(g);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_election_campaign(e, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    zkl_election_free(latch);
    zkl_election_free(selector);
    zkl_election_free(e);
    live_end(t);
}

TEST_CASE(kazoos_layout_respects_kazoo)
{
    respects("5f0c54a1f7c44b5d8b6b0a3c52a0c9d1__lock__", ZKL_LAYOUT_KAZOO);
}
