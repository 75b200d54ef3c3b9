#include "attempt.h"

#include <assert.h>
#include <string.h>

#include "attempt_steps.h"
#include "rule.h"

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[ST_COUNT] = {
    [ST_IDLE] = {"idle", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_REENTERING] = {"re-entering", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_CREATING] = {"creating", BIT(ST_REENTERING) | BIT(ST_PARENTS) | BIT(ST_SETTLING) |
                                     BIT(ST_LISTING) | BIT(ST_RESETTING) | BIT(ST_LEAVING) |
                                     BIT(ST_DONE)},
    [ST_PARENTS] = {"parents", BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_SETTLING] = {"settling", BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_ADOPTING) |
                                     BIT(ST_RESETTING) | BIT(ST_LEAVING) | BIT(ST_DONE)},
    [ST_ADOPTING] = {"adopting", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_DONE)},
    [ST_LISTING] = {"listing", BIT(ST_REENTERING) | BIT(ST_WAITING) | BIT(ST_CLAIMING) |
                                   BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_WAITING] = {"waiting", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_SUCCEEDING) |
                                   BIT(ST_PROVING) | BIT(ST_DONE)},
    [ST_SUCCEEDING] = {"succeeding",
                       BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_PROVING) | BIT(ST_DONE)},
    [ST_PROVING] = {"proving",
                    BIT(ST_REENTERING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_CLAIMING] = {"claiming",
                     BIT(ST_REENTERING) | BIT(ST_PROVING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_RESETTING] = {"resetting", BIT(ST_REENTERING) | BIT(ST_DONE)},
    [ST_HOLDING] = {"holding", BIT(ST_LAPSED) | BIT(ST_DONE)},
    [ST_LAPSED] = {"lapsed", BIT(ST_DONE)},
    [ST_LEAVING] = {"leaving", BIT(ST_DONE)},
    [ST_DONE] = {"done", 0},
};

const char *attempt_state_name(enum attempt_state state)
{
    return state < ST_COUNT ? table[state].name : "?";
}

bool attempt_may_move(enum attempt_state from, enum attempt_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

static bool is_in(const struct attempt *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

bool attempt_invariant(const struct attempt *c)
{
    const uint32_t owning = BIT(ST_ADOPTING) | BIT(ST_LISTING) | BIT(ST_WAITING) |
                            BIT(ST_SUCCEEDING) | BIT(ST_PROVING) | BIT(ST_CLAIMING) |
                            BIT(ST_HOLDING) | BIT(ST_LAPSED);
    const uint32_t answered = BIT(ST_HOLDING) | BIT(ST_LAPSED) | BIT(ST_LEAVING) | BIT(ST_DONE);

    if (c->has_node != is_in(c, owning))
        return false;
    if (c->watching != (c->state == ST_WAITING))
        return false;
    if (c->told != is_in(c, answered))
        return false;
    if (c->state == ST_WAITING && (c->ahead == 0 || c->try_only))
        return false;
    if (c->state == ST_SUCCEEDING && (c->ahead < 2 || c->long_queue == 0))
        return false;
    return c->state != ST_HOLDING || (c->token != 0 && !rule_exhausted(c->number));
}

void attempt_move(struct attempt *c, enum attempt_state to)
{
    assert(attempt_may_move(c->state, to));
    c->state = to;
}

struct action *attempt_act(struct actions *out, enum action_kind kind)
{
    assert(out->count < ATTEMPT_ACTIONS);
    struct action *a = &out->list[out->count++];
    *a = (struct action){.kind = kind};
    return a;
}

/* A request whose answer makes those to earlier requests stale. */
void attempt_ask(struct attempt *c, struct actions *out, enum action_kind kind)
{
    attempt_act(out, kind)->tag = ++c->tag;
}

/* Ends the attempt with whatever is left of it at the server. */
void attempt_finish(struct attempt *c, struct actions *out)
{
    if (c->watching)
        attempt_act(out, ACT_UNWATCH);
    if (c->has_node)
        attempt_act(out, ACT_DELETE);
    c->watching = false;
    c->has_node = false;
    attempt_move(c, ST_DONE);
}

void attempt_tell(struct attempt *c, struct actions *out, int error)
{
    attempt_act(out, ACT_FAIL)->error = error;
    c->told = true;
}

void attempt_fail(struct attempt *c, struct actions *out, int error)
{
    attempt_tell(c, out, error);
    attempt_finish(c, out);
}

static void revoke(struct attempt *c, struct actions *out, bool node_gone)
{
    attempt_act(out, ACT_REVOKE);
    if (!node_gone) {
        attempt_move(c, ST_LAPSED);
        return;
    }
    c->has_node = false;
    attempt_move(c, ST_DONE);
}

static void on_session_over(struct attempt *c, struct actions *out, bool end)
{
    c->watching = false;
    switch (c->state) {
    case ST_HOLDING:
        revoke(c, out, true);
        break;
    case ST_LAPSED:
    case ST_LEAVING:
        c->has_node = false;
        attempt_move(c, ST_DONE);
        break;
    case ST_IDLE:
    case ST_DONE:
        break;
    default:
        c->rounds = 0;
        c->has_node = false;
        if (end)
            attempt_fail(c, out, ATTEMPT_PROTOCOL);
        else if (c->state != ST_REENTERING) /* which has asked already */
            attempt_admit(c, out);
    }
}

void attempt_leave(struct attempt *c)
{
    c->rounds = 0;
    attempt_move(c, ST_LEAVING);
}

void attempt_unsettled(struct attempt *c, struct actions *out)
{
    const uint32_t doublings = 6; /* to what is more than the last */
    int32_t pause_ms = ATTEMPT_SETTLE_FIRST_MS << c->rounds;

    if (c->rounds < doublings)
        c->rounds++;
    attempt_act(out, ACT_ORPHAN);
    attempt_act(out, ACT_ARM)->number =
        pause_ms < ATTEMPT_SETTLE_LAST_MS ? pause_ms : ATTEMPT_SETTLE_LAST_MS;
}

static void on_abort(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (c->told)
        return;
    attempt_tell(c, out, ev->error);
    if (is_in(c, BIT(ST_CREATING) | BIT(ST_SETTLING)))
        attempt_leave(c);
    else
        attempt_finish(c, out);
}

/* Nobody waits for us any more, but a node of ours may still be made, or stand. */
static void step_leaving(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->kind == EV_CREATED && ev->answer == ANSWER_UNKNOWN) {
        attempt_ask(c, out, ACT_BARRIER);
    } else if (ev->kind == EV_CREATED) {
        c->has_node = ev->answer == ANSWER_OK;
        attempt_finish(c, out);
    } else if (ev->kind == EV_TIMER && c->rounds > 0) {
        attempt_ask(c, out, ACT_BARRIER);
    } else if (ev->kind == EV_PASSED && ev->answer == ANSWER_OK) {
        attempt_ask(c, out, ACT_LIST);
    } else if (ev->kind == EV_LISTED && (ev->answer == ANSWER_OK || ev->answer == ANSWER_NONODE)) {
        if (ev->answer == ANSWER_OK)
            attempt_act(out, ACT_DELETE_ALL);
        attempt_finish(c, out);
    } else if (ev->kind == EV_PASSED || ev->kind == EV_LISTED) {
        attempt_unsettled(c, out);
    }
}

static void step_holding(struct attempt *c, const struct event *ev, struct actions *out)
{
    switch (ev->kind) {
    case EV_RELEASE:
        attempt_finish(c, out);
        break;
    case EV_LAPSED:
        revoke(c, out, false);
        break;
    case EV_TIMER:
        attempt_ask(c, out, ACT_READ);
        break;
    case EV_OWN_FIRED:
        if (ev->gone)
            revoke(c, out, true);
        else
            attempt_ask(c, out, ACT_READ);
        break;
    case EV_READ:
        if (ev->answer == ANSWER_NONODE ||
            (ev->answer == ANSWER_OK && ev->ephemeral_owner != ev->session))
            revoke(c, out, true);
        else if (ev->answer == ANSWER_OK)
            c->own_watched = true;
        else
            attempt_act(out, ACT_ARM)->number = ATTEMPT_RETRY_MS;
        break;
    default:
        break;
    }
}

static bool is_answer(enum event_kind kind)
{
    return kind == EV_CREATED || kind == EV_PARENTS_MADE || kind == EV_PASSED ||
           kind == EV_LISTED || kind == EV_HINT_READ || kind == EV_READ || kind == EV_WATCHED ||
           kind == EV_RESET;
}

void attempt_init(struct attempt *c, enum child_kind kind, bool try_only)
{
    *c = (struct attempt){.state = ST_IDLE, .kind = kind, .try_only = try_only};
}

void attempt_step(struct attempt *c, const struct event *ev, struct actions *out)
{
    out->count = 0;
    if (ev->kind == EV_OWN_FIRED)
        c->own_watched = false;
    if (is_answer(ev->kind) && ev->tag != c->tag)
        return;
    if (ev->kind == EV_REPLACED || ev->kind == EV_END)
        on_session_over(c, out, ev->kind == EV_END);
    else if (ev->kind == EV_ABORT)
        on_abort(c, ev, out);
    else if (is_in(c, BIT(ST_IDLE) | BIT(ST_REENTERING)) && ev->kind == EV_ENTER)
        attempt_enter(c, out);
    else if (c->state == ST_HOLDING)
        step_holding(c, ev, out);
    else if (c->state == ST_LAPSED && ev->kind == EV_RELEASE)
        attempt_finish(c, out);
    else if (c->state == ST_LEAVING)
        step_leaving(c, ev, out);
    else
        attempt_step_queued(c, ev, out);
    assert(attempt_invariant(c));
}
