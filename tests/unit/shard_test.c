/* What a host does about a shard; and what several hosts do about one, by a model of its lock. */
#include "recipes/back_off.h"
#include "recipes/shard.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(shard);

enum { DRAIN = 4000, DOUBT = 6000 };

/* A plan and what it is told, a step after the other. */
struct play {
    struct shard_plan plan;
    struct shard_facts facts;
    int64_t due;
};

static struct play begin(void)
{
    return (struct play){.facts = {.now = 100000,
                                   .confirmed = true,
                                   .confirmed_since = 100000,
                                   .member_until = INT64_MAX,
                                   .drain_ms = DRAIN,
                                   .doubt_ms = DOUBT}};
}

static enum shard_act step(struct play *p, int64_t after)
{
    p->facts.now += after;
    const enum shard_act act = shard_step(&p->plan, &p->facts, &p->due);

    CHECK(shard_invariant(&p->plan));
    CHECK(p->due > p->facts.now); /* nothing is due again at once */
    return act;
}

static struct play hold(void)
{
    struct play p = begin();

    p.facts.owned = true;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(step(&p, SHARD_SETTLE_MS), SHARD_SEEK);
    p.facts.granted = true;
    CHECK_INT(step(&p, 10), SHARD_REST);
    CHECK_INT(p.plan.state, SHARD_HELD);
    return p;
}

TEST_CASE(seeks_when_the_view_has_settled)
{
    struct play p = begin();

    CHECK_INT(step(&p, 10000), SHARD_REST);
    p.facts.owned = true;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(p.due, p.facts.now + SHARD_SETTLE_MS);
    CHECK_INT(step(&p, SHARD_SETTLE_MS - 1), SHARD_REST);
    p.facts.owned = false;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(p.due, INT64_MAX);
    p.facts.owned = true;
    CHECK_INT(step(&p, 1), SHARD_REST); /* anew */
    p.facts.confirmed = false;
    CHECK_INT(step(&p, SHARD_SETTLE_MS), SHARD_REST);
    p.facts.confirmed = true;
    p.facts.confirmed_since = p.facts.now;
    CHECK_INT(step(&p, 1), SHARD_REST); /* and again */
    CHECK_INT(step(&p, SHARD_SETTLE_MS - 1), SHARD_SEEK);
    CHECK_INT(step(&p, 0), SHARD_REST); /* once */
}

/* Nobody looks while there is nothing new. */
TEST_CASE(a_view_settles_anew_behind_a_long_doubt)
{
    struct play p = begin();

    p.facts.owned = true;
    CHECK_INT(step(&p, 0), SHARD_REST);
    p.facts.confirmed = false;
    CHECK_INT(step(&p, 1), SHARD_REST);
    p.facts.now += 100000;
    p.facts.confirmed = true;
    p.facts.confirmed_since = p.facts.now;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(p.due, p.facts.now + SHARD_SETTLE_MS);
    CHECK_INT(step(&p, SHARD_SETTLE_MS), SHARD_SEEK);
}

TEST_CASE(no_longer_seeks_what_another_owns)
{
    struct play p = begin();

    p.facts.owned = true;
    step(&p, 0);
    CHECK_INT(step(&p, SHARD_SETTLE_MS), SHARD_SEEK);
    p.facts.confirmed = p.facts.owned = false;
    CHECK_INT(step(&p, 1000), SHARD_REST); /* nobody knows */
    p.facts.confirmed = true;
    CHECK_INT(step(&p, 0), SHARD_STOP);
    shard_ended(&p.plan, true, p.facts.now);
    CHECK_INT(p.plan.pause_ms, 0); /* it was asked to */
}

/* What a look that begins now finds. */
static void look_finds(struct play *p, bool waits)
{
    p->facts.looked_at = p->facts.now;
    p->facts.waits = waits;
}

TEST_CASE(keeps_what_nobody_asks_for)
{
    struct play p = hold();

    p.facts.owned = false;
    CHECK_INT(step(&p, 100000), SHARD_REST);
    CHECK_INT(p.due, INT64_MAX);
    p.facts.wanted = true;
    CHECK_INT(step(&p, 0), SHARD_LOOK);
    look_finds(&p, true);
    CHECK_INT(step(&p, 5), SHARD_STOP);
    CHECK_INT(p.due, p.facts.now + DRAIN);
}

/* Somebody has asked, and is gone when another one should have it. */
TEST_CASE(looks_until_somebody_waits)
{
    struct play p = hold();

    p.facts.wanted = true;
    CHECK_INT(step(&p, 100), SHARD_REST);
    p.facts.owned = false;
    CHECK_INT(step(&p, 100), SHARD_LOOK);
    CHECK_INT(p.due, INT64_MAX);
    CHECK_INT(step(&p, 100000), SHARD_REST); /* no answer yet */
    look_finds(&p, false);
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(p.due, p.facts.now + SHARD_LOOK_MS);
    CHECK_INT(step(&p, SHARD_LOOK_MS - 1), SHARD_REST);
    CHECK_INT(step(&p, 1), SHARD_LOOK);
    CHECK_INT(step(&p, 0), SHARD_REST); /* that answer was another look's */
    look_finds(&p, true);
    CHECK_INT(step(&p, 0), SHARD_STOP);
}

TEST_CASE(an_answer_of_before_does_not_count)
{
    struct play p = hold();

    p.facts.wanted = true;
    p.facts.owned = false;
    CHECK_INT(step(&p, 100), SHARD_LOOK);
    look_finds(&p, true);
    p.facts.owned = true; /* it is ours again */
    CHECK_INT(step(&p, 1), SHARD_REST);
    p.facts.owned = false;
    CHECK_INT(step(&p, 1), SHARD_LOOK);
    CHECK_INT(step(&p, 1), SHARD_REST);
    look_finds(&p, true);
    p.facts.confirmed_since = p.facts.now + 1; /* it was gone, and is there again */
    CHECK_INT(step(&p, 1), SHARD_LOOK);
}

/* What it comes to, when the look has ended. */
TEST_CASE(keeps_or_gives_up)
{
    static const struct {
        bool owned, confirmed, past, wanted, waits;
        enum shard_act act;
    } rows[] = {
        /* ours by the view | it has us | its deadline is past | one has come | one waits */
        {true, true, false, true, true, SHARD_REST},
        {true, true, true, false, false, SHARD_REST},
        {true, true, true, true, false, SHARD_REST},
        {true, true, true, true, true, SHARD_STOP},
        {false, true, false, false, true, SHARD_REST}, /* not heard of yet */
        {false, true, false, true, false, SHARD_REST},
        {false, true, false, true, true, SHARD_STOP},
        {false, true, true, true, true, SHARD_STOP},
        {true, false, false, true, true, SHARD_REST}, /* the doubt is young */
        {false, false, false, true, true, SHARD_REST},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct play p = hold();
        p.facts.owned = rows[i].owned;
        p.facts.confirmed = rows[i].confirmed;
        p.facts.confirmed_since = p.facts.confirmed ? p.facts.confirmed_since : p.facts.now;
        p.facts.member_until = p.facts.now + (rows[i].past ? 0 : 1000);
        p.facts.wanted = rows[i].wanted;
        enum shard_act act = step(&p, 10);
        if (act == SHARD_LOOK) {
            look_finds(&p, rows[i].waits);
            act = step(&p, 10);
        }
        if (!CHECK_INT(act, rows[i].act))
            runner_fail(__FILE__, __LINE__, "row %d", (int)i);
    }
}

/* It was stopped, say: others have seen it gone. */
TEST_CASE(past_the_deadline_of_its_membership_it_seeks_nothing)
{
    struct play p = begin();

    p.facts.owned = true;
    p.facts.member_until = p.facts.now + 2000;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK_INT(step(&p, 2000), SHARD_REST);
    CHECK_INT(p.due, p.facts.now + SHARD_SETTLE_MS);
    CHECK_INT(step(&p, SHARD_SETTLE_MS), SHARD_REST);
    p.facts.member_until = p.facts.now + 2000;
    CHECK_INT(step(&p, 0), SHARD_SEEK);
}

TEST_CASE(keeps_what_is_its_own)
{
    struct play p = hold();

    p.facts.wanted = true; /* by somebody with an older view, who will leave */
    CHECK_INT(step(&p, 100000), SHARD_REST);
    p.facts.owned = false;
    CHECK_INT(step(&p, 0), SHARD_LOOK);
}

TEST_CASE(gives_way_to_a_request_by_name)
{
    struct play p = hold();

    p.facts.revoked = true;
    CHECK_INT(step(&p, 0), SHARD_STOP);
}

TEST_CASE(unconfirmed_gives_up_when_others_must_have_seen_it_gone)
{
    struct play p = hold();

    p.facts.confirmed = false;
    p.facts.confirmed_since = p.facts.now;
    CHECK_INT(step(&p, 2 * DOUBT), SHARD_REST); /* nobody asks */
    p.facts.confirmed_since = p.facts.now;
    p.facts.wanted = true;
    CHECK_INT(step(&p, DOUBT - 1), SHARD_REST);
    CHECK_INT(p.due, p.facts.now + 1);
    CHECK_INT(step(&p, 1), SHARD_LOOK);
    look_finds(&p, true);
    CHECK_INT(step(&p, 0), SHARD_STOP);
}

TEST_CASE(drains_for_so_long_at_most)
{
    struct play p = hold();

    p.facts.stop = true;
    CHECK_INT(step(&p, 0), SHARD_STOP);
    CHECK_INT(step(&p, DRAIN - 1), SHARD_REST);
    CHECK_INT(step(&p, 1), SHARD_KILL);
    CHECK_INT(step(&p, 100000), SHARD_REST);
    shard_ended(&p.plan, true, p.facts.now);
    CHECK_INT(step(&p, 100000), SHARD_REST); /* the host ends */
    p = hold();
    p.facts.stop = true;
    CHECK_INT(step(&p, 0), SHARD_STOP);
    p.facts.hurry = true;
    CHECK_INT(step(&p, 1), SHARD_KILL);
}

/* A program is never killed for being slow. */
TEST_CASE(drains_without_a_limit)
{
    struct play p = hold();

    p.facts.drain_ms = SHARD_DRAIN_FOREVER;
    p.facts.stop = true;
    CHECK_INT(step(&p, 0), SHARD_STOP);
    CHECK(p.due > SHARD_DRAIN_FOREVER);
    CHECK_INT(step(&p, INT64_C(1) << 50), SHARD_REST);
    CHECK_INT(p.plan.state, SHARD_ENDING);
}

TEST_CASE(moves_only_so)
{
    static const enum shard_state moves[][2] = {
        {SHARD_OUT, SHARD_SEEKING}, {SHARD_SEEKING, SHARD_HELD},  {SHARD_SEEKING, SHARD_ENDING},
        {SHARD_HELD, SHARD_ENDING}, {SHARD_ENDING, SHARD_KILLED}, {SHARD_SEEKING, SHARD_OUT},
        {SHARD_HELD, SHARD_OUT},    {SHARD_ENDING, SHARD_OUT},    {SHARD_KILLED, SHARD_OUT}};
    size_t allowed = 0;

    for (int from = 0; from <= SHARD_STATES; from++)
        for (int to = 0; to <= SHARD_STATES; to++)
            allowed += shard_may_move((enum shard_state)from, (enum shard_state)to);
    CHECK_INT(allowed, G_N_ELEMENTS(moves));
    for (size_t i = 0; i < G_N_ELEMENTS(moves); i++)
        CHECK(shard_may_move(moves[i][0], moves[i][1]));
}

/* Each that does not hold is broken by one thing. */
TEST_CASE(invariant)
{
    static const struct {
        struct shard_plan plan;
        bool holds;
    } rows[] = {
        {{.state = SHARD_OUT, .mine = true, .pause_ms = BACK_OFF_LAST_MS}, true},
        {{.state = SHARD_HELD, .held_at = 1, .asked_at = 2}, true},
        {{.state = SHARD_ENDING, .held_at = 1, .kill_at = 2}, true},
        {{.state = SHARD_ENDING, .kill_at = 2}, true}, /* it was seeking */
        {{.state = SHARD_KILLED, .held_at = 1}, true},
        {{.state = SHARD_STATES}, false},
        {{.state = SHARD_SEEKING, .kill_at = 2}, false},
        {{.state = SHARD_ENDING, .held_at = 1}, false},
        {{.state = SHARD_SEEKING, .held_at = 1}, false},
        {{.state = SHARD_HELD}, false},
        {{.state = SHARD_OUT, .pause_ms = -1}, false},
        {{.state = SHARD_OUT, .pause_ms = BACK_OFF_LAST_MS + 1}, false},
        {{.state = SHARD_SEEKING, .asked_at = 2}, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!CHECK_INT(shard_invariant(&rows[i].plan), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
}

TEST_CASE(pauses_after_failures)
{
    static const int64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct play p = hold();

    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        shard_ended(&p.plan, true, p.facts.now);
        CHECK(shard_invariant(&p.plan));
        CHECK_INT(p.plan.pause_ms, pauses[i]);
        p.facts.granted = false;
        CHECK_INT(step(&p, pauses[i] - 1), SHARD_REST);
        CHECK(shard_is_paused(&p.plan));
        CHECK_INT(step(&p, 1), SHARD_SEEK);
        CHECK(!shard_is_paused(&p.plan));
        p.facts.granted = true;
        CHECK_INT(step(&p, 10), SHARD_REST);
    }
    step(&p, BACK_OFF_LAST_MS);
    shard_ended(&p.plan, true, p.facts.now);
    CHECK_INT(p.plan.pause_ms, BACK_OFF_FIRST_MS); /* it has worked for a while */
    p.facts.owned = false;
    CHECK_INT(step(&p, 0), SHARD_REST);
    CHECK(!shard_is_paused(&p.plan)); /* another one's */
    p = hold();
    shard_ended(&p.plan, false, p.facts.now);
    CHECK_INT(p.plan.pause_ms, 0); /* lost: at once */
    CHECK(!shard_is_paused(&p.plan));
}

/* ---- several hosts and one shard ---- */

enum { HOSTS = 4, LINE = 8 };

struct model {
    struct play hosts[HOSTS];
    int line[LINE], waiting; /* the lock's contenders, in order */
    int owner;               /* by the members that there are */
    int holder, moves;
    int64_t ends_at[HOSTS]; /* when its process ends that was asked to; 0: it was not */
};

static void leave(struct model *m, int host)
{
    int left = 0;

    for (int i = 0; i < m->waiting; i++)
        if (m->line[i] != host)
            m->line[left++] = m->line[i];
    m->waiting = left;
    m->ends_at[host] = 0;
    m->hosts[host].facts.granted = m->hosts[host].facts.wanted = false;
    m->hosts[host].facts.looked_at = 0;
    shard_ended(&m->hosts[host].plan, false, m->hosts[host].facts.now);
}

/* The lock's own doing. */
static void grant(struct model *m)
{
    if (m->waiting == 0)
        return;
    struct play *first = &m->hosts[m->line[0]];
    first->facts.granted = true;
    if (m->waiting > 1)
        first->facts.wanted = true;
    m->moves += m->holder != m->line[0];
    m->holder = m->line[0];
}

static void act(struct model *m, int host, int64_t now, GRand *rand)
{
    struct play *p = &m->hosts[host];

    p->facts.now = now;
    switch (step(p, 0)) {
    case SHARD_SEEK:
        m->line[m->waiting++] = host;
        break;
    case SHARD_LOOK:
        look_finds(p, m->waiting > 1);
        break;
    case SHARD_STOP:
        m->ends_at[host] = now + g_rand_int_range(rand, 1, 2 * DRAIN);
        break;
    case SHARD_KILL:
        m->ends_at[host] = now + 1;
        break;
    default:
        break;
    }
    if (m->ends_at[host] != 0 && now >= m->ends_at[host])
        leave(m, host);
}

/* A host hears of the owner when it does. */
static void tell(struct model *m, int host, bool confirmed)
{
    struct shard_facts *f = &m->hosts[host].facts;

    if (confirmed != f->confirmed)
        f->confirmed_since = f->now;
    f->confirmed = confirmed;
    if (confirmed)
        f->owned = m->owner == host;
}

static void turn(struct model *m, int64_t now, GRand *rand)
{
    for (int host = 0; host < HOSTS; host++)
        act(m, host, now, rand);
    grant(m);
    CHECK(m->waiting <= HOSTS);
}

TEST_CASE(hosts_agree_in_the_end)
{
    for (guint32 seed = 1; seed <= 50; seed++) {
        GRand *rand = g_rand_new_with_seed(seed);
        struct model m = {.holder = -1};
        int64_t now = 100000;
        for (int host = 0; host < HOSTS; host++)
            m.hosts[host] = begin();
        for (int i = 0; i < 2000; i++, now += 20) {
            if (g_rand_int_range(rand, 0, 100) == 0)
                m.owner = g_rand_int_range(rand, 0, HOSTS);
            if (g_rand_int_range(rand, 0, 10) == 0)
                tell(&m, g_rand_int_range(rand, 0, HOSTS), g_rand_int_range(rand, 0, 4) > 0);
            turn(&m, now, rand);
        }
        for (int host = 0; host < HOSTS; host++)
            tell(&m, host, true);
        for (int i = 0; i < 2000; i++, now += 20)
            turn(&m, now, rand);
        CHECK(m.waiting == 1 && m.line[0] == m.owner);
        CHECK_INT(m.hosts[m.owner].plan.state, SHARD_HELD);
        const int moves = m.moves;
        for (int i = 0; i < 2000; i++, now += 20)
            turn(&m, now, rand);
        CHECK_INT(m.moves, moves); /* and it stays there */
        g_rand_free(rand);
    }
}
