/* Candidates on a real server: one term, term after term, whom they respect, and what is told of
 * them. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(election, .init = live_init);

/* ---- one term at a time ---- */

TEST_CASE(leads_and_resigns)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g, *again;
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    CHECK_ERROR(ZKL_EPERM, t->lock);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    zkl_election_status status = election_status(e);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_LEADING);
    CHECK(status.token == zkl_grant_token(g));
    CHECK_INT(status.terms, 1);
    REQUIRE(zkl_election_campaign(e, 0, &again) == 0); /* leads already */
    CHECK(again == g);
    CHECK_INT(zkl_election_campaign(e, 0, NULL), 0);
    CHECK_INT(live_contenders(t, t->lock), 1);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_RELEASED);
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_grant_release(g);
    zkl_grant_release(again);
    zkl_election_free(e);
    live_end(t);
}

TEST_CASE(lost)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    struct changes changes = CHANGES_INIT;
    zkl_grant *g;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    REQUIRE(raw_delete(t->admin, zkl_grant_node(g)) == ZOK);
    changes_wait(&changes, ZKL_LOST);
    zkl_election_status status = election_status(e);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(status.last.code, ZKL_ELOST);
    CHECK_INT(zkl_election_proclaim(e, "x", 1, ZKL_FOREVER), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(e), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    zkl_grant_release(g);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    zkl_election_free(e);
    live_end(t);
}

TEST_CASE(not_first)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a"),
                 *f = election_of(t->session, t->lock, "b");
    zkl_grant *g = NULL;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_election_campaign(f, 0, &g), ZKL_EBUSY);
    CHECK_INT(election_status(f).last.code, ZKL_EBUSY);
    CHECK_INT(zkl_election_campaign(f, 50, &g), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    CHECK_INT(election_status(f).last.code, ZKL_ETIMEDOUT);
    CHECK(g == NULL);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    zkl_election_free(e);
    zkl_election_free(f);
    live_end(t);
}

struct waiter {
    zkl_election *election;
    zkl_error error;
    int code;
};

static void *wait_to_lead(void *data)
{
    struct waiter *w = data;
    w->code = zkl_election_campaign(w->election, ZKL_FOREVER, NULL);
    zkl_last_error(&w->error);
    return NULL;
}

/* Resigning and freeing end a campaign that another thread waits in. */
TEST_CASE(given_up_while_waiting)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    struct waiter w = {.election = election_of(t->session, t->lock, "b")};
    pthread_t thread;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, wait_to_lead, &w) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    LIVE_UNTIL(election_status(w.election).ahead == 1);
    CHECK_INT(election_status(w.election).candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(zkl_election_campaign(w.election, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_election_start(w.election, tale_event, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_election_resign(w.election), 0);
    pthread_join(thread, NULL);
    CHECK_INT(w.code, ZKL_ECANCELED);
    CHECK_STR(w.error.path, t->lock);
    CHECK_INT(election_status(w.election).last.code, 0); /* it was asked to */
    CHECK_INT(zkl_election_resign(w.election), ZKL_EPERM);
    REQUIRE(pthread_create(&thread, NULL, wait_to_lead, &w) == 0);
    LIVE_UNTIL(election_status(w.election).ahead == 1);
    zkl_election_free(w.election);
    pthread_join(thread, NULL);
    CHECK_INT(w.code, ZKL_ECLOSED);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    zkl_election_free(e);
    live_end(t);
}

/* Won, but nobody was told yet: giving up comes first. */
TEST_CASE(given_up_before_told)
{
    struct live *t = live_begin();
    struct completion resigned = COMPLETION_INIT, freed = COMPLETION_INIT;
    struct gate gate = GATE_INIT;
    char *other = g_strdup_printf("%s-other", t->lock);
    zkl_election *e = election_of(t->session, t->lock, "a"),
                 *f = election_of(t->session, other, "b");
    session_block(t, t->session, &gate);
    REQUIRE(zkl_election_campaign_async(e, ZKL_FOREVER, completion_take, &resigned, NULL) == 0);
    REQUIRE(zkl_election_campaign_async(f, ZKL_FOREVER, completion_take, &freed, NULL) == 0);
    session_settle(t, t->session);
    CHECK_INT(zkl_election_resign(e), 0);
    zkl_election_free(f);
    gate_open(&gate);
    CHECK_INT(completion_wait(&resigned), ZKL_ECANCELED);
    CHECK_INT(completion_wait(&freed), ZKL_ECLOSED);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(election_status(e).terms, 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_election_free(e);
    g_free(other);
    live_end(t);
}

static void options_refused(struct live *t)
{
    zkl_election *e = NULL;
    const zkl_election_options bad[] = {
        {.size = sizeof(bad[0]), .layout = (zkl_layout)7},
        {.size = sizeof(bad[0]), .layout = (zkl_layout)3},
        {.size = sizeof(bad[0]), .layout = ZKL_LAYOUT_KAZOO, .priority = 1},
        {.size = sizeof(bad[0]), .parents = (zkl_parents)7},
        {.size = sizeof(bad[0]), .once = 2},
        {.size = sizeof(bad[0]), .yield = -1},
        {.size = sizeof(bad[0]), .priority = 1000},
        {.size = sizeof(bad[0]), .priority = -1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK_INT(zkl_election_new(&e, t->session, t->lock, "a", &bad[i]), ZKL_EINVAL);
        CHECK_ERROR(ZKL_EINVAL, "options");
    }
    CHECK(e == NULL);
}

TEST_CASE(bad_arguments)
{
    struct live *t = live_begin();
    zkl_election *e = NULL;
    zkl_watch *o;
    char *id = g_strnfill(1025, 'x');
    CHECK_INT(zkl_election_new(NULL, t->session, t->lock, "a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_new(&e, NULL, t->lock, "a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_new(&e, t->session, "lock", "a", NULL), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, "lock");
    CHECK_INT(zkl_election_new(&e, t->session, t->lock, id, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_new(&e, t->session, t->lock, "\xff", NULL), ZKL_EINVAL);
    CHECK(e == NULL);
    options_refused(t);
    id[1024] = '\0';
    REQUIRE(zkl_election_new(&e, t->session, t->lock, id, NULL) == 0);
    CHECK_INT(zkl_election_campaign_async(e, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_start(e, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_watch(&o, e, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_leader(e, NULL, 5, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_get_status(e, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_get_status(e, &(zkl_election_status){.size = 0}), ZKL_EINVAL);
    CHECK_INT(zkl_election_proclaim(e, NULL, 1, 0), ZKL_EINVAL);
    CHECK_INT(zkl_election_proclaim(e, "x", 1, 0), ZKL_EPERM);
    CHECK_INT(zkl_election_proclaim_async(e, "x", 1, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_campaign(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_resign(NULL), ZKL_EINVAL);
    zkl_election_free(NULL);
    zkl_watch_free(NULL);
    zkl_election_free(e);
    g_free(id);
    live_end(t);
}

/* Without an id a handle only looks. */
TEST_CASE(only_looks)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, NULL);
    char buf[8];
    CHECK_INT(zkl_election_campaign(e, 0, NULL), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, t->lock);
    CHECK_INT(zkl_election_start(e, tale_event, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_resign(e), ZKL_EINVAL);
    CHECK_INT(zkl_election_yield(e), ZKL_EINVAL);
    CHECK_INT(zkl_election_proclaim(e, "x", 1, 0), ZKL_EINVAL);
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), NULL), ZKL_ENOENT);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    zkl_election_free(e);
    live_end(t);
}

/* ---- campaigning again and again ---- */

TEST_CASE(starts_and_resigns)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a");
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_yield(e), ZKL_EPERM);
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    CHECK_INT(zkl_election_start(e, tale_event, &tale), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, t->lock);
    TALE_WAIT(&tale, "leading");
    CHECK_INT(zkl_grant_state(tale.grant), ZKL_HELD);
    zkl_election_status status = election_status(e);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_LEADING);
    CHECK(status.token == tale.token);
    CHECK_INT(status.terms, 1);
    CHECK_INT(status.last.code, 0);
    CHECK_INT(zkl_election_start(e, tale_event, &tale), ZKL_EBUSY);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    TALE_WAIT(&tale, "leading resigned stopped");
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(zkl_election_start(e, tale_event, &tale), 0);
    TALE_WAIT(&tale, "leading resigned stopped leading");
    CHECK_INT(election_status(e).terms, 2);
    zkl_election_free(e);
    TALE_WAIT(&tale, "leading resigned stopped leading resigned stopped");
    live_end(t);
}

/* First come, first served; each knows its place. */
TEST_CASE(in_order)
{
    struct live *t = live_begin();
    struct tale tale[3] = {TALE_INIT, TALE_INIT, TALE_INIT};
    zkl_election *e[3];
    for (int i = 0; i < 3; i++) {
        char id[] = {(char)('a' + i), '\0'};
        e[i] = election_of(t->session, t->lock, id);
        election_queue(t, e[i], &tale[i], t->lock, i + 1);
    }
    LIVE_UNTIL(election_status(e[2]).ahead == 2);
    LIVE_UNTIL(election_status(e[1]).ahead == 1);
    CHECK_INT(election_status(e[2]).candidacy, ZKL_CANDIDACY_QUEUED);
    TALE_WAIT(&tale[0], "leading");
    CHECK_INT(zkl_election_yield(e[0]), 0); /* at the tail */
    TALE_WAIT(&tale[1], "leading");
    CHECK_INT(zkl_election_resign(e[1]), 0);
    TALE_WAIT(&tale[2], "leading");
    CHECK_INT(zkl_election_resign(e[2]), 0);
    TALE_WAIT(&tale[0], "leading resigned leading");
    CHECK_TALE(&tale[1], "leading resigned stopped");
    for (int i = 0; i < 3; i++)
        zkl_election_free(e[i]);
    TALE_WAIT(&tale[0], "leading resigned leading resigned stopped");
    election_settle(t, t->session);
    CHECK_TALE(&tale[2], "leading resigned stopped");
    live_end(t);
}

/* An administrator's delete ends a term; the next campaign follows by itself. */
TEST_CASE(requeues_after_loss)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    TALE_WAIT(&tale, "leading");
    LIVE_UNTIL(live_watches(t) == 1); /* its own node's */
    REQUIRE(raw_delete(t->admin, tale.node) == ZOK);
    TALE_WAIT(&tale, "leading deposed leading");
    zkl_election_status status = election_status(e);
    CHECK_INT(status.last.code, ZKL_ELOST);
    CHECK_INT(status.terms, 2);
    zkl_election_free(e);
    TALE_WAIT(&tale, "leading deposed leading resigned stopped");
    live_end(t);
}

/* A session's end is one term's, not the candidacy's. */
TEST_CASE(requeues_after_expiry)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, queued = TALE_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session *s = live_open(t, proxy_connect(p), NULL);
    zkl_election *e = election_of(s, t->lock, "a"), *f = election_of(s, t->lock, "b");
    election_queue(t, e, &tale, t->lock, 1);
    TALE_WAIT(&tale, "leading");
    election_queue(t, f, &queued, t->lock, 2);
    int64_t before = zkl_session_id(s);
    proxy_cut(p);
    TALE_WAIT(&tale, "leading suspect");
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_LEADING);
    REQUIRE(raw_expire(t->port, before));
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    proxy_heal(p);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    CHECK(zkl_session_id(s) != before);
    TALE_WAIT(&queued, "leading"); /* it had not to wait for a callback */
    CHECK_TALE(&tale, "leading suspect deposed");
    zkl_election_free(e);
    TALE_WAIT(&tale, "leading suspect deposed stopped");
    zkl_election_free(f);
    TALE_WAIT(&queued, "leading resigned stopped");
    live_end(t);
    proxy_stop(p);
}

/* ---- priorities are a courtesy ---- */

static zkl_election *candidate(struct live *t, const char *id, int priority, int yield)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    o.priority = priority;
    o.yield = yield;
    return election_with(t->session, t->lock, id, &o);
}

static void yield_when_asked(zkl_election *e, zkl_election_event event, void *unused)
{
    (void)unused;
    if (event == ZKL_ELECTION_ASKED)
        CHECK_INT(zkl_election_yield(e), 0);
}

TEST_CASE(a_leader_is_asked)
{
    struct live *t = live_begin();
    struct tale low = TALE_INIT, equal = TALE_INIT, high = TALE_INIT;
    zkl_election *l = candidate(t, "low", 5, 1), *m = candidate(t, "equal", 5, 1),
                 *h = candidate(t, "high", 6, 1);
    low.then = yield_when_asked;
    election_queue(t, l, &low, t->lock, 1);
    TALE_WAIT(&low, "leading");
    election_queue(t, m, &equal, t->lock, 2);
    REQUIRE(zkl_election_start(h, tale_event, &high) == 0);
    TALE_WAIT(&high, "leading"); /* and the equal one has let it pass */
    TALE_WAIT(&low, "leading asked resigned");
    CHECK_TALE(&equal, "");
    CHECK_INT(zkl_election_resign(h), 0);
    TALE_WAIT(&high, "leading resigned stopped");
    LIVE_UNTIL(tale_ends(&low, "resigned leading") || tale_ends(&equal, "leading"));
    zkl_election_free(l);
    zkl_election_free(m);
    zkl_election_free(h);
    LIVE_UNTIL(tale_ends(&low, "stopped") && tale_ends(&equal, "stopped"));
    live_end(t);
}

/* A winner that finds a higher one waiting never led: nothing is told of it. */
TEST_CASE(a_winner_lets_pass)
{
    struct live *t = live_begin();
    struct tale head = TALE_INIT, low = TALE_INIT, high = TALE_INIT;
    zkl_election *x = candidate(t, "head", 0, 0), *l = candidate(t, "low", 1, 1),
                 *h = candidate(t, "high", 2, 1);
    election_queue(t, x, &head, t->lock, 1);
    election_queue(t, l, &low, t->lock, 2);
    election_queue(t, h, &high, t->lock, 3);
    LIVE_UNTIL(election_status(h).ahead == 2);
    zkl_election_free(x);
    TALE_WAIT(&high, "leading");
    LIVE_UNTIL(election_status(l).ahead == 1);
    CHECK_TALE(&low, "");
    CHECK_INT(election_status(l).terms, 0);
    zkl_election_free(h);
    TALE_WAIT(&low, "leading");
    zkl_election_free(l);
    TALE_WAIT(&low, "leading resigned stopped");
    LIVE_UNTIL(tale_ends(&head, "stopped") && tale_ends(&high, "stopped"));
    live_end(t);
}

/* ---- other libraries ---- */

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

/* Two layouts on one path: the second is refused, and one line says which that is. */
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
    zkl_election_free(latch);
    zkl_election_free(selector);
    zkl_election_free(e);
    live_end(t);
}

TEST_CASE(kazoos_layout_respects_kazoo)
{
    respects("5f0c54a1f7c44b5d8b6b0a3c52a0c9d1__lock__", ZKL_LAYOUT_KAZOO);
}

/* ---- who leads, and what leaders proclaim ---- */

/* The whole id, whatever is in it, and no byte beyond the buffer. */
TEST_CASE(leader_id)
{
    struct live *t = live_begin();
    char id[1025], buf[1025];
    uint64_t token = 0;
    zkl_grant *g;
    memset(id, 'x', 1024);
    id[0] = '\n';
    id[1024] = '\0';
    zkl_election *e = election_of(t->session, t->lock, id);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), &token), 0);
    CHECK(strcmp(buf, id) == 0);
    CHECK(token == zkl_grant_token(g));
    buf[1023] = '!';
    CHECK_INT(zkl_election_leader(e, buf, 1024, NULL), ZKL_ERANGE);
    CHECK_INT(zkl_election_leader(e, NULL, 0, NULL), ZKL_ERANGE);
    CHECK(buf[1023] == '!');
    zkl_grant_release(g);
    zkl_election_free(e);
    live_end(t);
}

/* The path's own data: the token, and what was proclaimed behind it. */
TEST_CASE(proclaimed)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_election_proclaim(e, "port 80", 7, ZKL_FOREVER), 0);
    char *expected = g_strdup_printf("%" G_GUINT64_FORMAT "\nport 80", zkl_grant_token(g));
    char *data = raw_get(t->admin, t->lock, NULL);
    CHECK_STR(data, expected);
    free(data);
    CHECK_INT(zkl_election_proclaim(e, NULL, 0, ZKL_FOREVER), 0);
    data = raw_get(t->admin, t->lock, NULL);
    CHECK_INT(strlen(data), strlen(expected) - 7);
    free(data);
    data = raw_get(t->admin, zkl_grant_node(g), NULL);
    CHECK_STR(data, "a\nzkl tx 2"); /* the payload is the id alone, before the fence's line */
    free(data);
    char id[8];
    CHECK_INT(zkl_election_leader(e, id, sizeof(id), NULL), 0);
    CHECK_STR(id, "a");
    char *large = g_strnfill(64 * 1024 + 1, 'x');
    CHECK_INT(zkl_election_proclaim(e, large, 64 * 1024, ZKL_FOREVER), 0);
    CHECK_INT(zkl_election_proclaim(e, large, 64 * 1024 + 1, ZKL_FOREVER), ZKL_ELIMIT);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(zkl_election_proclaim(e, "x", 1, ZKL_FOREVER), ZKL_EPERM);
    zkl_grant_release(g);
    zkl_election_free(e);
    g_free(large);
    g_free(expected);
    live_end(t);
}

struct outcome {
    struct gate gate;
    int code;
};

static void on_proclaimed(const zkl_error *err, void *data)
{
    struct outcome *o = data;
    o->code = err ? err->code : 0;
    gate_pass(&o->gate);
}

/* The servers refuse what comes behind the end of the term, even if this side does not know yet. */
TEST_CASE(proclaiming_is_fenced)
{
    struct live *t = live_begin();
    struct outcome o = {GATE_INIT, 1};
    struct gate gate = GATE_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g;
    gate_open(&o.gate);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_election_proclaim_async(e, "good", 4, ZKL_FOREVER, on_proclaimed, &o) == 0);
    gate_wait_entered(&o.gate);
    CHECK_INT(o.code, 0);
    session_block(t, t->session, &gate);
    REQUIRE(raw_delete(t->admin, zkl_grant_node(g)) == ZOK);
    int code = zkl_election_proclaim(e, "bad", 3, ZKL_FOREVER);
    CHECK_INT(code, ZKL_ELOST);
    char *data = raw_get(t->admin, t->lock, NULL);
    CHECK(data && g_str_has_suffix(data, "\ngood"));
    free(data);
    gate_open(&gate);
    zkl_grant_release(g);
    zkl_election_free(e);
    live_end(t);
}

/* ---- observers ---- */

static zkl_watch *observe(zkl_election *e, struct tale *tale)
{
    zkl_watch *o;
    REQUIRE(zkl_election_watch(&o, e, tale_leader, tale) == 0);
    return o;
}

/* From a path that is not there, over leaders and nobody, to a path that is gone again. */
TEST_CASE(changes_of_leader)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, late = TALE_INIT;
    zkl_election *a = election_of(t->session, t->lock, "a"),
                 *b = election_of(t->session, t->lock, "b");
    zkl_grant *g;
    zkl_watch *o = observe(a, &tale), *p;
    TALE_WAIT(&tale, "nobody");
    REQUIRE(zkl_election_campaign(a, ZKL_FOREVER, &g) == 0);
    TALE_WAIT(&tale, "nobody a");
    CHECK(tale.token == zkl_grant_token(g));
    CHECK_STR(tale.node, strrchr(zkl_grant_node(g), '/') + 1);
    p = observe(b, &late);
    TALE_WAIT(&late, "a");
    REQUIRE(zkl_election_resign(a) == 0);
    TALE_WAIT(&tale, "nobody a nobody");
    REQUIRE(zkl_election_campaign(b, ZKL_FOREVER, NULL) == 0);
    TALE_WAIT(&tale, "nobody a nobody b");
    zkl_election_resign(b);
    TALE_WAIT(&tale, "nobody a nobody b nobody");
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    REQUIRE(raw_delete(t->admin, t->lock) == ZOK);
    REQUIRE(zkl_election_campaign(b, ZKL_FOREVER, NULL) == 0); /* makes it anew */
    TALE_WAIT(&tale, "nobody a nobody b nobody b");
    TALE_WAIT(&late, "a nobody b nobody b");
    zkl_watch_free(p);
    zkl_watch_free(o);
    zkl_grant_release(g);
    zkl_election_free(a);
    zkl_election_free(b);
    live_end(t);
}

/* The next in line leads at once: no "nobody" between. */
TEST_CASE(successions)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, events[2] = {TALE_INIT, TALE_INIT};
    zkl_election *e[2] = {election_of(t->session, t->lock, "a"),
                          election_of(t->session, t->lock, "b")};
    election_queue(t, e[0], &events[0], t->lock, 1);
    election_queue(t, e[1], &events[1], t->lock, 2);
    REQUIRE(zkl_election_watch(NULL, e[0], tale_leader, &tale) == 0); /* ends with the handle */
    TALE_WAIT(&tale, "a");
    TALE_WAIT(&events[0], "leading");
    CHECK_INT(zkl_election_yield(e[0]), 0);
    TALE_WAIT(&tale, "a b");
    TALE_WAIT(&events[0], "leading resigned");
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    TALE_WAIT(&events[1], "leading");
    CHECK_INT(zkl_election_yield(e[1]), 0);
    TALE_WAIT(&tale, "a b a");
    zkl_election_free(e[0]);
    zkl_election_free(e[1]);
    LIVE_UNTIL(tale_ends(&events[0], "stopped") && tale_ends(&events[1], "stopped"));
    election_settle(t, t->session);
    CHECK_TALE(&tale, "a b a");
    live_end(t);
}

static void proclaims(zkl_election *e, const char *text)
{
    CHECK_INT(zkl_election_proclaim(e, text, strlen(text), ZKL_FOREVER), 0);
}

/* What a leader proclaims is told with it, and never as another's. */
TEST_CASE(proclamations_are_told)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, late = TALE_INIT;
    zkl_election *a = election_of(t->session, t->lock, "a"),
                 *b = election_of(t->session, t->lock, "b");
    zkl_watch *o = observe(b, &tale);
    TALE_WAIT(&tale, "nobody");
    REQUIRE(zkl_election_campaign(a, ZKL_FOREVER, NULL) == 0);
    TALE_WAIT(&tale, "nobody a");
    proclaims(a, "1");
    TALE_WAIT(&tale, "nobody a a=1");
    proclaims(a, "2");
    TALE_WAIT(&tale, "nobody a a=1 a=2");
    proclaims(a, "");
    TALE_WAIT(&tale, "nobody a a=1 a=2 a=");
    proclaims(a, "3");
    zkl_watch *p = observe(b, &late);
    TALE_WAIT(&late, "a=3"); /* at once, not first without */
    zkl_election_resign(a);
    TALE_WAIT(&late, "a=3 nobody");
    REQUIRE(zkl_election_campaign(b, ZKL_FOREVER, NULL) == 0);
    TALE_WAIT(&late, "a=3 nobody b");
    REQUIRE(raw_set(t->admin, t->lock, "somebody's", 10) == ZOK);
    proclaims(b, "4");
    TALE_WAIT(&late, "a=3 nobody b b=4");
    TALE_WAIT(&tale, "nobody a a=1 a=2 a= a=3 nobody b b=4");
    zkl_watch_free(p);
    zkl_watch_free(o);
    zkl_election_free(a);
    zkl_election_free(b);
    live_end(t);
}

/* Away, and back in the same session or in another: what is new, once. */
TEST_CASE(observed_across_connections)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session *s = live_open(t, proxy_connect(p), NULL);
    zkl_election *look = election_of(s, t->lock, NULL);
    zkl_election *a = election_of(t->session, t->lock, "a"),
                 *b = election_of(t->session, t->lock, "b");
    zkl_watch *o = observe(look, &tale);
    TALE_WAIT(&tale, "nobody");
    REQUIRE(zkl_election_campaign(a, ZKL_FOREVER, NULL) == 0);
    TALE_WAIT(&tale, "nobody a");
    proxy_cut(p);
    zkl_election_resign(a);
    REQUIRE(zkl_election_campaign(b, ZKL_FOREVER, NULL) == 0);
    zkl_election_resign(b);
    REQUIRE(zkl_election_campaign(a, ZKL_FOREVER, NULL) == 0);
    proclaims(a, "back");
    CHECK_TALE(&tale, "nobody a");
    proxy_heal(p);
    TALE_WAIT(&tale, "nobody a a=back"); /* another term of the same: b was not seen */
    int64_t before = zkl_session_id(s);
    proxy_cut(p);
    REQUIRE(raw_expire(t->port, before));
    proxy_heal(p);
    LIVE_UNTIL(zkl_session_id(s) != before && zkl_session_id(s) != 0);
    proclaims(a, "there");
    TALE_WAIT(&tale, "nobody a a=back a=there");
    zkl_election_resign(a);
    TALE_WAIT(&tale, "nobody a a=back a=there nobody");
    zkl_watch_free(o);
    zkl_election_free(look);
    zkl_election_free(a);
    zkl_election_free(b);
    live_end(t);
    proxy_stop(p);
}

/* The handle's end and the session's are ends of observing; the pointer stays the user's. */
TEST_CASE(ends_with_the_handle)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT, closed = TALE_INIT;
    zkl_session *s = live_open(t, t->connect, NULL);
    zkl_election *e = election_of(t->session, t->lock, "a"), *f = election_of(s, t->lock, "b");
    zkl_watch *o = observe(e, &tale), *p = observe(f, &closed);
    TALE_WAIT(&tale, "nobody");
    TALE_WAIT(&closed, "nobody");
    zkl_election_free(e);
    live_close(t, s);
    CHECK_INT(zkl_election_watch(NULL, f, tale_leader, &closed), ZKL_ECLOSED);
    LIVE_UNTIL(live_watches(t) == 0);
    e = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    session_settle(t, t->session);
    election_settle(t, t->session);
    CHECK_TALE(&tale, "nobody");
    CHECK_TALE(&closed, "nobody");
    zkl_watch_free(o);
    zkl_watch_free(p);
    zkl_election_free(e);
    zkl_election_free(f);
    live_end(t);
}
