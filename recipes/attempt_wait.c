/* From a node of our own to the head of the queue: who is ahead, and when is the predecessor gone?
 * Ends in CLAIMING where a list has proved the node, or the silence of its watch, or in PROVING
 * with the proof under way. */
#include "attempt_steps.h"
#include "rule.h"

/* What was seen of the directory. Data that were read, and are of that version still, are known
 * without reading them again. */
static void learn(struct attempt *c, const struct event *ev)
{
    if (ev->hint != HINT_UNREAD)
        c->hintable = ev->hint != HINT_FOREIGN;
    else if (ev->version != c->version)
        c->hintable = false;
    c->version = ev->version;
    c->count = (uint32_t)ev->count;
}

/* Whether there is a child that makes it unsafe to queue here: it came first and we do not wait for
 * it, so both could hold. Who came after us is its own affair: one of ours is told the same. */
static bool is_mixed(const struct attempt *c, const struct event *ev, const struct place *place,
                     uint32_t *ret_id)
{
    if (c->strict && rule_foreign(ev->children, ev->count, ret_id))
        return true;
    *ret_id = place->incompatible_id;
    return place->incompatible;
}

/* Events come in the order of changes, but only those of one connection: on the next one what was
 * missed comes in any order. docs/design/hand-over.md has the argument. */
static bool is_own_silent(const struct attempt *c, const struct event *ev)
{
    return c->own_watched && c->own_connection == ev->connection;
}

/* Behind the head the own node is watched first, so that its silence can prove it. */
static void wait_for(struct attempt *c, const struct event *ev, struct actions *out,
                     uint32_t predecessor)
{
    if (c->ahead == 1 && !is_own_silent(c, ev) && !rule_is_shared(rule_kind(c->rule))) {
        c->own_watched = false;
        attempt_ask(c, out, ACT_READ);
        attempt_act(out, ACT_WATCH)->tag = c->tag;
    } else {
        attempt_ask(c, out, ACT_WATCH);
    }
    attempt_wait_for(c, out, predecessor);
}

/* The own node, which others see, is what asks it to. */
static bool may_yield(const struct attempt *c, const struct place *place)
{
    return place->ahead == 1 && place->retains && !c->waited;
}

static void on_snapshot(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE) {
        attempt_reenter(c, out);
        return;
    }
    if (ev->answer != ANSWER_OK) {
        attempt_fail_answer(c, out, ev->answer);
        return;
    }
    struct place place = rule_place(ev->children, ev->count, c->rule, c->number);
    uint32_t incompatible;
    if (!place.present) {
        attempt_reenter(c, out);
        return;
    }
    if (attempt_lacks_limit(c, ev, out))
        return;
    c->rounds = 0;
    if (place.spare)
        attempt_act(out, ACT_DELETE_SPARE)->number = c->number;
    c->ahead = place.ahead;
    c->others = attempt_others_in(c, ev, &place);
    if (c->rule != RULE_LEASE)
        learn(c, ev);
    if (is_mixed(c, ev, &place, &incompatible)) {
        attempt_tell(c, out, ATTEMPT_LAYOUT);
        out->list[out->count - 1].id = incompatible;
        attempt_finish(c, out);
    } else if (c->rule == RULE_LEASE) {
        attempt_take_place(c, ev, out, &place);
    } else if (place.ahead == 0) {
        attempt_move(c, ST_CLAIMING);
    } else if (c->try_only && !may_yield(c, &place)) {
        attempt_fail(c, out, ATTEMPT_BUSY);
    } else {
        if (c->try_only)
            attempt_act(out, ACT_ARM)->number = ATTEMPT_YIELD_MS;
        wait_for(c, ev, out, place.predecessor);
    }
}

static void list_again(struct attempt *c, struct actions *out)
{
    attempt_ask(c, out, ACT_LIST);
    attempt_move(c, ST_LISTING);
}

static bool is_in_long_queue(const struct attempt *c)
{
    return c->long_queue > 0 && c->ahead >= c->long_queue;
}

/* When the predecessor was the head, its end makes us the head: only our own node needs proof. It
 * was, if nobody else was ahead; or if a hint says so, which is worth asking for in a long queue.
 * The hint is read first: the own node, found behind it, has stood in the directory that had it.
 * Where numbers run out all this proves nothing: another may have come with a lower one. */
static void on_predecessor_gone(struct attempt *c, const struct event *ev, struct actions *out)
{
    c->watching = false;
    if (rule_is_shared(rule_kind(c->rule)) || c->number >= RULE_NUMBER_WARN) {
        list_again(c, out);
    } else if (c->ahead == 1 && is_own_silent(c, ev) && !c->shared_session) {
        attempt_move(c, ST_CLAIMING);
    } else if (c->ahead == 1) {
        attempt_ask(c, out, ACT_PROVE);
        attempt_move(c, ST_PROVING);
    } else if (is_in_long_queue(c)) {
        attempt_ask(c, out, ACT_READ_HINT);
        attempt_act(out, ACT_PROVE)->tag = c->tag;
        attempt_move(c, ST_SUCCEEDING);
    } else {
        list_again(c, out);
    }
}

/* A try has not come to wait: whatever keeps it from that, another is first. */
static void give_up(struct attempt *c, const struct event *ev, struct actions *out)
{
    attempt_fail(c, out, c->try_only ? ATTEMPT_BUSY : attempt_error_of(ev->answer));
}

/* The read behind the head, which leaves the own watch. A node that is gone cannot come back, so
 * there is nothing to wait for at this place. */
static void on_own_read(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (attempt_is_own_gone(ev))
        attempt_reenter(c, out);
    else if (ev->answer == ANSWER_OK)
        attempt_own_watched(c, ev);
}

static void step_waiting(struct attempt *c, const struct event *ev, struct actions *out)
{
    bool gone = ev->kind == EV_PRED_FIRED ? ev->gone : ev->answer == ANSWER_NONODE;

    if (ev->kind == EV_READ)
        on_own_read(c, ev, out);
    if (ev->kind == EV_TIMER && c->try_only)
        give_up(c, ev, out);
    if (ev->kind != EV_PRED_FIRED && ev->kind != EV_WATCHED)
        return;
    if (gone)
        on_predecessor_gone(c, ev, out);
    else if (ev->kind == EV_PRED_FIRED)
        attempt_ask(c, out, ACT_REWATCH);
    else if (ev->answer != ANSWER_OK)
        give_up(c, ev, out);
    else
        c->shared_session = ev->ephemeral_owner == ev->session;
}

/* The proof is under way already, unless it came first: then it proves nothing. */
static void step_succeeding(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->kind == EV_HINT_READ && ev->answer == ANSWER_OK) {
        learn(c, ev);
        if (ev->hint == HINT_NAMED)
            attempt_move(c, ST_PROVING);
        else
            list_again(c, out);
    } else if (ev->kind == EV_HINT_READ || ev->kind == EV_READ) {
        list_again(c, out);
    }
}

void attempt_step_wait(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (c->state == ST_WAITING && c->rule == RULE_LEASE)
        attempt_step_in_line(c, ev, out);
    else if (c->state == ST_WAITING)
        step_waiting(c, ev, out);
    else if (c->state == ST_FIRST)
        attempt_step_first(c, ev, out);
    else if (c->state == ST_SUCCEEDING)
        step_succeeding(c, ev, out);
    else if (c->state == ST_LISTING && ev->kind == EV_LISTED)
        on_snapshot(c, ev, out);
    else if (c->state == ST_LISTING && ev->kind == EV_LIMIT_READ)
        attempt_limit_read(c, ev, out);
}
