#include "candidacy.h"

#include <assert.h>
#include <string.h>

#include "back_off.h"
#include "name.h"
#include "rule.h"

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[CANDIDACY_STATES] = {
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
    return state < CANDIDACY_STATES ? table[state].name : "?";
}

bool candidacy_may_move(enum candidacy_state from, enum candidacy_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

static bool is_in(const struct candidacy *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

static bool is_told_to_lead(const struct candidacy *c)
{
    return is_in(c, BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_ASKED) | BIT(CANDIDACY_STOPPING));
}

/* A term whose rivals are of interest, or were when it was given back. */
static bool looks_out(const struct candidacy *c)
{
    return is_in(c, BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_STOPPING));
}

bool candidacy_invariant(const struct candidacy *c)
{
    const int64_t back_off = c->back_off_ms;

    if (back_off != 0 && (back_off < BACK_OFF_FIRST_MS || back_off > BACK_OFF_LAST_MS))
        return false;
    if (is_told_to_lead(c) && back_off != 0)
        return false;
    if (is_in(c, BIT(CANDIDACY_CHECKING) | BIT(CANDIDACY_PASSING)) && !c->yield)
        return false;
    if (c->higher && !c->yield)
        return false;
    if (c->state == CANDIDACY_ASKED && !c->higher && !c->revoked)
        return false;
    if (c->watched && !looks_out(c) && c->state != CANDIDACY_CHECKING)
        return false;
    return c->cause == CANDIDACY_CAUSE_NONE ||
           is_in(c, BIT(CANDIDACY_STOPPING) | BIT(CANDIDACY_OVER));
}

static void move(struct candidacy *c, enum candidacy_state to)
{
    assert(candidacy_may_move(c->state, to));
    c->state = to;
}

static struct candidacy_action *act(struct candidacy_actions *out, enum candidacy_action_kind kind)
{
    assert(out->count < CANDIDACY_ACTIONS);
    struct candidacy_action *a = &out->list[out->count++];
    *a = (struct candidacy_action){.kind = kind};
    return a;
}

static void arm(struct candidacy_actions *out, int64_t at)
{
    act(out, CANDIDACY_ACT_ARM)->at = at;
}

/* What ends while the next candidacy is under way is no matter of the handle's any more. */
static void note(const struct candidacy_event *ev, struct candidacy_actions *out,
                 enum candidacy_cause cause)
{
    if (!ev->superseded)
        act(out, CANDIDACY_ACT_NOTE)->cause = cause;
}

static void end(struct candidacy *c, struct candidacy_actions *out, enum candidacy_cause cause)
{
    struct candidacy_action *a = act(out, CANDIDACY_ACT_STOP);

    a->cause = cause;
    a->behind = is_told_to_lead(c);
    move(c, CANDIDACY_OVER);
}

/* ---- campaigning ---- */

static void enter(struct candidacy *c, const struct candidacy_event *ev,
                  struct candidacy_actions *out)
{
    move(c, CANDIDACY_QUEUED);
    if (ev->refused) {
        note(ev, out, CANDIDACY_CAUSE_REFUSED);
        end(c, out, CANDIDACY_CAUSE_REFUSED);
    } else {
        act(out, CANDIDACY_ACT_ENTER);
    }
}

/* Of an attempt that was aborted there is nothing to tell. */
static void on_failed(struct candidacy *c, const struct candidacy_event *ev,
                      struct candidacy_actions *out)
{
    if (c->state == CANDIDACY_OVER)
        return;
    note(ev, out, CANDIDACY_CAUSE_ATTEMPT);
    if (ev->why != CANDIDACY_CAUSE_ATTEMPT) {
        end(c, out, CANDIDACY_CAUSE_ATTEMPT);
        return;
    }
    move(c, CANDIDACY_PAUSED);
    c->back_off_ms = back_off_next(c->back_off_ms);
    act(out, CANDIDACY_ACT_FAIL);
    arm(out, ev->now + c->back_off_ms * 1000000);
}

/* ---- rivals ---- */

static void list(struct candidacy *c, struct candidacy_actions *out)
{
    c->watched = true;
    act(out, CANDIDACY_ACT_LIST)->tag = ++c->tag;
}

/* Whatever is still answered is stale. */
static void ignore(struct candidacy *c, struct candidacy_actions *out)
{
    c->watched = false;
    c->tag++;
    act(out, CANDIDACY_ACT_IGNORE);
}

static bool lacks_watch(const struct candidacy *c)
{
    return c->yield && !c->watched;
}

static void retry_later(const struct candidacy *c, const struct candidacy_event *ev,
                        struct candidacy_actions *out)
{
    if (lacks_watch(c))
        arm(out, ev->now + CANDIDACY_RETRY_NS);
}

/* Asked once a term, and never when it is over already. */
static void review(struct candidacy *c, const struct candidacy_event *ev,
                   struct candidacy_actions *out)
{
    if (c->state != CANDIDACY_LEADING || !ev->owned)
        return;
    if (!c->revoked && !c->higher) {
        retry_later(c, ev, out);
        return;
    }
    ignore(c, out);
    act(out, CANDIDACY_ACT_ASK);
    move(c, CANDIDACY_ASKED);
}

static void look_out(struct candidacy *c, const struct candidacy_event *ev,
                     struct candidacy_actions *out)
{
    if (lacks_watch(c))
        list(c, out);
    review(c, ev, out);
}

static void see(struct candidacy *c, const struct candidacy_event *ev)
{
    struct child child;

    for (int i = 0; i < ev->count; i++) {
        const char *name = ev->names[i];
        name_parse(name, strlen(name), &child);
        if (rule_waits(c->rule, child.kind) && strcmp(name, ev->own) != 0)
            c->higher |= name_priority(name, strlen(name)) > c->priority;
    }
}

/* ---- terms ---- */

static void lead(struct candidacy *c, const struct candidacy_event *ev,
                 struct candidacy_actions *out)
{
    move(c, CANDIDACY_LEADING);
    c->back_off_ms = 0;
    act(out, CANDIDACY_ACT_LEAD);
    look_out(c, ev, out);
}

static void on_won(struct candidacy *c, const struct candidacy_event *ev,
                   struct candidacy_actions *out)
{
    c->higher = c->revoked = false;
    if (!c->yield) {
        lead(c, ev, out);
        return;
    }
    move(c, CANDIDACY_CHECKING);
    list(c, out);
}

/* Not at once: this may be in the middle of an attempt's step, or of a session's end. */
static void pass(struct candidacy *c, const struct candidacy_event *ev,
                 struct candidacy_actions *out)
{
    move(c, CANDIDACY_PASSING);
    ignore(c, out);
    arm(out, ev->now);
}

/* A winner that cannot find out leads: priorities are a courtesy. */
static void on_answered(struct candidacy *c, const struct candidacy_event *ev,
                        struct candidacy_actions *out)
{
    if (ev->tag != c->tag)
        return;
    if (ev->kind == CANDIDACY_EV_LISTED)
        see(c, ev);
    if (c->state != CANDIDACY_CHECKING)
        review(c, ev, out);
    else if (ev->kind == CANDIDACY_EV_GONE || !ev->owned || c->higher)
        pass(c, ev, out);
    else
        lead(c, ev, out);
}

static void on_unwatched(struct candidacy *c, const struct candidacy_event *ev,
                         struct candidacy_actions *out)
{
    if (c->state == CANDIDACY_LEADING && ev->owned)
        retry_later(c, ev, out);
}

static void on_fired(struct candidacy *c, const struct candidacy_event *ev,
                     struct candidacy_actions *out)
{
    (void)ev;
    list(c, out);
}

/* Before it leads, it is asked as soon as it does. */
static void on_revoked(struct candidacy *c, const struct candidacy_event *ev,
                       struct candidacy_actions *out)
{
    c->revoked = true;
    review(c, ev, out);
}

static void on_term_told(struct candidacy *c, const struct candidacy_event *ev,
                         struct candidacy_actions *out)
{
    const enum candidacy_cause cause = ev->lost ? CANDIDACY_CAUSE_LOST : CANDIDACY_CAUSE_NONE;

    ignore(c, out);
    act(out, CANDIDACY_ACT_FORGET);
    note(ev, out, cause);
    if (c->state == CANDIDACY_STOPPING)
        end(c, out, c->cause);
    else if (ev->closing)
        end(c, out, CANDIDACY_CAUSE_CLOSED);
    else if (!c->requeue)
        end(c, out, cause);
    else
        enter(c, ev, out);
}

static void on_timer(struct candidacy *c, const struct candidacy_event *ev,
                     struct candidacy_actions *out)
{
    if (looks_out(c)) {
        look_out(c, ev, out);
        return;
    }
    if (c->state == CANDIDACY_PASSING)
        act(out, CANDIDACY_ACT_LEAVE);
    enter(c, ev, out);
}

/* ---- the user ---- */

static void on_yield(struct candidacy *c, const struct candidacy_event *ev,
                     struct candidacy_actions *out)
{
    if (is_in(c, BIT(CANDIDACY_LEADING) | BIT(CANDIDACY_ASKED)) && !ev->released)
        act(out, CANDIDACY_ACT_RESIGN);
}

static void on_stop(struct candidacy *c, const struct candidacy_event *ev,
                    struct candidacy_actions *out)
{
    c->cause = ev->closed ? CANDIDACY_CAUSE_CLOSED : CANDIDACY_CAUSE_NONE;
    if (is_told_to_lead(c)) { /* its end is to be told first */
        move(c, CANDIDACY_STOPPING);
        act(out, CANDIDACY_ACT_RESIGN);
        return;
    }
    if (c->state != CANDIDACY_PAUSED)
        note(ev, out, c->cause);
    if (c->state == CANDIDACY_QUEUED)
        act(out, CANDIDACY_ACT_ABORT);
    if (is_in(c, BIT(CANDIDACY_CHECKING) | BIT(CANDIDACY_PASSING))) {
        ignore(c, out);
        act(out, CANDIDACY_ACT_LEAVE);
    }
    end(c, out, c->cause);
}

void candidacy_step(struct candidacy *c, const struct candidacy_event *ev,
                    struct candidacy_actions *out)
{
    static void (*const handlers[])(struct candidacy * c, const struct candidacy_event *ev,
                                    struct candidacy_actions *out) = {
        [CANDIDACY_EV_TIMER] = on_timer,         [CANDIDACY_EV_WON] = on_won,
        [CANDIDACY_EV_FAILED] = on_failed,       [CANDIDACY_EV_LISTED] = on_answered,
        [CANDIDACY_EV_UNLISTED] = on_answered,   [CANDIDACY_EV_GONE] = on_answered,
        [CANDIDACY_EV_UNWATCHED] = on_unwatched, [CANDIDACY_EV_FIRED] = on_fired,
        [CANDIDACY_EV_REVOKED] = on_revoked,     [CANDIDACY_EV_TERM_TOLD] = on_term_told,
        [CANDIDACY_EV_YIELD] = on_yield,         [CANDIDACY_EV_STOP] = on_stop,
    };

    out->count = 0;
    c->watched = ev->watched;
    handlers[ev->kind](c, ev, out);
    assert(candidacy_invariant(c));
}
