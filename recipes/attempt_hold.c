/* From the head of the queue to the end: prove the node, hold, lose or give back, and leave nothing
 * behind. */
#include "attempt_steps.h"
#include "rule.h"

/* Only of a kind that would wait for its own kind, and holds alone, does a grant prove that nobody
 * stands before. A version below 0 has come round, and may be the one that means any. */
static bool is_to_hint(const struct attempt *c)
{
    return c->rule != RULE_LEASE && rule_waits(c->rule, rule_kind(c->rule)) &&
           !rule_is_shared(rule_kind(c->rule)) && c->long_queue > 0 && c->count >= c->long_queue &&
           c->hintable && c->version >= 0;
}

/* The hint is sent first: whoever is granted may give back at once, and its delete must come behind
 * it. */
static void grant(struct attempt *c, struct actions *out)
{
    if (is_to_hint(c))
        attempt_act(out, ACT_SET_HINT)->number = c->version;
    attempt_act(out, ACT_GRANT)->others = c->others;
    c->told = true;
    c->awaits = false;
    if (!c->own_watched && attempt_needs_own_watch(c))
        attempt_act(out, ACT_ARM)->number = ATTEMPT_OWN_WATCH_MS;
    if (c->asked)
        attempt_act(out, ACT_ASKED);
    attempt_move(c, ST_HOLDING);
}

/* For a session timeout of one connection: others wait behind it. */
static void await_deadline(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (c->awaits && c->own_connection == ev->connection)
        return;
    c->awaits = true;
    c->own_connection = ev->connection;
    attempt_act(out, ACT_ARM)->number = ev->timeout_ms;
}

void attempt_begin_claiming(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->in_time)
        grant(c, out);
    else
        await_deadline(c, ev, out);
}

static void make_way(struct attempt *c, struct actions *out)
{
    if (c->try_only)
        attempt_fail(c, out, ATTEMPT_UNPROVED);
    else
        attempt_reenter(c, out);
}

static void on_proof(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (attempt_is_own_gone(ev))
        attempt_reenter(c, out);
    else if (ev->answer != ANSWER_OK)
        attempt_fail_answer(c, out, ev->answer);
    else
        attempt_move(c, ST_CLAIMING);
}

static void prove(struct attempt *c, struct actions *out)
{
    attempt_ask(c, out, ACT_PROVE);
    attempt_move(c, ST_PROVING);
}

/* It may have taken long until a deadline came, and who was not told what became of the own node
 * meanwhile asks once more. */
static void step_claiming(struct attempt *c, const struct event *ev, struct actions *out)
{
    bool due = ev->kind == EV_EXTENDED && ev->in_time;

    if (due && c->own_watched)
        grant(c, out);
    else if (due || ev->kind == EV_OWN_FIRED)
        prove(c, out);
    else
        await_deadline(c, ev, out);
}

/* ---- others ---- */

static void tell_others(struct attempt *c, struct actions *out, enum attempt_others others)
{
    c->others = others;
    attempt_act(out, ACT_OTHERS)->others = others;
}

static void look(struct attempt *c, struct actions *out)
{
    if (c->looking)
        return;
    if (c->others == OTHERS_NONE) {
        tell_others(c, out, OTHERS_NONE);
        return;
    }
    c->looking = true;
    if (c->rule == RULE_LEASE && !c->counts)
        attempt_act(out, ACT_READ_LIMIT)->tag = ATTEMPT_LOOK_TAG;
    struct action *a = attempt_act(out, ACT_LIST);
    a->tag = ATTEMPT_LOOK_TAG;
    a->watch = true;
}

/* The watch on the children would have told of the own node's end, too. Not all who come wait for a
 * reader or for a permit: there a list tells. */
static void on_children_fired(struct attempt *c, struct actions *out)
{
    if (!c->own_watched)
        attempt_act(out, ACT_ARM)->number = ATTEMPT_OWN_WATCH_MS;
    if (rule_kind(c->rule) != CHILD_READ && c->rule != RULE_LEASE) {
        tell_others(c, out, OTHERS_WAIT);
        return;
    }
    c->others = OTHERS_UNKNOWN;
    look(c, out);
}

/* A list without the own node proves nothing; the own watch will. */
static void on_looked(struct attempt *c, const struct event *ev, struct actions *out)
{
    struct place place = {.present = false};

    c->looking = false;
    if (ev->answer == ANSWER_OK)
        place = rule_place(ev->children, ev->count, c->rule, c->number);
    tell_others(c, out, place.present ? attempt_others_in(c, ev, &place) : OTHERS_UNKNOWN);
}

static void on_own_read(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (attempt_is_own_gone(ev))
        attempt_end_without_node(c, out, LOSS_DELETED);
    else if (ev->answer == ANSWER_OK)
        attempt_own_watched(c, ev);
    else
        attempt_act(out, ACT_ARM)->number = ATTEMPT_RETRY_MS;
    if (c->state == ST_HOLDING && ev->asked && !c->asked) {
        c->asked = true;
        attempt_act(out, ACT_ASKED);
    }
}

/* What was written before shows in the read; the watch that it leaves tells of the rest. */
static void heed(struct attempt *c, struct actions *out)
{
    if (!c->own_watched)
        attempt_ask(c, out, ACT_READ);
    c->heeds = true;
}

static void step_holding(struct attempt *c, const struct event *ev, struct actions *out)
{
    switch (ev->kind) {
    case EV_RELEASE:
        attempt_finish(c, out);
        break;
    case EV_LAPSED:
        attempt_act(out, ACT_REVOKE)->loss = LOSS_DEADLINE;
        attempt_move(c, ST_LAPSED);
        break;
    case EV_TIMER:
        if (!c->own_watched && attempt_needs_own_watch(c)) /* or it is of a try that waited */
            attempt_ask(c, out, ACT_READ);
        break;
    case EV_LOOK:
        look(c, out);
        break;
    case EV_HEED:
        heed(c, out);
        break;
    case EV_LISTED:
        if (c->looking)
            on_looked(c, ev, out);
        break;
    case EV_LIMIT_READ:
        if (ev->answer == ANSWER_OK && ev->limit > 0)
            attempt_learn_limit(c, ev);
        break;
    case EV_CHILDREN_FIRED:
        on_children_fired(c, out);
        break;
    case EV_OWN_FIRED:
        if (ev->gone)
            attempt_end_without_node(c, out, LOSS_DELETED);
        else
            attempt_ask(c, out, ACT_READ);
        break;
    case EV_READ:
        on_own_read(c, ev, out);
        break;
    default:
        break;
    }
}

/* To look was refused. */
static void unsettled(struct attempt *c, struct actions *out)
{
    const uint32_t doublings = 6; /* to what is more than the last */
    int32_t pause_ms = ATTEMPT_SETTLE_FIRST_MS << c->rounds;

    if (c->rounds < doublings)
        c->rounds++;
    attempt_act(out, ACT_ORPHAN);
    attempt_act(out, ACT_ARM)->number =
        pause_ms < ATTEMPT_SETTLE_LAST_MS ? pause_ms : ATTEMPT_SETTLE_LAST_MS;
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
        unsettled(c, out);
    }
}

void attempt_begin_leaving(struct attempt *c, const struct event *ev, struct actions *out)
{
    c->rounds = 0;
    step_leaving(c, ev, out);
}

void attempt_step_hold(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->kind == EV_REPLACED || ev->kind == EV_END)
        attempt_end_without_node(c, out, ev->loss);
    else if (c->state != ST_HOLDING && ev->kind == EV_CHILDREN_FIRED)
        c->others = OTHERS_WAIT;
    else if (c->awaits && ev->kind == EV_TIMER && c->own_connection == ev->connection)
        make_way(c, out);
    else if (c->state == ST_PROVING && ev->kind == EV_READ)
        on_proof(c, ev, out);
    else if (c->state == ST_CLAIMING)
        step_claiming(c, ev, out);
    else if (c->state == ST_HOLDING)
        step_holding(c, ev, out);
    else if (c->state == ST_LAPSED && ev->kind == EV_RELEASE)
        attempt_finish(c, out);
    else if (c->state == ST_LEAVING)
        step_leaving(c, ev, out);
}
