#include "leasing.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
    bool lock, lease; /* what it has */
} table[LEASING_STATES] = {
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
    return state < LEASING_STATES ? table[state].name : "?";
}

bool leasing_may_move(enum leasing_state from, enum leasing_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

/* A lease that is not admitted stands under the lock alone: two of them could wait for each other.
 */
bool leasing_invariant(const struct leasing *l)
{
    return l->lock == table[l->state].lock && l->lease == table[l->state].lease;
}

static void act(struct leasing *l, struct leasing_actions *out, enum leasing_action_kind kind)
{
    assert(out->count < LEASING_ACTIONS);
    out->list[out->count++] = (struct leasing_action){.kind = kind, .tag = l->tag};
}

static void leave(struct leasing *l, struct leasing_actions *out)
{
    if (l->lease)
        act(l, out, LEASING_ACT_LEAVE);
    l->lease = false;
}

static void unlock(struct leasing *l, struct leasing_actions *out)
{
    if (l->lock)
        act(l, out, LEASING_ACT_UNLOCK);
    l->lock = false;
}

static void end(struct leasing *l, struct leasing_actions *out, enum leasing_state to,
                enum leasing_action_kind kind)
{
    leave(l, out);
    unlock(l, out);
    l->state = to;
    act(l, out, kind);
}

static void lock(struct leasing *l, struct leasing_actions *out)
{
    l->state = LEASING_LOCKING;
    l->lock = true;
    act(l, out, LEASING_ACT_LOCK);
}

static void on_locking(struct leasing *l, const struct leasing_event *ev,
                       struct leasing_actions *out)
{
    if (ev->kind == LEASING_EV_LOCKED) {
        l->state = LEASING_LEASING;
        l->lease = true;
        act(l, out, LEASING_ACT_LEASE);
    } else if (ev->kind == LEASING_EV_LOCK_FAILED) {
        l->lock = false;
        end(l, out, LEASING_OVER, LEASING_ACT_FAIL);
    }
}

static void on_leasing(struct leasing *l, const struct leasing_event *ev,
                       struct leasing_actions *out)
{
    if (ev->kind == LEASING_EV_LEASED) {
        unlock(l, out);
        l->state = LEASING_CHECKING;
        l->tag++;
        act(l, out, LEASING_ACT_CHECK);
    } else if (ev->kind == LEASING_EV_LOCK_LOST) {
        l->lock = false;
        end(l, out, LEASING_RESTARTING, LEASING_ACT_RESTART);
    } else if (ev->kind == LEASING_EV_LEASE_FAILED) {
        l->lease = false;
        end(l, out, LEASING_OVER, LEASING_ACT_FAIL);
    }
}

static void on_checked(struct leasing *l, const struct leasing_event *ev,
                       struct leasing_actions *out)
{
    if (ev->answer == LEASING_ALONE) {
        l->state = LEASING_GRANTED;
        act(l, out, LEASING_ACT_GRANT);
    } else if (ev->answer == LEASING_GONE) {
        end(l, out, LEASING_RESTARTING, LEASING_ACT_RESTART);
    } else {
        end(l, out, LEASING_OVER, LEASING_ACT_FAIL);
    }
}

static void on_checking(struct leasing *l, const struct leasing_event *ev,
                        struct leasing_actions *out)
{
    if (ev->kind == LEASING_EV_CHECKED && ev->tag == l->tag) {
        on_checked(l, ev, out);
    } else if (ev->kind == LEASING_EV_LEASE_LOST) {
        l->lease = false;
        end(l, out, LEASING_RESTARTING, LEASING_ACT_RESTART);
    }
}

static void step(struct leasing *l, const struct leasing_event *ev, struct leasing_actions *out)
{
    const enum leasing_state s = l->state;

    if (s == LEASING_GRANTED || s == LEASING_OVER)
        return;
    if (ev->kind == LEASING_EV_ABORT)
        end(l, out, LEASING_OVER, LEASING_ACT_FAIL);
    else if (ev->kind == LEASING_EV_BEGIN && (s == LEASING_IDLE || s == LEASING_RESTARTING))
        lock(l, out);
    else if (s == LEASING_LOCKING)
        on_locking(l, ev, out);
    else if (s == LEASING_LEASING)
        on_leasing(l, ev, out);
    else if (s == LEASING_CHECKING)
        on_checking(l, ev, out);
}

void leasing_step(struct leasing *l, const struct leasing_event *ev, struct leasing_actions *out)
{
    const enum leasing_state from = l->state;

    out->count = 0;
    step(l, ev, out);
    assert(l->state == from || leasing_may_move(from, l->state));
    assert(leasing_invariant(l));
}
