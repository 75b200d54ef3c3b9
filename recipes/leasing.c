#include "leasing.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
    bool lock, lease; /* what the caller has, or has asked for */
} leasing_table[LEASING_STATES] = {
    [LEASING_IDLE] = {"idle", BIT(LEASING_LOCKING) | BIT(LEASING_OVER), false, false},
    [LEASING_LOCKING] = {"locking", BIT(LEASING_LEASING) | BIT(LEASING_OVER), true, false},
    [LEASING_LEASING] = {"leasing",
                         BIT(LEASING_CHECKING) | BIT(LEASING_RESTARTING) | BIT(LEASING_OVER), true,
                         true},
    [LEASING_CHECKING] = {"checking",
                          BIT(LEASING_GRANTED) | BIT(LEASING_RESTARTING) | BIT(LEASING_OVER), false,
                          true},
    [LEASING_RESTARTING] = {"restarting", BIT(LEASING_LOCKING) | BIT(LEASING_OVER), false, false},
    [LEASING_GRANTED] = {"granted", 0, false, true},
    [LEASING_OVER] = {"over", 0, false, false},
};

const char *leasing_state_name(enum leasing_state state)
{
    return state < LEASING_STATES ? leasing_table[state].name : "?";
}

bool leasing_may_move(enum leasing_state from, enum leasing_state to)
{
    return (leasing_table[from].next & BIT(to)) != 0;
}

/* Whether .lock and .lease are as the table says for the state. Before the admission the table
 * gives a lease only to states with the lock: otherwise two contenders could wait for each other.
 */
bool leasing_invariant(const struct leasing *l)
{
    return l->lock == leasing_table[l->state].lock && l->lease == leasing_table[l->state].lease;
}

static void leasing_leave(struct leasing *l, struct machine_actions *out)
{
    if (l->lease)
        machine_tell(out, LEASING_LEAVE, STORE_OK);
    l->lease = false;
}

static void leasing_unlock(struct leasing *l, struct machine_actions *out)
{
    if (l->lock)
        machine_tell(out, LEASING_UNLOCK, STORE_OK);
    l->lock = false;
}

static void leasing_fail(struct leasing *l, struct machine_actions *out, enum leasing_cause cause,
                         enum store_rc rc)
{
    leasing_leave(l, out);
    leasing_unlock(l, out);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, LEASING_FAIL, rc);
    out->list[out->count - 1].why = (int)cause;
    l->state = LEASING_OVER;
}

static void leasing_restart(struct leasing *l, const struct leasing_moment *m,
                            struct machine_actions *out)
{
    leasing_leave(l, out);
    leasing_unlock(l, out);
    machine_act(out, MACHINE_ACT_ARM)->at = m->now;
    l->state = LEASING_RESTARTING;
}

/* Takes the list of the path. If the path is missing, the lease is gone, too. */
static void leasing_on_checked(struct leasing *l, const struct machine_event *ev,
                               const struct leasing_moment *m, struct machine_actions *out)
{
    if (ev->rc == STORE_NONODE) {
        leasing_restart(l, m, out);
    } else if (ev->rc != STORE_OK) {
        leasing_fail(l, out, LEASING_CAUSE_REFUSED, ev->rc);
    } else if (m->mixed) {
        leasing_fail(l, out, LEASING_CAUSE_MIXED, STORE_OK);
    } else {
        machine_act(out, MACHINE_ACT_END);
        machine_tell(out, LEASING_GRANT, STORE_OK);
        l->state = LEASING_GRANTED;
    }
}

static void leasing_take_event(struct leasing *l, const struct machine_event *ev,
                               const struct leasing_moment *m, struct machine_actions *out)
{
    const enum leasing_state s = l->state;

    if (s == LEASING_GRANTED || s == LEASING_OVER)
        return;
    if (ev->kind == MACHINE_EV_STOP) {
        leasing_fail(l, out, LEASING_CAUSE_PART, STORE_OK);
    } else if ((ev->kind == MACHINE_EV_BEGIN && s == LEASING_IDLE) ||
               (ev->kind == MACHINE_EV_TIMER && s == LEASING_RESTARTING)) {
        l->state = LEASING_LOCKING;
        l->lock = true;
        machine_tell(out, LEASING_LOCK, STORE_OK);
    } else if (ev->kind == LEASING_EV_LOCKED && s == LEASING_LOCKING) {
        l->state = LEASING_LEASING;
        l->lease = true;
        machine_tell(out, LEASING_LEASE, STORE_OK);
    } else if (ev->kind == LEASING_EV_LOCK_FAILED && s == LEASING_LOCKING) {
        l->lock = false;
        leasing_fail(l, out, LEASING_CAUSE_PART, STORE_OK);
    } else if (ev->kind == LEASING_EV_LEASED && s == LEASING_LEASING) {
        leasing_unlock(l, out);
        l->state = LEASING_CHECKING;
        machine_ask(out, STORE_LIST, LEASING_PATH);
    } else if (ev->kind == LEASING_EV_LEASE_FAILED && s == LEASING_LEASING) {
        l->lease = false;
        leasing_fail(l, out, LEASING_CAUSE_PART, STORE_OK);
    } else if (ev->kind == LEASING_EV_LOCK_LOST && s == LEASING_LEASING) {
        l->lock = false;
        leasing_restart(l, m, out);
    } else if (ev->kind == LEASING_EV_LEASE_LOST && s == LEASING_CHECKING) {
        l->lease = false;
        leasing_restart(l, m, out);
    } else if (ev->kind == MACHINE_EV_ANSWER && s == LEASING_CHECKING) {
        leasing_on_checked(l, ev, m, out);
    }
}

void leasing_step(struct leasing *l, const struct machine_event *ev, const struct leasing_moment *m,
                  struct machine_actions *out)
{
    const enum leasing_state from = l->state;

    (void)from; /* without assertions */
    leasing_take_event(l, ev, m, out);
    assert(l->state == from || leasing_may_move(from, l->state));
    assert(leasing_invariant(l));
}
