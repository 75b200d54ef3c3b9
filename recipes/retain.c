#include "retain.h"

#include <assert.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[RETAIN_STATES] = {
    [RETAIN_NONE] = {"none", BIT(RETAIN_ENTERING)},
    [RETAIN_ENTERING] = {"entering", BIT(RETAIN_NONE) | BIT(RETAIN_ENTERING) | BIT(RETAIN_TURN)},
    [RETAIN_TURN] = {"turn",
                     BIT(RETAIN_NONE) | BIT(RETAIN_ENTERING) | BIT(RETAIN_TURN) | BIT(RETAIN_IDLE)},
    [RETAIN_IDLE] = {"idle", BIT(RETAIN_NONE) | BIT(RETAIN_ENTERING) | BIT(RETAIN_TURN)},
};

const char *retain_state_name(enum retain_state state)
{
    return state < RETAIN_STATES ? table[state].name : "?";
}

bool retain_may_move(enum retain_state from, enum retain_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

bool retain_invariant(const struct retain *r)
{
    const bool tenure = r->state == RETAIN_TURN || r->state == RETAIN_IDLE;

    if (!tenure && (r->wanted || r->watched || r->looking || r->turn > 0))
        return false;
    if (r->trying && (r->waiting == 0 || r->state == RETAIN_TURN))
        return false;
    if (r->left && r->state != RETAIN_ENTERING)
        return false;
    if (!payoff_invariant(&r->payoff, r->wanted))
        return false;
    if (r->gate > r->waiting || r->gate > r->local_turns || (r->gate > 0 && !r->wanted))
        return false;
    if (r->state == RETAIN_NONE || r->state == RETAIN_ENTERING)
        return (r->waiting > 0) == (r->state == RETAIN_ENTERING);
    if (r->closed && r->waiting > 0)
        return false;
    return r->state != RETAIN_IDLE || (!r->wanted && (r->watched || r->looking) && r->armed);
}

static struct retain_action *retain_act(struct retain_actions *out, enum retain_action_kind kind)
{
    assert(out->count < RETAIN_ACTIONS);
    struct retain_action *a = &out->list[out->count++];
    *a = (struct retain_action){.kind = kind};
    return a;
}

static void retain_arm(struct retain *r, struct retain_actions *out, int64_t at)
{
    r->armed = true;
    retain_act(out, RETAIN_ACT_ARM)->at = at;
}

static uint32_t retain_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- tenures ---- */

static bool may_retain(const struct retain *r, int64_t now)
{
    return !r->closed && payoff_allows(&r->payoff, now);
}

static void retain_enter(struct retain *r, const struct retain_event *ev,
                         struct retain_actions *out)
{
    struct retain_action *a = retain_act(out, RETAIN_ACT_ENTER);

    r->state = RETAIN_ENTERING;
    payoff_ask(&r->payoff, ev->now);
    a->tries = r->trying;
    a->watch = r->alone && may_retain(r, ev->now);
}

/* Forgets the tenure: the node is not ours any more, or will not be when the actions have been
 * done. */
static void forget_tenure(struct retain *r)
{
    r->state = RETAIN_NONE;
    r->wanted = r->watched = r->looking = r->armed = false;
    r->gate = 0;
    r->turn = 0;
}

/* Ends the tenure. A caller that waits here enters before the node is deleted, so that its place in
 * line is as early as it can be. It finds the old node ahead. A watch on the children would only
 * show the end of that node. A caller that tries enters after the delete: the old node would make
 * it fail, and it has no place in line. */
static void end_tenure(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    const bool tries = r->trying;

    payoff_settle(&r->payoff, ev->now, r->turn);
    forget_tenure(r);
    if (tries)
        retain_act(out, RETAIN_ACT_END);
    else
        r->alone = r->alone && r->waiting == 0;
    if (r->waiting > 0)
        retain_enter(r, ev, out);
    if (!tries)
        retain_act(out, RETAIN_ACT_END);
}

/* Stores that a rival waits, and sets the gate: how many of those who wait here still go first. */
static void retain_set_gate(struct retain *r, int64_t now)
{
    r->wanted = true;
    r->heard = now;
    r->gate = retain_least(r->waiting, r->local_turns);
}

/* ---- turns ---- */

static void begin_turn(struct retain *r, struct retain_actions *out)
{
    r->waiting--;
    r->trying = false;
    if (r->gate > 0)
        r->gate--;
    r->state = RETAIN_TURN;
    retain_act(out, RETAIN_ACT_TURN)->turn = r->turn;
}

/* Whether the first local waiter goes before the rival. If nothing tells of a rival, and to ask
 * does not pay, we take it that there is one. */
static bool may_pass(const struct retain *r, int64_t now)
{
    if (r->wanted)
        return r->gate > 0 && now - r->heard <= RETAIN_GATE_NS;
    return r->watched || may_retain(r, now) ||
           (r->turn < r->local_turns && now - r->begun <= RETAIN_GATE_NS);
}

/* Decides what comes after a turn: another turn, the end of the tenure, or idle. Before the tenure
 * goes on, the handle looks whether a rival waits, unless that is known: a watch would never tell
 * of a rival that is there already. */
static void retain_go_on(struct retain *r, const struct retain_event *ev,
                         struct retain_actions *out)
{
    const bool goes = r->waiting > 0 && (!r->fence64 || ev->same) && may_pass(r, ev->now);
    const bool stays = r->waiting == 0 && !r->wanted && may_retain(r, ev->now);

    if (!goes && !stays) {
        end_tenure(r, ev, out);
        return;
    }
    if (!r->watched && !r->looking && !r->wanted && may_retain(r, ev->now)) {
        r->looking = true;
        payoff_ask(&r->payoff, ev->now);
        retain_act(out, RETAIN_ACT_LOOK);
    }
    if (goes && ev->sure) {
        r->turn++;
        begin_turn(r, out);
    } else if (r->wanted || !(r->watched || r->looking)) {
        /* The session is in doubt, perhaps for long, so no turn begins. A rival waits, or may wait
         * unseen. So the tenure must not go on. */
        end_tenure(r, ev, out);
    } else {
        r->state = RETAIN_IDLE; /* a waiter goes on when the session is not in doubt any more */
        if (!r->armed)
            retain_arm(r, out, ev->now + r->retain_ns);
    }
}

/* ---- events ---- */

static void on_lock(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    const bool others_first =
        r->state == RETAIN_ENTERING || r->state == RETAIN_TURN || r->waiting > 0;

    r->waiting++;
    if (ev->tries && others_first) {
        r->waiting--;
        retain_act(out, RETAIN_ACT_BUSY)->last = true;
        return;
    }
    r->trying = r->trying || ev->tries;
    if (r->state == RETAIN_NONE) {
        retain_enter(r, ev, out);
    } else if (r->state == RETAIN_IDLE) {
        retain_go_on(r, ev, out);
    }
}

static void forget_attempt(struct retain *r)
{
    r->state = RETAIN_NONE;
    r->left = false;
}

static void on_gave_up(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    r->waiting--;
    r->gate = retain_least(r->gate, r->waiting);
    r->trying = r->trying && !ev->first;
    if (r->waiting == 0 && r->state == RETAIN_ENTERING) {
        forget_attempt(r);
        retain_act(out, RETAIN_ACT_ABANDON);
    } else if (r->state == RETAIN_ENTERING && ev->first) {
        r->left = true;
    }
}

static void on_granted(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    forget_attempt(r);
    r->begun = ev->now;
    r->watched = ev->watched;
    r->alone = !ev->others && !ev->waited;
    if (r->alone)
        payoff_granted(&r->payoff, ev->now, ev->delayed);
    begin_turn(r, out);
    if (ev->others)
        retain_set_gate(r, ev->now);
}

/* Handles the failure of an attempt, which counts for the first waiter alone: what the attempt has
 * seen may be older than the calls of the others. */
static void on_failed(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    const bool for_first = !r->left;

    r->alone = false;
    forget_attempt(r);
    if (for_first) {
        r->waiting--;
        r->trying = false;
        retain_act(out, ev->busy ? RETAIN_ACT_BUSY : RETAIN_ACT_FAIL);
    }
    if (r->waiting > 0)
        retain_enter(r, ev, out);
}

static void on_rival(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    r->alone = r->watched = false;
    if (r->wanted)
        return;
    retain_set_gate(r, ev->now);
    if (r->state == RETAIN_IDLE) {
        payoff_recalled(&r->payoff, ev->now);
        end_tenure(r, ev, out);
    }
}

static void on_looked(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    if (!r->looking)
        return;
    r->looking = false;
    r->watched = ev->watched && !ev->others;
    r->alone = r->watched && !r->wanted;
    if (r->alone)
        payoff_looked(&r->payoff, ev->now);
    else if (!r->wanted)
        payoff_found(&r->payoff, ev->others);
    if (!r->watched)
        on_rival(r, ev, out);
}

/* Takes an event that only a tenure has. */
static void step_tenure(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    const bool idle = r->state == RETAIN_IDLE;

    if (ev->kind == RETAIN_EV_LOOKED) {
        on_looked(r, ev, out);
    } else if (ev->kind == RETAIN_EV_RIVAL) {
        on_rival(r, ev, out);
    } else if (ev->kind == RETAIN_EV_ENDED) {
        payoff_forget(&r->payoff);
        forget_tenure(r);
        if (r->waiting > 0)
            retain_enter(r, ev, out);
    } else if (ev->kind == RETAIN_EV_UNLOCK && !idle) {
        r->used = ev->now;
        if (r->wanted)
            payoff_kept_out(&r->payoff, ev->now);
        if (ev->must_end)
            end_tenure(r, ev, out);
        else
            retain_go_on(r, ev, out);
    } else if (ev->kind == RETAIN_EV_PROVED && idle) {
        retain_go_on(r, ev, out);
    } else if (ev->kind == RETAIN_EV_YIELD && idle) {
        end_tenure(r, ev, out);
    }
}

void retain_init(struct retain *r)
{
    *r = (struct retain){
        .retain_ns = r->retain_ns, .local_turns = r->local_turns, .fence64 = r->fence64};
}

void retain_step(struct retain *r, const struct retain_event *ev, struct retain_actions *out)
{
    const enum retain_state from = r->state;

    out->count = 0;
    if (ev->kind == RETAIN_EV_LOCK) {
        on_lock(r, ev, out);
    } else if (ev->kind == RETAIN_EV_GAVE_UP) {
        on_gave_up(r, ev, out);
    } else if (ev->kind == RETAIN_EV_TIMER) {
        r->armed = false;
        if (from == RETAIN_IDLE && r->waiting > 0)
            retain_arm(r, out, ev->now + r->retain_ns);
        else if (from == RETAIN_IDLE && ev->now - r->used < r->retain_ns)
            retain_arm(r, out, r->used + r->retain_ns);
        else if (from == RETAIN_IDLE)
            end_tenure(r, ev, out);
    } else if (ev->kind == RETAIN_EV_CLOSE) {
        r->closed = true;
        if (from == RETAIN_IDLE)
            end_tenure(r, ev, out);
    } else if (from == RETAIN_ENTERING && ev->kind == RETAIN_EV_GRANTED) {
        on_granted(r, ev, out);
    } else if (from == RETAIN_ENTERING && ev->kind == RETAIN_EV_FAILED) {
        on_failed(r, ev, out);
    } else if (from == RETAIN_TURN || from == RETAIN_IDLE) {
        step_tenure(r, ev, out);
    }
    assert(r->state == from || retain_may_move(from, r->state));
    assert(retain_invariant(r));
}
