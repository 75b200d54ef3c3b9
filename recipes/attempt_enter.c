/* From nothing to a node of our own: create it, make its directory, settle a create whose outcome
 * is unknown. Ends in LISTING, with the list under way. */
#include "attempt_steps.h"
#include "rule.h"

static void forget_place(struct attempt *c)
{
    c->has_node = false;
    c->own_watched = false;
    c->asked = false;
    c->others = OTHERS_UNKNOWN;
    c->ahead = 0;
    c->hintable = false;
    c->first = false;
    c->awaits = false;
}

void attempt_begin_reentering(struct attempt *c, struct actions *out)
{
    forget_place(c);
    attempt_ask(c, out, ACT_ADMIT);
}

/* The list rides behind the create: one round trip for both, FIFO within a session. */
static void enter(struct attempt *c, struct actions *out)
{
    forget_place(c);
    attempt_ask(c, out, ACT_CREATE);
    if (c->rule == RULE_LEASE && !c->counts && c->limit_zxid == 0)
        attempt_act(out, ACT_READ_LIMIT)->tag = c->tag;
    attempt_act(out, ACT_LIST)->tag = c->tag;
    out->list[out->count - 1].watch = c->watch_children;
    attempt_move(c, ST_CREATING);
}

static void exhausted(struct attempt *c, struct actions *out)
{
    if (c->has_node)
        attempt_act(out, ACT_DELETE);
    c->has_node = false;
    attempt_ask(c, out, ACT_RESET);
    attempt_move(c, ST_RESETTING);
}

/* Reaped while they were being made: once more. */
static void on_parents(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK)
        enter(c, out);
    else if (ev->answer == ANSWER_NONODE)
        attempt_reenter(c, out);
    else
        attempt_fail_answer(c, out, ev->answer);
}

/* Where the directory went, numbers begin at 0 again. */
static void on_reset(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK || ev->answer == ANSWER_NONODE)
        attempt_reenter(c, out);
    else
        attempt_fail(c, out, ATTEMPT_OVERFLOW);
}

static void on_no_directory(struct attempt *c, struct actions *out)
{
    if (c->rule == RULE_LEASE && !c->has_limit) {
        attempt_fail(c, out, ATTEMPT_NOLIMIT);
    } else if (attempt_next_round(c, out)) {
        attempt_ask(c, out, ACT_PARENTS);
        attempt_move(c, ST_PARENTS);
    }
}

static void on_created(struct attempt *c, const struct event *ev, struct actions *out)
{
    switch (ev->answer) {
    case ANSWER_OK:
        c->has_node = true;
        c->number = ev->number;
        c->token = ev->czxid;
        if (rule_exhausted(ev->number))
            exhausted(c, out);
        else if (ev->ephemeral_owner != ev->session)
            attempt_reenter(c, out);
        else
            attempt_move(c, ST_LISTING);
        break;
    case ANSWER_UNKNOWN:
        attempt_ask(c, out, ACT_BARRIER);
        attempt_move(c, ST_SETTLING);
        break;
    case ANSWER_NONODE:
        on_no_directory(c, out);
        break;
    case ANSWER_EXISTS: /* an idle server at the limit hands out the last number again and again */
        exhausted(c, out);
        break;
    default:
        attempt_fail_answer(c, out, ev->answer);
    }
}

/* The caller is told, and need not wait until it is known what stands. */
static void fail_unsettled(struct attempt *c, struct actions *out, enum answer answer)
{
    attempt_tell(c, out, attempt_error_of(answer));
    attempt_move(c, ST_LEAVING);
}

static void on_passed(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK)
        attempt_ask(c, out, ACT_LIST);
    else
        fail_unsettled(c, out, ev->answer);
}

/* The list behind the barrier tells whether our create was done. */
static void on_settled(struct attempt *c, const struct event *ev, struct actions *out)
{
    struct place place = {.found = false};

    if (ev->answer == ANSWER_OK)
        place = rule_place(ev->children, ev->count, c->rule, INT32_MAX);
    else if (ev->answer != ANSWER_NONODE) {
        fail_unsettled(c, out, ev->answer);
        return;
    }
    if (!place.found) {
        enter(c, out);
        return;
    }
    c->has_node = true;
    c->number = place.own;
    attempt_act(out, ACT_ADOPT)->id = place.own_id;
    if (place.spare)
        attempt_act(out, ACT_DELETE_SPARE)->number = c->number;
    if (rule_exhausted(c->number)) {
        exhausted(c, out);
        return;
    }
    attempt_ask(c, out, ACT_READ);
    attempt_move(c, ST_ADOPTING);
}

static void on_adopted(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (attempt_is_own_gone(ev)) {
        attempt_reenter(c, out);
        return;
    }
    if (ev->answer != ANSWER_OK) {
        attempt_fail_answer(c, out, ev->answer);
        return;
    }
    c->token = ev->czxid;
    attempt_own_watched(c, ev);
    attempt_ask(c, out, ACT_LIST);
    attempt_move(c, ST_LISTING);
}

void attempt_step_enter(struct attempt *c, const struct event *ev, struct actions *out)
{
    enum attempt_state s = c->state;

    if ((s == ST_IDLE || s == ST_REENTERING) && ev->kind == EV_ENTER)
        enter(c, out);
    else if (s == ST_CREATING && ev->kind == EV_CREATED)
        on_created(c, ev, out);
    else if (s == ST_PARENTS && ev->kind == EV_PARENTS_MADE)
        on_parents(c, ev, out);
    else if (s == ST_SETTLING && ev->kind == EV_PASSED)
        on_passed(c, ev, out);
    else if (s == ST_SETTLING && ev->kind == EV_LISTED)
        on_settled(c, ev, out);
    else if (s == ST_ADOPTING && ev->kind == EV_READ)
        on_adopted(c, ev, out);
    else if (s == ST_RESETTING && ev->kind == EV_RESET)
        on_reset(c, ev, out);
}
