#include "candidacy.h"

#include <assert.h>
#include <string.h>

#include "back_off.h"
#include "name.h"

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} candidacy_table[CANDIDACY_STATES] = {
    [CANDIDACY_PAUSED] = {"paused", BIT(CANDIDACY_QUEUED) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_QUEUED] = {"queued", BIT(CANDIDACY_PAUSED) | BIT(CANDIDACY_CHECKING) |
                                        BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_CHECKING] = {"checking",
                            BIT(CANDIDACY_PASSING) | BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_PASSING] = {"passing", BIT(CANDIDACY_QUEUED) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_LEADING] = {"leading", BIT(CANDIDACY_ASKED) | BIT(CANDIDACY_STOPPING) |
                                          BIT(CANDIDACY_QUEUED) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_ASKED] = {"asked",
                         BIT(CANDIDACY_STOPPING) | BIT(CANDIDACY_QUEUED) | BIT(CANDIDACY_OVER)},
    [CANDIDACY_STOPPING] = {"stopping", BIT(CANDIDACY_OVER)},
    [CANDIDACY_OVER] = {"over", 0},
};

const char *candidacy_state_name(enum candidacy_state state)
{
    return state < CANDIDACY_STATES ? candidacy_table[state].name : "?";
}

bool candidacy_may_move(enum candidacy_state from, enum candidacy_state to)
{
    return (candidacy_table[from].next & BIT(to)) != 0;
}

static bool candidacy_is_in(const struct candidacy *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

static bool candidacy_leads(const struct candidacy *c)
{
    return candidacy_is_in(c,
                           BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_ASKED) | BIT(CANDIDACY_STOPPING));
}

/* Whether it may have a watch on its rivals: in a term in which it was not asked to step down, or
 * in its last one. */
static bool candidacy_looks_out(const struct candidacy *c)
{
    return candidacy_is_in(c, BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_STOPPING));
}

bool candidacy_invariant(const struct candidacy *c)
{
    const int64_t back_off = c->back_off_ms;

    if (back_off != 0 && (back_off < BACK_OFF_FIRST_MS || back_off > BACK_OFF_LAST_MS))
        return false;
    if (candidacy_leads(c) && back_off != 0)
        return false;
    if (candidacy_is_in(c, BIT(CANDIDACY_CHECKING) | BIT(CANDIDACY_PASSING)) && !c->yield)
        return false;
    if (c->higher && !c->yield)
        return false;
    if (c->state == CANDIDACY_ASKED && !c->higher && !c->revoked)
        return false;
    if (c->watched && !candidacy_looks_out(c) && c->state != CANDIDACY_CHECKING)
        return false;
    return c->cause == CANDIDACY_CAUSE_NONE ||
           candidacy_is_in(c, BIT(CANDIDACY_STOPPING) | BIT(CANDIDACY_OVER));
}

static void candidacy_move(struct candidacy *c, enum candidacy_state to)
{
    assert(candidacy_may_move(c->state, to));
    c->state = to;
}

static void candidacy_tell_driver(struct machine_actions *out, enum candidacy_tell what,
                                  enum candidacy_cause cause)
{
    machine_tell(out, (int)what, STORE_OK);
    out->list[out->count - 1].why = (int)cause;
}

static void candidacy_arm(struct machine_actions *out, int64_t at)
{
    machine_act(out, MACHINE_ACT_ARM)->at = at;
}

/* Tells the cause of the end of an attempt or a term, unless the handle has begun another
 * candidacy. */
static void candidacy_tell_cause(const struct candidacy_moment *m, struct machine_actions *out,
                                 enum candidacy_cause cause)
{
    if (!m->superseded)
        candidacy_tell_driver(out, CANDIDACY_NOTE, cause);
}

/* Ends the watch on the rivals, and the timer. */
static void candidacy_end_watch(struct candidacy *c, struct machine_actions *out)
{
    c->watched = false;
    machine_act(out, MACHINE_ACT_END);
}

static void candidacy_end(struct candidacy *c, struct machine_actions *out,
                          enum candidacy_cause cause)
{
    const bool after_term = candidacy_leads(c);

    if (!after_term)
        candidacy_end_watch(c, out);
    candidacy_move(c, CANDIDACY_OVER);
    candidacy_tell_driver(out, after_term ? CANDIDACY_STOP_AT_ONCE : CANDIDACY_STOP, cause);
}

/* ---- campaigning ---- */

static void candidacy_enter(struct candidacy *c, const struct candidacy_moment *m,
                            struct machine_actions *out)
{
    candidacy_move(c, CANDIDACY_QUEUED);
    if (m->refused) {
        candidacy_tell_cause(m, out, CANDIDACY_CAUSE_REFUSED);
        candidacy_end(c, out, CANDIDACY_CAUSE_REFUSED);
    } else {
        candidacy_tell_driver(out, CANDIDACY_ENTER, CANDIDACY_CAUSE_NONE);
    }
}

/* Handles the failure of an attempt. An attempt that was aborted has nothing to tell. */
static void candidacy_on_failed(struct candidacy *c, const struct candidacy_moment *m,
                                struct machine_actions *out)
{
    if (c->state == CANDIDACY_OVER)
        return;
    candidacy_tell_cause(m, out, CANDIDACY_CAUSE_ATTEMPT);
    if (m->why != CANDIDACY_CAUSE_ATTEMPT) {
        candidacy_end(c, out, CANDIDACY_CAUSE_ATTEMPT);
        return;
    }
    candidacy_move(c, CANDIDACY_PAUSED);
    c->back_off_ms = back_off_next(c->back_off_ms);
    candidacy_tell_driver(out, CANDIDACY_FAIL, CANDIDACY_CAUSE_ATTEMPT);
    candidacy_arm(out, m->now + c->back_off_ms * 1000000);
}

/* ---- rivals ---- */

static void candidacy_list(struct candidacy *c, struct machine_actions *out, bool watch)
{
    c->watched = watch;
    machine_ask(out, STORE_LIST, CANDIDACY_DIRECTORY)->watch = watch;
}

static bool candidacy_needs_watch(const struct candidacy *c)
{
    return c->yield && !c->watched;
}

static void candidacy_retry_later(const struct candidacy *c, const struct candidacy_moment *m,
                                  struct machine_actions *out)
{
    if (candidacy_needs_watch(c))
        candidacy_arm(out, m->now + CANDIDACY_RETRY_NS);
}

/* Asks the user to step down, if there is a reason: once a term, and not after its end. */
static void candidacy_review(struct candidacy *c, const struct candidacy_moment *m,
                             struct machine_actions *out)
{
    if (c->state != CANDIDACY_LEADING || !m->owned)
        return;
    if (!c->revoked && !c->higher) {
        candidacy_retry_later(c, m, out);
        return;
    }
    candidacy_end_watch(c, out);
    candidacy_tell_driver(out, CANDIDACY_ASK, CANDIDACY_CAUSE_NONE);
    candidacy_move(c, CANDIDACY_ASKED);
}

/* Watches the rivals, if no watch stands. Asks the user to step down if there is a reason. */
static void candidacy_look_out(struct candidacy *c, const struct candidacy_moment *m,
                               struct machine_actions *out)
{
    if (candidacy_needs_watch(c))
        candidacy_list(c, out, true);
    candidacy_review(c, m, out);
}

/* Finds out whether a candidate of the list has a higher priority. */
static void candidacy_find_higher(struct candidacy *c, const struct candidacy_moment *m)
{
    struct child child;

    for (size_t i = 0; i < m->count; i++) {
        const char *name = m->names[i];
        name_parse(name, strlen(name), &child);
        if (rule_waits(c->rule, child.kind) && strcmp(name, m->own) != 0)
            c->higher |= name_priority(name, strlen(name)) > c->priority;
    }
}

/* ---- terms ---- */

static void candidacy_lead(struct candidacy *c, const struct candidacy_moment *m,
                           struct machine_actions *out)
{
    candidacy_move(c, CANDIDACY_LEADING);
    c->back_off_ms = 0;
    candidacy_tell_driver(out, CANDIDACY_LEAD, CANDIDACY_CAUSE_NONE);
    candidacy_look_out(c, m, out);
}

static void candidacy_on_won(struct candidacy *c, const struct candidacy_moment *m,
                             struct machine_actions *out)
{
    c->higher = c->revoked = false;
    if (!c->yield) {
        candidacy_lead(c, m, out);
        return;
    }
    candidacy_move(c, CANDIDACY_CHECKING);
    candidacy_list(c, out, true);
}

/* Gives the grant back for another candidate. The timer does so, since an attempt's step, or the
 * end of a session, may be under way now. */
static void candidacy_pass(struct candidacy *c, const struct candidacy_moment *m,
                           struct machine_actions *out)
{
    candidacy_move(c, CANDIDACY_PASSING);
    candidacy_end_watch(c, out);
    candidacy_arm(out, m->now);
}

/* Handles a list of the candidates. A winner that cannot get a list leads: priorities are a
 * courtesy. */
static void candidacy_on_listed(struct candidacy *c, const struct machine_event *ev,
                                const struct candidacy_moment *m, struct machine_actions *out)
{
    if (ev->rc == STORE_OK)
        candidacy_find_higher(c, m);
    else
        c->watched = false;
    if (c->state != CANDIDACY_CHECKING)
        candidacy_review(c, m, out);
    else if (!m->owned || c->higher)
        candidacy_pass(c, m, out);
    else
        candidacy_lead(c, m, out);
}

static void candidacy_on_session(struct candidacy *c, const struct candidacy_moment *m,
                                 struct machine_actions *out)
{
    c->watched = false;
    if (c->state == CANDIDACY_CHECKING)
        candidacy_pass(c, m, out);
}

/* Handles the word in the grant's node that asks the leader to give way. Before it leads, the user
 * is asked as soon as it does. */
static void candidacy_on_revoked(struct candidacy *c, const struct candidacy_moment *m,
                                 struct machine_actions *out)
{
    c->revoked = true;
    candidacy_review(c, m, out);
}

static void candidacy_on_term_told(struct candidacy *c, const struct candidacy_moment *m,
                                   struct machine_actions *out)
{
    const enum candidacy_cause cause = m->lost ? CANDIDACY_CAUSE_LOST : CANDIDACY_CAUSE_NONE;

    candidacy_end_watch(c, out);
    candidacy_tell_driver(out, CANDIDACY_FORGET, CANDIDACY_CAUSE_NONE);
    candidacy_tell_cause(m, out, cause);
    if (c->state == CANDIDACY_STOPPING)
        candidacy_end(c, out, c->cause);
    else if (m->closing)
        candidacy_end(c, out, CANDIDACY_CAUSE_CLOSED);
    else if (c->once)
        candidacy_end(c, out, cause);
    else
        candidacy_enter(c, m, out);
}

static void candidacy_on_timer(struct candidacy *c, const struct candidacy_moment *m,
                               struct machine_actions *out)
{
    if (candidacy_looks_out(c)) {
        candidacy_look_out(c, m, out);
        return;
    }
    if (c->state == CANDIDACY_PASSING)
        candidacy_tell_driver(out, CANDIDACY_LEAVE, CANDIDACY_CAUSE_NONE);
    candidacy_enter(c, m, out);
}

/* ---- the user ---- */

static void candidacy_on_stop(struct candidacy *c, const struct candidacy_moment *m,
                              struct machine_actions *out)
{
    c->cause = m->closed ? CANDIDACY_CAUSE_CLOSED : CANDIDACY_CAUSE_NONE;
    if (candidacy_leads(c)) { /* the user is told of the term's end first */
        candidacy_move(c, CANDIDACY_STOPPING);
        candidacy_tell_driver(out, CANDIDACY_RESIGN, CANDIDACY_CAUSE_NONE);
        return;
    }
    if (c->state != CANDIDACY_PAUSED)
        candidacy_tell_cause(m, out, c->cause);
    if (c->state == CANDIDACY_QUEUED)
        candidacy_tell_driver(out, CANDIDACY_ABORT, CANDIDACY_CAUSE_NONE);
    if (candidacy_is_in(c, BIT(CANDIDACY_CHECKING) | BIT(CANDIDACY_PASSING)))
        candidacy_tell_driver(out, CANDIDACY_LEAVE, CANDIDACY_CAUSE_NONE);
    candidacy_end(c, out, c->cause);
}

void candidacy_step(struct candidacy *c, const struct machine_event *ev,
                    const struct candidacy_moment *m, struct machine_actions *out)
{
    static void (*const handlers[])(struct candidacy * c, const struct candidacy_moment *m,
                                    struct machine_actions *out) = {
        [MACHINE_EV_BEGIN] = candidacy_enter,
        [MACHINE_EV_TIMER] = candidacy_on_timer,
        [MACHINE_EV_STOP] = candidacy_on_stop,
        [MACHINE_EV_SESSION] = candidacy_on_session,
        [MACHINE_EV_OVER] = candidacy_on_session,
        [CANDIDACY_EV_WON] = candidacy_on_won,
        [CANDIDACY_EV_FAILED] = candidacy_on_failed,
        [CANDIDACY_EV_REVOKED] = candidacy_on_revoked,
        [CANDIDACY_EV_TERM_TOLD] = candidacy_on_term_told,
    };

    if (ev->kind == MACHINE_EV_ANSWER && ev->rc == STORE_LIMIT) {
        /* no watch can be set: a list without one is worth less, but something */
        candidacy_list(c, out, false);
        if (c->state == CANDIDACY_LEADING && m->owned)
            candidacy_retry_later(c, m, out);
    } else if (ev->kind == MACHINE_EV_ANSWER) {
        candidacy_on_listed(c, ev, m, out);
    } else if (ev->kind == MACHINE_EV_FIRED) {
        candidacy_list(c, out, true);
    } else if (ev->kind == CANDIDACY_EV_YIELD) {
        if (candidacy_is_in(c, BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_ASKED)) && !m->released)
            candidacy_tell_driver(out, CANDIDACY_RESIGN, CANDIDACY_CAUSE_NONE);
    } else {
        handlers[ev->kind](c, m, out);
    }
    assert(candidacy_invariant(c));
}
