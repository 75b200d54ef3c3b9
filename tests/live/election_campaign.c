/* One term at a time: blocking, asynchronous, given up, and from where it must not be called. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(election_campaign, .init = live_init);

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

/* Releasing the grant ends the term too, and the handle alone can have it. */
TEST_CASE(ended_by_the_grant)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    zkl_grant_release(g);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(election_status(e).terms, 2);
    CHECK_INT(live_contenders(t, t->lock), 1);
    zkl_election_free(e); /* as if by resign */
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
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

TEST_CASE(asynchronous)
{
    struct live *t = live_begin();
    struct completion a = COMPLETION_INIT, b = COMPLETION_INIT, c = COMPLETION_INIT,
                      again = COMPLETION_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a"),
                 *f = election_of(t->session, t->lock, "b");
    zkl_op *op = NULL;
    REQUIRE(zkl_election_campaign_async(e, ZKL_FOREVER, completion_take, &a, NULL) == 0);
    CHECK_INT(completion_wait(&a), 0);
    REQUIRE(zkl_election_campaign_async(e, 0, completion_take, &again, &op) == 0);
    CHECK(op == NULL); /* it leads: nothing is under way */
    CHECK_INT(completion_wait(&again), 0);
    CHECK(again.grant == a.grant);
    REQUIRE(zkl_election_campaign_async(f, ZKL_FOREVER, completion_take, &b, &op) == 0);
    CHECK_INT(zkl_election_campaign_async(f, 0, completion_take, &c, NULL), ZKL_EBUSY);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    zkl_op_cancel(op);
    CHECK_INT(completion_wait(&b), ZKL_ECANCELED);
    zkl_op_free(op);
    REQUIRE(zkl_election_campaign_async(f, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(election_status(f).candidacy, ZKL_CANDIDACY_LEADING);
    CHECK_INT(zkl_election_resign(f), 0);
    CHECK_INT(zkl_grant_state(c.grant), ZKL_RELEASED);
    election_settle(t, t->session);
    CHECK_INT(completion_calls(&a) + completion_calls(&b) + completion_calls(&c), 3);
    zkl_grant_release(a.grant);
    zkl_grant_release(again.grant);
    zkl_grant_release(c.grant);
    zkl_election_free(e);
    zkl_election_free(f);
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

/* ---- in a callback ---- */

struct inside {
    struct completion done;
    zkl_election *election;
    struct live *live;
};

static void call_everything(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct inside *in = data;
    char buf[8];
    CHECK_INT(zkl_election_campaign(in->election, 0, NULL), 0); /* leads: nothing to wait for */
    CHECK_INT(zkl_election_leader(in->election, buf, sizeof(buf), NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_election_proclaim(in->election, "x", 1, 0), ZKL_EDEADLK);
    CHECK_INT(zkl_election_resign(in->election), 0);
    CHECK_INT(zkl_election_campaign(in->election, 0, NULL), ZKL_EDEADLK);
    CHECK_ERROR(ZKL_EDEADLK, in->live->lock);
    zkl_election_free(in->election);
    completion_take(grant, error, &in->done);
}

TEST_CASE(inside_a_callback)
{
    struct live *t = live_begin();
    struct inside in = {.done = COMPLETION_INIT, .live = t};
    in.election = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_campaign_async(in.election, ZKL_FOREVER, call_everything, &in, NULL) == 0);
    CHECK_INT(completion_wait(&in.done), 0);
    zkl_grant_release(in.done.grant);
    live_end(t);
}

/* ---- arguments ---- */

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

/* ---- in a forked child ---- */

/* The number of the first call that does not say so: no check, no stdio in the child. */
static int try_as_child(zkl_election *e, zkl_watch *o, zkl_session *s, const char *path)
{
    zkl_election_status status = {.size = sizeof(status)};
    zkl_election *other;
    char buf[8];
    const int codes[] = {
        zkl_election_new(&other, s, path, "b", NULL),
        zkl_election_campaign(e, 0, NULL),
        zkl_election_campaign_async(e, 0, completion_take, NULL, NULL),
        zkl_election_resign(e),
        zkl_election_start(e, tale_event, NULL),
        zkl_election_yield(e),
        zkl_election_get_status(e, &status),
        zkl_election_leader(e, buf, sizeof(buf), NULL),
        zkl_election_proclaim(e, "x", 1, 0),
        zkl_election_watch(NULL, e, tale_leader, NULL),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (codes[i] != ZKL_ECHILD)
            return (int)i + 1;
    zkl_watch_free(o);
    zkl_election_free(e);
    return 0;
}

TEST_CASE(forked)
{
    struct live *t = live_begin();
    struct tale leaders = TALE_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_watch *o;
    int status;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_election_watch(&o, e, tale_leader, &leaders) == 0);
    TALE_WAIT(&leaders, "a");
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(try_as_child(e, o, t->session, t->lock));
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_LEADING);
    CHECK_INT(zkl_election_resign(e), 0);
    TALE_WAIT(&leaders, "a nobody");
    zkl_watch_free(o);
    zkl_election_free(e);
    live_end(t);
}
