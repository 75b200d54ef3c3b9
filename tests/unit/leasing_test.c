/* A permit in Curator's layout: lock, lease, check, and what is left when one of them fails. */
#include "leasing.h"

#include "runner.h"

#include <string.h>

TEST_SUITE(leasing);

static struct leasing l;
static struct machine_actions out;

static const char *word_of(const struct machine_action *a)
{
    static const char *const words[] = {
        [LEASING_LOCK] = "lock",   [LEASING_UNLOCK] = "unlock", [LEASING_LEASE] = "lease",
        [LEASING_LEAVE] = "leave", [LEASING_GRANT] = "grant",
    };
    static const char *const causes[] = {[LEASING_CAUSE_PART] = "fail",
                                         [LEASING_CAUSE_MIXED] = "fail-mixed",
                                         [LEASING_CAUSE_REFUSED] = "fail-refused"};

    return a->kind == MACHINE_ACT_REQUEST    ? "check"
           : a->kind == MACHINE_ACT_ARM      ? "restart"
           : a->kind == MACHINE_ACT_END      ? "end"
           : a->verdict == (int)LEASING_FAIL ? causes[a->why]
                                             : words[a->verdict];
}

static const char *actions(void)
{
    static char text[64];

    text[0] = '\0';
    for (uint32_t i = 0; i < out.count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, word_of(&out.list[i]));
    }
    return text;
}

/* Rows of the events. */
enum {
    BEGIN,
    LOCKED,
    LOCK_FAILED,
    LOCK_LOST,
    LEASED,
    LEASE_FAILED,
    LEASE_LOST,
    CHECKED,
    TIMER,
    ABORT,
    HEARD
};

static const unsigned heard[HEARD] = {
    MACHINE_EV_BEGIN,  LEASING_EV_LOCKED,       LEASING_EV_LOCK_FAILED, LEASING_EV_LOCK_LOST,
    LEASING_EV_LEASED, LEASING_EV_LEASE_FAILED, LEASING_EV_LEASE_LOST,  MACHINE_EV_ANSWER,
    MACHINE_EV_TIMER,  MACHINE_EV_STOP};

static void give(int event, enum store_rc rc, bool mixed)
{
    const struct machine_event ev = {.kind = heard[event], .verb = STORE_LIST, .rc = rc};
    const struct leasing_moment m = {.now = 1, .mixed = mixed};

    out.count = 0;
    leasing_step(&l, &ev, &m, &out);
}

#define STEP(event, state_, actions_)                                                              \
    do {                                                                                           \
        give(event, STORE_OK, false);                                                              \
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

TEST_CASE(alone)
{
    start_checking();
    STEP(CHECKED, GRANTED, "end grant");
    STEP(LEASE_LOST, GRANTED, ""); /* that is the grant's */
    STEP(ABORT, GRANTED, "");
}

/* Under no lock it must not wait: two leases could wait for each other. */
TEST_CASE(lock_is_lost)
{
    start_leasing();
    STEP(LOCK_LOST, RESTARTING, "leave restart");
    STEP(LEASED, RESTARTING, "");
    STEP(BEGIN, RESTARTING, "");
    STEP(TIMER, LOCKING, "lock");
    STEP(LOCKED, LEASING, "lease");
    STEP(LEASED, CHECKING, "unlock check");
}

TEST_CASE(lease_is_lost)
{
    start_checking();
    STEP(LEASE_LOST, RESTARTING, "restart");
    STEP(CHECKED, RESTARTING, "");
    STEP(TIMER, LOCKING, "lock");
}

TEST_CASE(failures)
{
    start();
    STEP(LOCK_FAILED, OVER, "end fail");
    start_leasing();
    STEP(LEASE_FAILED, OVER, "unlock end fail");
    STEP(LEASED, OVER, "");
}

TEST_CASE(another_layout)
{
    start_checking();
    give(CHECKED, STORE_OK, true);
    CHECK_INT(l.state, LEASING_OVER);
    CHECK_STR(actions(), "leave end fail-mixed");
}

TEST_CASE(check_is_refused)
{
    static const enum store_rc answers[] = {STORE_NOAUTH, STORE_BAD};

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        start_checking();
        give(CHECKED, answers[i], false);
        CHECK_INT(l.state, LEASING_OVER);
        CHECK_STR(actions(), "leave end fail-refused");
        CHECK_INT(out.list[out.count - 1].rc, answers[i]);
    }
}

TEST_CASE(path_is_gone)
{
    start_checking();
    give(CHECKED, STORE_NONODE, false);
    CHECK_INT(l.state, LEASING_RESTARTING);
    CHECK_STR(actions(), "leave restart");
}

TEST_CASE(caller_gives_up)
{
    l = (struct leasing){.state = LEASING_IDLE};
    STEP(ABORT, OVER, "end fail");
    start();
    STEP(ABORT, OVER, "unlock end fail");
    STEP(BEGIN, OVER, "");
    start_leasing();
    STEP(ABORT, OVER, "leave unlock end fail"); /* in this order: the next one counts without it */
    start_checking();
    STEP(ABORT, OVER, "leave end fail");
    start_leasing();
    STEP(LOCK_LOST, RESTARTING, "leave restart");
    STEP(ABORT, OVER, "end fail");
}

/* Where an event leads; NULL: nothing happens. */
static const char *const leads[LEASING_STATES][HEARD] = {
    [LEASING_IDLE] = {[BEGIN] = "locking", [ABORT] = "over"},
    [LEASING_LOCKING] = {[LOCKED] = "leasing", [LOCK_FAILED] = "over", [ABORT] = "over"},
    [LEASING_LEASING] = {[LEASED] = "checking",
                         [LOCK_LOST] = "restarting",
                         [LEASE_FAILED] = "over",
                         [ABORT] = "over"},
    [LEASING_CHECKING] = {[CHECKED] = "granted", [LEASE_LOST] = "restarting", [ABORT] = "over"},
    [LEASING_RESTARTING] = {[TIMER] = "locking", [ABORT] = "over"},
};

static void any_event_in(enum leasing_state state)
{
    for (int kind = 0; kind < HEARD; kind++) {
        const char *to = leads[state][kind];

        l = (struct leasing){.state = state};
        l.lock = state == LEASING_LOCKING || state == LEASING_LEASING;
        l.lease = state == LEASING_LEASING || state == LEASING_CHECKING || state == LEASING_GRANTED;
        CHECK(leasing_invariant(&l));
        give(kind, STORE_OK, false);
        CHECK(l.state == state || leasing_may_move(state, l.state));
        CHECK_STR(leasing_state_name(l.state), to ? to : leasing_state_name(state));
        CHECK_INT(out.count > 0, to != NULL);
    }
}

/* Whatever comes in whatever state: the moves are the table's, and nothing is left behind. */
TEST_CASE(any_event_in_any_state)
{
    for (int state = 0; state < LEASING_STATES; state++)
        any_event_in((enum leasing_state)state);
}

TEST_CASE(invariant_sees)
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
