/* Random walks: whatever comes, in whatever order, the promises hold. */
#include "attempt_play.h"
#include "rule.h"
#include "runner.h"
#include "seeded.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

TEST_SUITE(attempt_walk);

enum { WALK_ATTEMPTS = 10000, WALK_STEPS = 60 };

static struct walk {
    uint64_t seed, random;
    struct play_event h;
    struct child children[PLAY_CHILDREN];
} walk;

static uint32_t walk_below(uint32_t n)
{
    return seeded_below(&walk.random, n);
}

static void on_abort_signal(int sig) /* an assertion of the code says nothing of the seed */
{
    char text[64];
    int n =
        snprintf(text, sizeof(text), "attempt_walk: seed %llu\n", (unsigned long long)walk.seed);
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        _exit(99);
    signal(sig, SIG_DFL);
}

static enum rule walk_rule(void)
{
    static const enum rule shared[] = {RULE_READ, RULE_WRITE};

    /* It takes three lists to be first in line. */
    if (walk_below(play.c.rule == RULE_LEASE ? 32 : 8) == 0)
        return walk_below(2) ? RULE_NONE : RULE_LATCH;
    if (play.c.rule == RULE_LEASE)
        return RULE_LEASE;
    return rule_kind(play.c.rule) == CHILD_LOCK || walk_below(8) == 0 ? RULE_LOCK
                                                                      : shared[walk_below(2)];
}

static void walk_children(void)
{
    uint32_t count = walk_below(PLAY_CHILDREN);

    walk.h.m.children = walk.children;
    walk.h.ev.count = count;
    for (uint32_t i = 0; i < count; i++)
        walk.children[i] = (struct child){
            .id = i,
            .rule = walk_rule(),
            .number = walk_below(20) ? (int32_t)walk_below(12) : INT32_MAX,
            .own = walk_below(8) == 0,
            .old = walk_below(16) == 0,
            .retains = walk_below(2),
            .permits = 1 + walk_below(3),
        };
    for (uint32_t i = 0; i < count; i++)
        walk.children[i].kind = rule_kind(walk.children[i].rule);
    if (count > 0 && walk_below(10)) /* mostly the own node is there, and often first */
        walk.children[walk_below(count)] = (struct child){
            .id = 7, .kind = rule_kind(play.c.rule), .number = play.c.number, .own = true};
}

static enum store_rc walk_answer(bool nonsense)
{
    const enum store_rc rc = (enum store_rc)walk_below(STORE_LIMIT + 1);

    return walk_below(nonsense ? 2 : 8) || !promises_may_answer(walk.h.row, rc) ? walk.h.ev.rc : rc;
}

/* What only some answers have. */
static void walk_details(void)
{
    const enum play_row row = walk.h.row;

    walk.h.ev.watched =
        row < PLAY_ANSWERS && play.asked[row].watch && walk_below(play.c.first ? 8 : 2) > 0;
    walk.h.ev.mzxid = walk_below(8) ? walk.h.ev.mzxid : walk_below(500);
    if (row == PLAY_LISTED || row == PLAY_LOOKED)
        walk_children();
    else if (row == PLAY_HINT)
        walk.h.ev.count = walk_below(PLAY_CHILDREN);
    else if (row == PLAY_DIRECTORY)
        walk.h.ev.count = walk_below(4) == 0;
    else if (row == PLAY_ABOVE)
        walk.h.ev.node += walk_below(2);
    else if (row == PLAY_LIMITED || row == PLAY_LIMITED_LOOK)
        walk.h.ev.length = walk_below(8) > 0;
    walk.h.m.limit = walk_below(30) ? (int32_t)(4 + walk_below(5)) : 0;
}

static void walk_event(void)
{
    const bool nonsense = walk_below(4) == 0;

    walk.h = play_event_of(nonsense ? (enum play_row)walk_below(PLAY_ROWS)
                                    : promises_likely(walk_below(10)));
    walk.h.ev.rc = walk_answer(nonsense);
    walk.h.ev.gone = walk_below(2);
    walk.h.ev.czxid = 1 + walk_below(1000);
    walk.h.ev.own = walk_below(12) != 0;
    walk.h.ev.version = (int32_t)walk_below(3);
    walk.h.m.now += INT64_C(1000000);
    walk.h.m.in_time = walk_below(8) != 0;
    walk.h.m.number = walk_below(30) ? (int32_t)walk_below(12) : INT32_MAX - (int32_t)walk_below(2);
    walk.h.m.connection = walk_below(10) ? 1 : walk_below(3);
    walk.h.m.hint = (enum head_hint)walk_below(HINT_NAMED + 1);
    walk.h.m.container = walk_below(4) > 0;
    walk.h.m.unused = walk_below(4) > 0;
    if (walk.h.row == PLAY_WATCHED)
        walk.h.ev.own = walk_below(2);
    if (nonsense && walk_below(2))
        walk.h.to.question -= 1 + walk_below(3);
    walk_details();
}

static void walk_fail(const char *broken)
{
    runner_fail(__FILE__, __LINE__, "seed %llu: %s: event %d, now %s: %s",
                (unsigned long long)walk.seed, broken, (int)walk.h.row,
                attempt_state_name(play.c.state), play_actions());
}

static bool walk_one_step(void)
{
    const char *broken = promises_give(&walk.h);
    if (broken)
        walk_fail(broken);
    return !broken;
}

static void walk_to_the_end(void)
{
    const char *broken = promises_end();
    if (broken)
        walk_fail(broken);
}

/* PERMITS are those of our semaphore; LEASES are Curator's, where all children count. */
enum walkers { LOCKS, PERMITS, LEASES };

static void walk_start(enum walkers who)
{
    static const enum rule rules[] = {RULE_LOCK, RULE_READ, RULE_LOCK, RULE_WRITE};

    if (who == PERMITS)
        play_start_permits((uint32_t)(1 + walk.seed % 4), walk.seed % 5 == 0);
    else if (who == LEASES)
        play_start_lease(walk.seed % 5 == 0);
    else
        play_start_as(rules[walk.seed % 4], walk.seed % 5 == 0);
    play.c.strict = who != LEASES && walk.seed % 7 == 0;
    play.parents = (uint32_t)(walk.seed % 3);
    if (who == PERMITS && walk.seed % 2)
        play.c.limit_zxid = 0;
    if (who != LOCKS)
        return;
    play.c.long_queue = (uint32_t)(walk.seed % 4);
    play.c.watch_children = walk.seed % 2;
}

static void walk_as(enum walkers who)
{
    /* What is of another kind. */
    const int never = who == LOCKS ? ST_FIRST : ST_SUCCEEDING,
              nor = who == LEASES ? ST_WAITING : never;
    unsigned reached[ST_COUNT] = {0};
    unsigned long steps = 0;
    void (*old)(int) = signal(SIGABRT, on_abort_signal);
    for (walk.seed = 1; walk.seed <= WALK_ATTEMPTS; walk.seed++) {
        walk.random = walk.seed;
        walk_start(who);
        for (int i = 0; i < WALK_STEPS; i++, steps++) {
            walk_event();
            if (!walk_one_step())
                break;
            reached[play.c.state]++;
        }
        walk_to_the_end();
    }
    signal(SIGABRT, old);
    CHECK(steps >= 200000);
    for (int s = 0; s < ST_COUNT; s++)
        if (!CHECK(s == never || s == nor ||
                   reached[s] > 100)) /* a walk that does not get there says nothing */
            runner_fail(__FILE__, __LINE__, "%s: %u", attempt_state_name((enum attempt_state)s),
                        reached[s]);
}

TEST_CASE(random_walk)
{
    walk_as(LOCKS);
}

TEST_CASE(random_walk_of_a_lease)
{
    walk_as(PERMITS);
}

TEST_CASE(random_walk_in_curators_layout)
{
    walk_as(LEASES);
}
