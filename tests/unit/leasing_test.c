/* A permit in Curator's layout: lock, lease, check, and what is left when one of them fails. */
#include "leasing.h"

#include "suites.h"

#include <string.h>

static struct leasing l;
static struct leasing_actions out;

static const char *actions(void)
{
    static const char *const words[] = {
        [LEASING_ACT_LOCK] = "lock",   [LEASING_ACT_UNLOCK] = "unlock",
        [LEASING_ACT_LEASE] = "lease", [LEASING_ACT_LEAVE] = "leave",
        [LEASING_ACT_CHECK] = "check", [LEASING_ACT_RESTART] = "restart",
        [LEASING_ACT_GRANT] = "grant", [LEASING_ACT_FAIL] = "fail",
    };
    static char text[64];

    text[0] = '\0';
    for (uint32_t i = 0; i < out.count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, words[out.list[i].kind]);
    }
    return text;
}

static void give(enum leasing_event_kind kind, enum leasing_answer answer, uint32_t tag)
{
    const struct leasing_event ev = {.kind = kind, .answer = answer, .tag = tag};

    leasing_step(&l, &ev, &out);
}

#define STEP(kind_, state_, actions_)                                                              \
    do {                                                                                           \
        give(LEASING_EV_##kind_, LEASING_ALONE, l.tag);                                            \
        CHECK_STR(leasing_state_name(l.state), leasing_state_name(LEASING_##state_));              \
        CHECK_STR(actions(), actions_);                                                            \
    } while (0)

static void start(void)
{
    l = (struct leasing){.state = LEASING_IDLE};
    STEP(BEGIN, LOCKING, "lock");
}

static void start_leasing(void)
{
    start();
    STEP(LOCKED, LEASING, "lease");
}

static void start_checking(void)
{
    start_leasing();
    STEP(LEASED, CHECKING, "unlock check");
}

static void alone(void)
{
    start_checking();
    STEP(CHECKED, GRANTED, "grant");
    STEP(LEASE_LOST, GRANTED, ""); /* that is the grant's */
    STEP(ABORT, GRANTED, "");
}

/* Under no lock it must not wait: two leases could wait for each other. */
static void lock_is_lost(void)
{
    start_leasing();
    STEP(LOCK_LOST, RESTARTING, "leave restart");
    STEP(LEASED, RESTARTING, "");
    STEP(BEGIN, LOCKING, "lock");
    STEP(LOCKED, LEASING, "lease");
    STEP(LEASED, CHECKING, "unlock check");
}

static void lease_is_lost(void)
{
    start_checking();
    STEP(LEASE_LOST, RESTARTING, "restart");
    STEP(BEGIN, LOCKING, "lock");
}

static void failures(void)
{
    start();
    STEP(LOCK_FAILED, OVER, "fail");
    start_leasing();
    STEP(LEASE_FAILED, OVER, "unlock fail");
    STEP(LEASED, OVER, "");
}

static void another_layout(void)
{
    static const enum leasing_answer answers[] = {LEASING_MIXED, LEASING_REFUSED};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        start_checking();
        give(LEASING_EV_CHECKED, answers[i], l.tag);
        CHECK_INT(l.state, LEASING_OVER);
        CHECK_STR(actions(), "leave fail");
    }
}

static void path_is_gone(void)
{
    start_checking();
    give(LEASING_EV_CHECKED, LEASING_GONE, l.tag);
    CHECK_INT(l.state, LEASING_RESTARTING);
    CHECK_STR(actions(), "leave restart");
}

static void caller_gives_up(void)
{
    l = (struct leasing){.state = LEASING_IDLE};
    STEP(ABORT, OVER, "fail");
    start();
    STEP(ABORT, OVER, "unlock fail");
    STEP(BEGIN, OVER, "");
    start_leasing();
    STEP(ABORT, OVER, "leave unlock fail"); /* in this order: the next one counts without it */
    start_checking();
    STEP(ABORT, OVER, "leave fail");
    start_leasing();
    STEP(LOCK_LOST, RESTARTING, "leave restart");
    STEP(ABORT, OVER, "fail");
}

static void stale_checks(void)
{
    start_checking();
    const uint32_t tag = out.list[1].tag;
    STEP(LEASE_LOST, RESTARTING, "restart");
    STEP(BEGIN, LOCKING, "lock");
    STEP(LOCKED, LEASING, "lease");
    STEP(LEASED, CHECKING, "unlock check");
    give(LEASING_EV_CHECKED, LEASING_ALONE, tag);
    CHECK_INT(l.state, LEASING_CHECKING);
    CHECK_INT(out.count, 0);
}

/* Where an event leads; NULL: nothing happens. */
static const char *const leads[LEASING_STATES][LEASING_EV_ABORT + 1] = {
    [LEASING_IDLE] = {[LEASING_EV_BEGIN] = "locking", [LEASING_EV_ABORT] = "over"},
    [LEASING_LOCKING] = {[LEASING_EV_LOCKED] = "leasing",
                         [LEASING_EV_LOCK_FAILED] = "over",
                         [LEASING_EV_ABORT] = "over"},
    [LEASING_LEASING] = {[LEASING_EV_LEASED] = "checking",
                         [LEASING_EV_LOCK_LOST] = "restarting",
                         [LEASING_EV_LEASE_FAILED] = "over",
                         [LEASING_EV_ABORT] = "over"},
    [LEASING_CHECKING] = {[LEASING_EV_CHECKED] = "granted",
                          [LEASING_EV_LEASE_LOST] = "restarting",
                          [LEASING_EV_ABORT] = "over"},
    [LEASING_RESTARTING] = {[LEASING_EV_BEGIN] = "locking", [LEASING_EV_ABORT] = "over"},
};

static void any_event_in(enum leasing_state state)
{
    for (int kind = 0; kind <= LEASING_EV_ABORT; kind++) {
        const char *to = leads[state][kind];

        l = (struct leasing){.state = state};
        l.lock = state == LEASING_LOCKING || state == LEASING_LEASING;
        l.lease = state == LEASING_LEASING || state == LEASING_CHECKING || state == LEASING_GRANTED;
        CHECK(leasing_invariant(&l));
        give((enum leasing_event_kind)kind, LEASING_ALONE, l.tag);
        CHECK(l.state == state || leasing_may_move(state, l.state));
        CHECK_STR(leasing_state_name(l.state), to ? to : leasing_state_name(state));
        CHECK_INT(out.count > 0, to != NULL);
    }
}

/* Whatever comes in whatever state: the moves are the table's, and nothing is left behind. */
static void any_event_in_any_state(void)
{
    for (int state = 0; state < LEASING_STATES; state++)
        any_event_in((enum leasing_state)state);
}

static void invariant_sees(void)
{
    l = (struct leasing){.state = LEASING_LEASING, .lease = true};
    CHECK(!leasing_invariant(&l)); /* a lease that waits without the lock */
    l = (struct leasing){.state = LEASING_CHECKING, .lease = true, .lock = true};
    CHECK(!leasing_invariant(&l));
    l = (struct leasing){.state = LEASING_OVER, .lease = true};
    CHECK(!leasing_invariant(&l));
    CHECK(!leasing_may_move(LEASING_LOCKING, LEASING_GRANTED));
    CHECK(!leasing_may_move(LEASING_LEASING, LEASING_GRANTED));
    CHECK_STR(leasing_state_name(LEASING_STATES), "?");
}

static const struct test_case cases[] = {
    {"alone", alone},
    {"lock_is_lost", lock_is_lost},
    {"lease_is_lost", lease_is_lost},
    {"failures", failures},
    {"another_layout", another_layout},
    {"path_is_gone", path_is_gone},
    {"caller_gives_up", caller_gives_up},
    {"stale_checks", stale_checks},
    {"any_event_in_any_state", any_event_in_any_state},
    {"invariant_sees", invariant_sees},
    {NULL, NULL},
};

const struct test_suite leasing_suite = {.name = "leasing", .cases = cases};
