/* Random walks: whatever comes, in whatever order, the promises hold. */
#include "contend_play.h"
#include "seeded.h"
#include "suites.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { WALK_ATTEMPTS = 8000, WALK_STEPS = 60 };

static struct walk {
    uint64_t seed, random;
    struct event ev;
    struct contend before;
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
        snprintf(text, sizeof(text), "contend_walk: seed %llu\n", (unsigned long long)walk.seed);
    if (write(STDERR_FILENO, text, (size_t)n) < 0)
        _exit(99);
    signal(sig, SIG_DFL);
}

static void random_children(void)
{
    walk.ev.children = walk.children;
    walk.ev.count = below(PLAY_CHILDREN);
    for (uint32_t i = 0; i < walk.ev.count; i++)
        walk.children[i] = (struct child){
            .id = i,
            .kind = below(8) ? CHILD_LOCK : CHILD_FOREIGN,
            .number = below(20) ? (int32_t)below(12) : INT32_MAX,
            .own = below(8) == 0,
            .old = below(16) == 0,
        };
    if (walk.ev.count > 0 && below(10)) /* mostly the own node is there, and often first */
        walk.children[below((uint32_t)walk.ev.count)] =
            (struct child){.id = 7, .kind = CHILD_LOCK, .number = play.c.number, .own = true};
}

/* What is likely to come next, so that the walk gets far. */
static enum event_kind likely_kind(void)
{
    static const enum event_kind holding[] = {EV_TIMER, EV_READ, EV_OWN_FIRED, EV_LAPSED,
                                              EV_RELEASE};
    static const enum event_kind likely[ST_COUNT] = {
        [ST_IDLE] = EV_ENTER,      [ST_CREATING] = EV_CREATED, [ST_PARENTS] = EV_PARENTS_MADE,
        [ST_SETTLING] = EV_LISTED, [ST_ADOPTING] = EV_READ,    [ST_LISTING] = EV_LISTED,
        [ST_WAITING] = EV_WATCHED, [ST_PROVING] = EV_READ,     [ST_CLAIMING] = EV_LEASE,
        [ST_RESETTING] = EV_RESET, [ST_HOLDING] = EV_READ,     [ST_LAPSED] = EV_RELEASE,
        [ST_LEAVING] = EV_CREATED, [ST_DONE] = EV_READ,
    };
    if (play.c.state == ST_SETTLING && play.tags[EV_SYNCED] == play.c.tag)
        return EV_SYNCED;
    if (play.c.state == ST_WAITING && below(2))
        return EV_PRED_FIRED;
    if (play.c.state == ST_HOLDING)
        return holding[below(5)];
    return likely[play.c.state];
}

static void random_event(void)
{
    bool nonsense = below(4) == 0;
    walk.ev = (struct event){
        .kind = nonsense ? (enum event_kind)below(EV_END + 1) : likely_kind(),
        .answer = below(nonsense ? 2 : 8) ? ANSWER_OK : (enum answer)below(ANSWER_BAD + 1),
        .lease = below(8) != 0,
        .gone = below(2),
        .error = PLAY_ERROR,
        .number = below(30) ? (int32_t)below(12) : INT32_MAX - (int32_t)below(2),
        .czxid = 1 + below(1000),
        .owner = PLAY_SESSION,
        .session = PLAY_SESSION + (below(12) == 0),
    };
    walk.ev.tag = play.c.tag;
    if (nonsense && below(2)) /* stale, or never asked for */
        walk.ev.tag -= 1 + below(3);
    if (walk.ev.kind == EV_LISTED)
        random_children();
}

static bool did(enum action_kind kind)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == kind)
            return true;
    return false;
}

/* The session's end takes node and watches; a fired notice or a read tells that the node is gone.
 */
static bool session_ended(void)
{
    return walk.ev.kind == EV_EPOCH || walk.ev.kind == EV_END;
}

static bool own_seen_gone(void)
{
    return (walk.ev.kind == EV_OWN_FIRED && walk.ev.gone) ||
           (walk.ev.kind == EV_READ &&
            (walk.ev.answer == ANSWER_NONODE || walk.ev.owner != walk.ev.session));
}

static bool predecessor_seen_gone(void)
{
    return (walk.ev.kind == EV_PRED_FIRED && walk.ev.gone) ||
           (walk.ev.kind == EV_WATCHED && walk.ev.answer == ANSWER_NONODE);
}

static const char *broken_promise(void)
{
    const struct contend *b = &walk.before, *c = &play.c;
    bool created = walk.ev.kind == EV_CREATED && walk.ev.answer == ANSWER_OK &&
                   (b->state == ST_CREATING || b->state == ST_LEAVING) && walk.ev.tag == b->tag;
    if ((b->has_node || created) && !c->has_node && !did(ACT_DELETE) && !session_ended() &&
        !own_seen_gone())
        return "a node is left behind";
    if (b->watching && !c->watching && !did(ACT_UNWATCH) && !session_ended() &&
        !predecessor_seen_gone())
        return "a watch is left behind";
    if (did(ACT_GRANT) && !walk.ev.lease)
        return "granted without a deadline";
    if (did(ACT_GRANT) && walk.ev.kind != EV_LISTED && walk.ev.kind != EV_READ &&
        walk.ev.kind != EV_LEASE)
        return "granted without a proof";
    if (did(ACT_GRANT) && walk.ev.kind != EV_LEASE && walk.ev.answer != ANSWER_OK)
        return "granted on a failure";
    if (did(ACT_REVOKE) && did(ACT_DELETE))
        return "the node goes before the callbacks";
    if (b->state == ST_LAPSED && did(ACT_DELETE) && walk.ev.kind != EV_RELEASE)
        return "the node goes while the callbacks run";
    return NULL;
}

static bool walk_one_step(void)
{
    walk.before = play.c;
    play_give(&walk.ev, __FILE__, __LINE__);
    const char *broken = broken_promise();
    if (broken)
        runner_fail(__FILE__, __LINE__, "seed %llu: %s: event %d in %s: %s",
                    (unsigned long long)walk.seed, broken, (int)walk.ev.kind,
                    contend_state_name(walk.before.state), play_actions());
    return !broken;
}

/* From everywhere, giving up and what must follow leads to the end. */
static void walk_to_the_end(void)
{
    static const enum event_kind ends[] = {EV_ENTER, EV_ABORT, EV_RELEASE, EV_EPOCH};
    for (size_t i = 0; i < 4; i++) {
        walk.ev = (struct event){.kind = ends[i], .error = PLAY_ERROR};
        walk_one_step();
    }
    if (!CHECK_INT(play.c.state, ST_DONE) || !CHECK_INT(play.grants + play.fails, 1) ||
        !CHECK(play.revokes <= play.grants))
        runner_fail(__FILE__, __LINE__, "seed %llu", (unsigned long long)walk.seed);
}

static void random_walk(void)
{
    unsigned reached[ST_COUNT] = {0};
    unsigned long steps = 0;
    void (*old)(int) = signal(SIGABRT, on_abort_signal);
    for (walk.seed = 1; walk.seed <= WALK_ATTEMPTS; walk.seed++) {
        walk.random = walk.seed;
        play_start(walk.seed % 5 == 0);
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
        if (!CHECK(reached[s] > 100)) /* a walk that does not get there says nothing */
            runner_fail(__FILE__, __LINE__, "%s: %u", contend_state_name((enum contend_state)s),
                        reached[s]);
}

static const struct test_case cases[] = {
    {"random_walk", random_walk},
    {NULL, NULL},
};

const struct test_suite contend_walk_suite = {.name = "contend_walk", .cases = cases};
