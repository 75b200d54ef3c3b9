/* Priorities are a courtesy: a leader is asked, a winner lets pass, and only with the option. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

TEST_SUITE(election_priority, .init = live_init);

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

/* One that leads without the option is left alone, and so is who waits for it. */
TEST_CASE(not_without_the_option)
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
