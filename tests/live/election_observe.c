/* What observers are told: every leader that they could see, in order, nothing twice. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(election_observe, .init = live_init);

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
TEST_CASE(proclaimed)
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
TEST_CASE(across_connections)
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

/* ---- the end of observing ---- */

struct held {
    struct gate gate;
    zkl_watch *observer;
    zkl_election *election;
    int calls; /* written in callbacks, read when there are none */
};

static void pass_gate(const zkl_leader *leader, void *data)
{
    struct held *h = data;
    (void)leader;
    gate_pass(&h->gate);
    g_usleep(50 * 1000); /* so that who does not wait is seen not to */
    h->calls++;
}

static void *free_observer(void *data)
{
    struct held *h = data;
    zkl_watch_free(h->observer);
    return NULL;
}

/* A call under way is waited for; what was to be told behind it is not told. */
TEST_CASE(freed_while_told)
{
    struct live *t = live_begin();
    struct held h = {.gate = GATE_INIT};
    pthread_t thread;
    zkl_election *e = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_watch(&h.observer, e, pass_gate, &h) == 0);
    gate_wait_entered(&h.gate);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, NULL) == 0);
    session_settle(t, t->session);
    REQUIRE(pthread_create(&thread, NULL, free_observer, &h) == 0);
    gate_open(&h.gate);
    pthread_join(thread, NULL);
    CHECK(h.calls == 1 || h.calls == 2); /* the second may have begun before */
    int calls = h.calls;
    zkl_election_resign(e);
    session_settle(t, t->session);
    election_settle(t, t->session);
    CHECK_INT(h.calls, calls);
    zkl_election_free(e);
    live_end(t);
}

static void free_both(const zkl_leader *leader, void *data)
{
    struct held *h = data;
    (void)leader;
    gate_pass(&h->gate);
    h->calls++;
    zkl_watch_free(h->observer);
    zkl_election_free(h->election);
}

TEST_CASE(freed_when_told)
{
    struct live *t = live_begin();
    struct held h = {.gate = GATE_INIT};
    h.election = election_of(t->session, t->lock, "a");
    REQUIRE(zkl_election_watch(&h.observer, h.election, free_both, &h) == 0);
    gate_open(&h.gate);
    LIVE_UNTIL(live_watches(t) == 0);
    election_settle(t, t->session);
    CHECK_INT(h.calls, 1);
    live_end(t);
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

/* Refused: said once, tried until it is allowed. */
TEST_CASE(no_permission)
{
    struct live *t = live_begin();
    struct tale tale = TALE_INIT;
    struct ACL blind[] = {
        {ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN, {(char *)"world", (char *)"anyone"}}};
    struct ACL all[] = {{ZOO_PERM_ALL, {(char *)"world", (char *)"anyone"}}};
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create_acl(t->admin, t->lock, &(struct ACL_vector){1, blind}) == ZOK);
    zkl_election *e = election_of(t->session, t->lock, NULL);
    zkl_watch *o = observe(e, &tale);
    LIVE_UNTIL(live_logged(t, "looking for the leader") == 1);
    REQUIRE(raw_set_acl(t->admin, t->lock, &(struct ACL_vector){1, all}) == ZOK);
    TALE_WAIT(&tale, "nobody");
    CHECK_INT(live_logged(t, "looking for the leader"), 1);
    zkl_watch_free(o);
    zkl_election_free(e);
    live_end(t);
}

/* In the user's own loop. */
TEST_CASE(dispatched)
{
    struct live *t = live_begin();
    struct tale events = TALE_INIT, tale = TALE_INIT;
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    options.dispatch = 1;
    zkl_session *s = live_open(t, t->connect, &options);
    zkl_election *e = election_of(s, t->lock, "a");
    zkl_watch *o = observe(e, &tale);
    REQUIRE(zkl_election_start(e, tale_event, &events) == 0);
    LIVE_UNTIL(election_status(e).candidacy == ZKL_CANDIDACY_LEADING);
    CHECK_TALE(&events, "");
    CHECK_TALE(&tale, "");
    LIVE_UNTIL(zkl_session_dispatch(s) == 0 && tale_ends(&tale, "a"));
    CHECK_TALE(&events, "leading");
    CHECK_INT(zkl_election_yield(e), 0);
    LIVE_UNTIL(zkl_session_dispatch(s) == 0 && tale_ends(&events, "leading resigned leading"));
    zkl_watch_free(o);
    zkl_election_free(e);
    LIVE_UNTIL(zkl_session_dispatch(s) == 0 && tale_ends(&events, "stopped"));
    live_end(t);
}
