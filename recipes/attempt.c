/* One step: the phase that the attempt is in takes the event, unless all phases take it in the same
 * way; what the state begins with that it moved to comes behind that. The diagram is in attempt.h,
 * the table of moves in attempt_common.c. */
#include "attempt.h"

#include <assert.h>

#include "attempt_steps.h"
#include "rule.h"

static bool is_in(const struct attempt *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

bool attempt_invariant(const struct attempt *c)
{
    const uint32_t owning = BIT(ST_ADOPTING) | BIT(ST_LISTING) | BIT(ST_WAITING) | BIT(ST_FIRST) |
                            BIT(ST_SUCCEEDING) | BIT(ST_PROVING) | BIT(ST_CLAIMING) |
                            BIT(ST_HOLDING) | BIT(ST_LAPSED);
    const uint32_t answered = BIT(ST_HOLDING) | BIT(ST_LAPSED) | BIT(ST_LEAVING) | BIT(ST_DONE);

    if (c->has_node != is_in(c, owning))
        return false;
    if (c->watching != (c->state == ST_WAITING))
        return false;
    if (c->told != is_in(c, answered))
        return false;
    if (c->state == ST_WAITING && (c->ahead == 0 || !c->waited))
        return false;
    if (c->state == ST_WAITING && c->try_only && c->ahead > 1)
        return false;
    if (c->first && !is_in(c, BIT(ST_LISTING) | BIT(ST_FIRST) | BIT(ST_REENTERING) | BIT(ST_DONE)))
        return false;
    if (c->limit_watched && !c->first)
        return false;
    if (c->awaits && !is_in(c, BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_DONE)))
        return false;
    if (c->state == ST_FIRST &&
        (c->rule != RULE_LEASE || c->limit_watched == c->counts || c->try_only))
        return false;
    if (c->state == ST_SUCCEEDING && (c->rule == RULE_LEASE || c->ahead < 2 || c->long_queue == 0))
        return false;
    return c->state != ST_HOLDING || (c->token != 0 && !rule_exhausted(c->number));
}

static bool is_stale(const struct attempt *c, const struct event *ev)
{
    const enum event_kind kind = ev->kind;
    const bool answer = kind == EV_CREATED || kind == EV_PARENTS_MADE || kind == EV_PASSED ||
                        kind == EV_LISTED || kind == EV_HINT_READ || kind == EV_READ ||
                        kind == EV_WATCHED || kind == EV_RESET || kind == EV_LIMIT_READ;

    if (kind == EV_LIMIT_READ && c->counts) /* nobody asked for it */
        return true;
    if ((kind == EV_LISTED || kind == EV_LIMIT_READ) && c->looking && ev->tag == ATTEMPT_LOOK_TAG)
        return false;
    return answer && ev->tag != c->tag;
}

/* The same in each phase, until the caller has its answer. */
static void on_session_over(struct attempt *c, struct actions *out, bool end)
{
    c->rounds = 0;
    c->watching = false;
    c->limit_watched = false;
    c->has_node = false;
    if (end)
        attempt_fail(c, out, ATTEMPT_PROTOCOL);
    else if (c->state != ST_REENTERING) /* which has asked already */
        attempt_move(c, ST_REENTERING);
}

/* A read on the next connection may be older than what was heard, and find the node again. */
static bool is_own_gone_for_good(const struct attempt *c, const struct event *ev)
{
    return ev->kind == EV_OWN_FIRED && ev->gone && c->own_watched && c->has_node && !c->told;
}

/* Again until the caller has its answer. Where our create is out its outcome is awaited. */
static void on_abort(struct attempt *c, const struct event *ev, struct actions *out)
{
    attempt_tell(c, out, ev->error);
    if (is_in(c, BIT(ST_CREATING) | BIT(ST_SETTLING)))
        attempt_move(c, ST_LEAVING);
    else
        attempt_finish(c, out);
}

static void step_phase(struct attempt *c, const struct event *ev, struct actions *out)
{
    const uint32_t enter = BIT(ST_IDLE) | BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_PARENTS) |
                           BIT(ST_SETTLING) | BIT(ST_ADOPTING) | BIT(ST_RESETTING);
    const uint32_t wait = BIT(ST_LISTING) | BIT(ST_WAITING) | BIT(ST_FIRST) | BIT(ST_SUCCEEDING);
    const uint32_t hold =
        BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_LAPSED) | BIT(ST_LEAVING);

    if (is_in(c, enter))
        attempt_step_enter(c, ev, out);
    else if (is_in(c, wait))
        attempt_step_wait(c, ev, out);
    else if (is_in(c, hold))
        attempt_step_hold(c, ev, out);
}

/* What a state begins with, whichever phase moved to it. That of all others went with the move. */
static void begin(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (c->state == ST_REENTERING)
        attempt_begin_reentering(c, out);
    else if (c->state == ST_CLAIMING)
        attempt_begin_claiming(c, ev, out);
    else if (c->state == ST_LEAVING)
        attempt_begin_leaving(c, ev, out);
}

void attempt_init(struct attempt *c, enum rule rule, bool try_only)
{
    *c = (struct attempt){.state = ST_IDLE, .rule = rule, .try_only = try_only};
}

void attempt_step(struct attempt *c, const struct event *ev, struct actions *out)
{
    enum attempt_state from = c->state;
    bool over = ev->kind == EV_REPLACED || ev->kind == EV_END;
    bool own_gone = is_own_gone_for_good(c, ev);

    out->count = 0;
    if (ev->kind == EV_OWN_FIRED)
        c->own_watched = false;
    if (ev->kind == EV_LIMIT_FIRED)
        c->limit_watched = false;
    if (is_stale(c, ev))
        return;
    if (ev->kind == EV_READ && c->state != ST_HOLDING) /* a holder is told */
        c->asked |= ev->asked;
    if (over && from != ST_IDLE && !c->told)
        on_session_over(c, out, ev->kind == EV_END);
    else if (ev->kind == EV_ABORT && !c->told)
        on_abort(c, ev, out);
    else if (own_gone)
        attempt_reenter(c, out);
    else
        step_phase(c, ev, out);
    if (c->state != from)
        begin(c, ev, out);
    assert(c->state == from || attempt_may_move(from, c->state));
    assert(attempt_invariant(c));
}
