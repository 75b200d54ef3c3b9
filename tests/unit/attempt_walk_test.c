/* Random walks: whatever comes, in whatever order, the promises hold. */
#include "attempt_promises.h"
#include "rule.h"
#include "seeded.h"
#include "suites.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { WALK_ATTEMPTS = 10000, WALK_STEPS = 60 };

static struct walk {
    uint64_t seed, random;
    struct event ev;
    struct child children[PLAY_CHILDREN];
} walk;

static uint32_t below(uint32_t n)
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

static enum rule random_rule(void)
{
    static const enum rule shared[] = {RULE_READ, RULE_WRITE};

    /* It takes three lists to be first in line. */
    if (below(play.c.rule == RULE_LEASE ? 32 : 8) == 0)
        return below(2) ? RULE_NONE : RULE_LATCH;
    if (play.c.rule == RULE_LEASE)
        return RULE_LEASE;
    return rule_kind(play.c.rule) == CHILD_LOCK || below(8) == 0 ? RULE_LOCK : shared[below(2)];
}

static void random_children(void)
{
    walk.ev.children = walk.children;
    walk.ev.count = below(PLAY_CHILDREN);
    for (uint32_t i = 0; i < walk.ev.count; i++)
        walk.children[i] = (struct child){
            .id = i,
            .rule = random_rule(),
            .number = below(20) ? (int32_t)below(12) : INT32_MAX,
            .own = below(8) == 0,
            .old = below(16) == 0,
            .retains = below(2),
            .permits = 1 + below(3),
        };
    for (uint32_t i = 0; i < walk.ev.count; i++)
        walk.children[i].kind = rule_kind(walk.children[i].rule);
    if (walk.ev.count > 0 && below(10)) /* mostly the own node is there, and often first */
        walk.children[below((uint32_t)walk.ev.count)] = (struct child){
            .id = 7, .kind = rule_kind(play.c.rule), .number = play.c.number, .own = true};
}

static void random_event(void)
{
    bool nonsense = below(4) == 0;
    walk.ev = (struct event){
        .kind = nonsense ? (enum event_kind)below(EV_END + 1) : promises_likely(below(10)),
        .answer = below(nonsense ? 2 : 8) ? ANSWER_OK : (enum answer)below(ANSWER_BAD + 1),
        .in_time = below(8) != 0,
        .gone = below(2),
        .error = PLAY_ERROR,
        .number = below(30) ? (int32_t)below(12) : INT32_MAX - (int32_t)below(2),
        .czxid = 1 + below(1000),
        .ephemeral_owner = PLAY_SESSION,
        .session = PLAY_SESSION + (below(12) == 0),
        .connection = below(10) == 0,
    };
    if (walk.ev.kind == EV_WATCHED)
        walk.ev.ephemeral_owner -= below(2);
    walk.ev.hint = (enum head_hint)below(HINT_NAMED + 1);
    walk.ev.version = (int32_t)below(3);
    walk.ev.tag = play.c.tag;
    if (nonsense && below(2)) /* stale, or never asked for */
        walk.ev.tag -= 1 + below(3);
    if (walk.ev.kind == EV_LISTED && play.c.looking && below(4))
        walk.ev.tag = ATTEMPT_LOOK_TAG;
    if (walk.ev.kind == EV_LIMIT_READ && play.c.looking && below(4))
        walk.ev.tag = ATTEMPT_LOOK_TAG;
    walk.ev.watched = below(play.c.first ? 8 : 2) > 0;
    walk.ev.limit = below(30) ? (int32_t)(4 + below(5)) : 0;
    walk.ev.data_zxid = below(8) ? play.c.limit_zxid : below(500);
    if (walk.ev.kind == EV_LISTED)
        random_children();
    else if (walk.ev.kind == EV_HINT_READ)
        walk.ev.count = below(PLAY_CHILDREN);
}

static void fail_walk(const char *broken)
{
    runner_fail(__FILE__, __LINE__, "seed %llu: %s: event %d, now %s: %s",
                (unsigned long long)walk.seed, broken, (int)walk.ev.kind,
                attempt_state_name(play.c.state), play_actions());
}

static bool walk_one_step(void)
{
    const char *broken = promises_give(&walk.ev);
    if (broken)
        fail_walk(broken);
    return !broken;
}

static void walk_to_the_end(void)
{
    const char *broken = promises_end();
    if (broken)
        fail_walk(broken);
}

/* Whose semaphore: ours, or Curator's, where all children count. */
enum walkers { LOCKS, PERMITS, LEASES };

static void start(enum walkers who)
{
    static const enum rule rules[] = {RULE_LOCK, RULE_READ, RULE_LOCK, RULE_WRITE};

    if (who == PERMITS)
        play_start_permits((uint32_t)(1 + walk.seed % 4), walk.seed % 5 == 0);
    else if (who == LEASES)
        play_start_lease(walk.seed % 5 == 0);
    else
        play_start_as(rules[walk.seed % 4], walk.seed % 5 == 0);
    play.c.strict = who != LEASES && walk.seed % 7 == 0;
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
        start(who);
        for (int i = 0; i < WALK_STEPS; i++, steps++) {
            random_event();
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

static void random_walk(void)
{
    walk_as(LOCKS);
}

static void random_walk_of_a_lease(void)
{
    walk_as(PERMITS);
}

static void random_walk_in_curators_layout(void)
{
    walk_as(LEASES);
}

static const struct test_case cases[] = {
    {"random_walk", random_walk},
    {"random_walk_of_a_lease", random_walk_of_a_lease},
    {"random_walk_in_curators_layout", random_walk_in_curators_layout},
    {NULL, NULL},
};

const struct test_suite attempt_walk_suite = {.name = "attempt_walk", .cases = cases};
