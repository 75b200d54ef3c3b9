/* Priorities are a courtesy: a leader is asked, a winner lets pass, and only with the option. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "suites.h"

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

static void a_leader_is_asked(void)
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

/* One that leads without the option is left alone, and so is who waits for it. */
static void not_without_the_option(void)
{
    struct live *t = live_begin();
    struct tale low = TALE_INIT, high = TALE_INIT;
    zkl_election *l = candidate(t, "low", 0, 0), *h = candidate(t, "high", 9, 0);
    election_queue(t, l, &low, t->lock, 1);
    TALE_WAIT(&low, "leading");
    election_queue(t, h, &high, t->lock, 2);
    LIVE_UNTIL(election_status(h).ahead == 1);
    LIVE_UNTIL(live_watches(t) ==
               2); /* one node by its owner and who waits, whose own; no children */
    election_settle(t, t->session);
    CHECK_TALE(&low, "leading");
    zkl_election_free(l);
    TALE_WAIT(&high, "leading");
    zkl_election_free(h);
    TALE_WAIT(&high, "leading resigned stopped");
    live_end(t);
}

/* A winner that finds a higher one waiting never led: nothing is told of it. */
static void a_winner_lets_pass(void)
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

static void note_time(zkl_election *e, zkl_election_event event, void *asked_us)
{
    (void)e;
    if (event == ZKL_ELECTION_ASKED)
        *(int64_t *)asked_us = g_get_monotonic_time();
}

enum { MIN_TERM_MS = 400, MAX_TERM_MS = 300 };

/* Waiting since the beginning, told when the least is over; once a term. */
static void min_term(void)
{
    struct live *t = live_begin();
    struct tale low = TALE_INIT, high = TALE_INIT;
    int64_t asked_us = 0;
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    o.yield = 1;
    o.min_term_ms = MIN_TERM_MS;
    zkl_election *l = election_with(t->session, t->lock, "low", &o),
                 *h = candidate(t, "high", 1, 1);
    low.then = note_time;
    low.data = &asked_us;
    int64_t begun = g_get_monotonic_time();
    election_queue(t, l, &low, t->lock, 1);
    TALE_WAIT(&low, "leading"); /* or it might let the other pass without having led */
    REQUIRE(zkl_election_start(h, tale_event, &high) == 0);
    TALE_WAIT(&low, "leading asked");
    CHECK(asked_us - begun >= MIN_TERM_MS * 1000);
    CHECK_INT(zkl_election_yield(l), 0);
    TALE_WAIT(&high, "leading");
    zkl_election_free(h);
    TALE_WAIT(&low, "leading asked resigned leading");
    zkl_election_free(l);
    TALE_WAIT(&low, "leading asked resigned leading resigned stopped");
    live_end(t);
}

/* Alone it may go on; with another, of whatever priority, it is asked: the one already there when
 * the time comes, or who comes later. */
static void max_term(void)
{
    struct live *t = live_begin();
    struct tale first = TALE_INIT, second = TALE_INIT;
    int64_t asked_us = 0;
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    o.max_term_ms = MAX_TERM_MS;
    zkl_election *e = election_with(t->session, t->lock, "a", &o), *f = candidate(t, "b", 0, 0);
    first.then = note_time;
    first.data = &asked_us;
    int64_t begun = g_get_monotonic_time();
    election_queue(t, e, &first, t->lock, 1);
    LIVE_UNTIL(live_watches(t) == 2); /* its own node, and from then on the children */
    CHECK(g_get_monotonic_time() - begun >= MAX_TERM_MS * 1000);
    CHECK_TALE(&first, "leading");
    REQUIRE(zkl_election_start(f, tale_event, &second) == 0);
    TALE_WAIT(&first, "leading asked");
    CHECK_INT(zkl_election_yield(e), 0);
    TALE_WAIT(&second, "leading");
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    begun = g_get_monotonic_time();
    zkl_election_yield(f);
    TALE_WAIT(&first, "leading asked resigned leading asked");
    CHECK(asked_us - begun >= MAX_TERM_MS * 1000);
    zkl_election_free(e);
    zkl_election_free(f);
    LIVE_UNTIL(tale_ends(&first, "stopped") && tale_ends(&second, "stopped"));
    live_end(t);
}

static const struct test_case cases[] = {
    {"a_leader_is_asked", a_leader_is_asked},
    {"not_without_the_option", not_without_the_option},
    {"a_winner_lets_pass", a_winner_lets_pass},
    {"min_term", min_term},
    {"max_term", max_term},
    {NULL, NULL},
};
const struct test_suite election_priority_suite = {"election_priority", live_init, NULL, cases};
