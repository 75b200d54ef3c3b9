/* Campaigning again and again: what is told, in which order, and that it never ends silently. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

TEST_SUITE(election_start, .init = live_init);

TEST_CASE(leads_and_resigns)
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

TEST_CASE(one_term_only)
{
    struct live *t = live_begin();
    struct tale lost = TALE_INIT, yielded = TALE_INIT;
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    o.once = 1;
    zkl_election *e = election_with(t->session, t->lock, "a", &o);
    REQUIRE(zkl_election_start(e, tale_event, &lost) == 0);
    TALE_WAIT(&lost, "leading");
    LIVE_UNTIL(live_watches(t) == 1);
    REQUIRE(raw_delete(t->admin, lost.node) == ZOK);
    TALE_WAIT(&lost, "leading deposed stopped-7");
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_start(e, tale_event, &yielded), 0);
    TALE_WAIT(&yielded, "leading");
    CHECK_INT(zkl_election_yield(e), 0);
    TALE_WAIT(&yielded, "leading resigned stopped");
    CHECK_INT(zkl_election_resign(e), ZKL_EPERM);
    zkl_election_free(e);
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

TEST_CASE(suspect_and_held)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = 60000;
    zkl_session *s = live_open(t, proxy_connect(p), &o);
    zkl_election *e = election_of(s, t->lock, "a");
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    TALE_WAIT(&tale, "leading");
    proxy_cut(p);
    TALE_WAIT(&tale, "leading suspect");
    proxy_heal(p);
    TALE_WAIT(&tale, "leading suspect held");
    CHECK_INT(zkl_election_resign(e), 0);
    TALE_WAIT(&tale, "leading suspect held resigned stopped");
    zkl_election_free(e);
    live_end(t);
    proxy_stop(p);
}

/* Closing the session ends terms and waits, each told once. */
TEST_CASE(session_closed)
{
    struct live *t = live_begin();
    struct tale leads = TALE_INIT, waits = TALE_INIT;
    zkl_session *s = live_open(t, t->connect, NULL);
    zkl_election *e = election_of(s, t->lock, "a"), *f = election_of(s, t->lock, "b");
    election_queue(t, e, &leads, t->lock, 1);
    election_queue(t, f, &waits, t->lock, 2);
    TALE_WAIT(&leads, "leading");
    live_close(t, s);
    CHECK_TALE(&leads, "leading deposed stopped-8");
    CHECK_TALE(&waits, "stopped-8");
    CHECK_INT(zkl_election_start(e, tale_event, &leads), ZKL_ECLOSED);
    CHECK_INT(zkl_election_campaign(e, 0, NULL), ZKL_ECLOSED);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_NONE);
    zkl_election_free(e);
    zkl_election_free(f);
    live_end(t);
}

static void free_when(zkl_election *e, zkl_election_event event, void *when)
{
    if (event == *(zkl_election_event *)when)
        zkl_election_free(e);
}

/* From inside every callback. */
TEST_CASE(freed_in_a_callback)
{
    struct live *t = live_begin();
    struct tale leading = TALE_INIT, resigned = TALE_INIT, deposed = TALE_INIT, last = TALE_INIT;
    zkl_election_event when[] = {ZKL_ELECTION_LEADING, ZKL_ELECTION_RESIGNED, ZKL_ELECTION_LOST,
                                 ZKL_ELECTION_STOPPED};
    struct tale *tales[] = {&leading, &resigned, &deposed, &last};
    zkl_election *e[4];
    for (int i = 0; i < 4; i++) {
        char *path = g_strdup_printf("%s-%d", t->lock, i);
        e[i] = election_of(t->session, path, "a");
        tales[i]->then = free_when;
        tales[i]->data = &when[i];
        REQUIRE(zkl_election_start(e[i], tale_event, tales[i]) == 0);
        g_free(path);
    }
    TALE_WAIT(&leading, "leading resigned stopped");
    TALE_WAIT(&resigned, "leading");
    CHECK_INT(zkl_election_yield(e[1]), 0);
    TALE_WAIT(&resigned, "leading resigned stopped");
    TALE_WAIT(&deposed, "leading");
    LIVE_UNTIL(live_watches(t) >= 2);
    REQUIRE(raw_delete(t->admin, deposed.node) == ZOK);
    TALE_WAIT(&deposed, "leading deposed stopped");
    TALE_WAIT(&last, "leading");
    CHECK_INT(zkl_election_resign(e[3]), 0);
    TALE_WAIT(&last, "leading resigned stopped");
    live_end(t);
}

struct hold {
    struct gate gate;
    zkl_election_event at;
};

static void hold_at(zkl_election *e, zkl_election_event event, void *data)
{
    struct hold *hold = data;
    (void)e;
    if (event == hold->at)
        gate_pass(&hold->gate);
}

/* A leader that is still stopping the work of one term does not get the next. */
TEST_CASE(next_campaign_waits_for_the_callback)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    struct hold hold = {GATE_INIT, ZKL_ELECTION_LOST};
    zkl_election *e = election_of(t->session, t->lock, "a");
    tale.then = hold_at;
    tale.data = &hold;
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    TALE_WAIT(&tale, "leading");
    LIVE_UNTIL(live_watches(t) == 1);
    REQUIRE(raw_delete(t->admin, tale.node) == ZOK);
    gate_wait_entered(&hold.gate);
    CHECK_INT(election_status(e).candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(zkl_election_yield(e), ZKL_ELOST);
    CHECK_INT(live_contenders(t, t->lock), 0);
    gate_open(&hold.gate);
    TALE_WAIT(&tale, "leading deposed leading");
    zkl_election_free(e);
    TALE_WAIT(&tale, "leading deposed leading resigned stopped");
    live_end(t);
}

/* Refused by the server: said, tried again, and given up when asked. */
TEST_CASE(failures)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    struct ACL only_read[] = {
        {ZOO_PERM_READ | ZOO_PERM_ADMIN, {(char *)"world", (char *)"anyone"}}};
    struct ACL_vector acl = {1, only_read};
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create_acl(t->admin, t->lock, &acl) == ZOK);
    zkl_election *e = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    TALE_WAIT(&tale, "failed-13");
    zkl_election_status status = election_status(e);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_PAUSED);
    CHECK_INT(status.last.code, ZKL_EACCES);
    CHECK_STR(status.last.path, t->lock);
    TALE_WAIT(&tale, "failed-13 failed-13");
    struct ACL all[] = {{ZOO_PERM_ALL, {(char *)"world", (char *)"anyone"}}};
    REQUIRE(raw_set_acl(t->admin, t->lock, &(struct ACL_vector){1, all}) == ZOK);
    LIVE_UNTIL(tale_ends(&tale, " leading"));
    zkl_election_free(e);
    LIVE_UNTIL(tale_ends(&tale, " resigned stopped"));
    live_end(t);
}
