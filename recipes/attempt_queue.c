#include "attempt_steps.h"
#include "rule.h"

/* A directory that vanishes this often in one attempt is somebody's bug. */
enum { ROUNDS_MAX = 100 };

static int error_of(enum answer answer)
{
    return answer == ANSWER_REFUSED      ? ATTEMPT_REFUSED
           : answer == ANSWER_NOCHILDREN ? ATTEMPT_NOCHILDREN
           : answer == ANSWER_LIMIT      ? ATTEMPT_LIMIT
                                         : ATTEMPT_PROTOCOL;
}

static void fail_answer(struct attempt *c, struct actions *out, enum answer answer)
{
    attempt_fail(c, out, error_of(answer));
}

static void forget_place(struct attempt *c)
{
    c->has_node = false;
    c->own_watched = false;
    c->ahead = 0;
    c->hintable = false;
}

/* The list rides behind the create: one round trip for both, FIFO within a session. */
void attempt_enter(struct attempt *c, struct actions *out)
{
    forget_place(c);
    attempt_ask(c, out, ACT_CREATE);
    attempt_act(out, ACT_LIST)->tag = c->tag;
    attempt_move(c, ST_CREATING);
}

/* Answers to what was asked before are stale from here on. */
void attempt_admit(struct attempt *c, struct actions *out)
{
    forget_place(c);
    attempt_ask(c, out, ACT_ADMIT);
    attempt_move(c, ST_REENTERING);
}

/* The own node is not there: back to the tail. Deleting what is gone costs one request and makes
 * an orphan impossible whatever the reason was. */
static void enter_again(struct attempt *c, struct actions *out)
{
    if (++c->rounds > ROUNDS_MAX) {
        attempt_fail(c, out, ATTEMPT_PROTOCOL);
        return;
    }
    if (c->has_node)
        attempt_act(out, ACT_DELETE);
    attempt_admit(c, out);
}

/* What was seen of the directory. Data that were read, and are of that version still, are known
 * without reading them again. */
static void learn(struct attempt *c, const struct event *ev)
{
    if (ev->hint != HINT_UNREAD)
        c->hintable = ev->hint != HINT_FOREIGN;
    else if (ev->version != c->version)
        c->hintable = false;
    c->version = ev->version;
    c->count = ev->count;
}

/* Only of a kind that would wait for its own kind does a grant prove that nobody stands before. A
 * version below 0 has come round, and may be the one that means any. */
static bool is_to_hint(const struct attempt *c)
{
    return c->long_queue > 0 && c->count >= c->long_queue && c->hintable && c->version >= 0 &&
           rule_waits(c->kind, c->kind);
}

/* The hint is sent first: whoever is granted may give back at once, and its delete must come behind
 * it. */
static void grant(struct attempt *c, struct actions *out)
{
    if (is_to_hint(c))
        attempt_act(out, ACT_SET_HINT)->number = c->version;
    attempt_act(out, ACT_GRANT);
    c->told = true;
    if (!c->own_watched)
        attempt_act(out, ACT_ARM)->number = ATTEMPT_OWN_WATCH_MS;
    attempt_move(c, ST_HOLDING);
}

/* Nobody is ahead and the node is proved: a grant still needs a deadline. */
static void claim(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->in_time)
        grant(c, out);
    else
        attempt_move(c, ST_CLAIMING);
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
        attempt_enter(c, out);
    else if (ev->answer == ANSWER_NONODE)
        enter_again(c, out);
    else
        fail_answer(c, out, ev->answer);
}

/* Where the directory went, numbers begin at 0 again. */
static void on_reset(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK || ev->answer == ANSWER_NONODE)
        enter_again(c, out);
    else
        attempt_fail(c, out, ATTEMPT_OVERFLOW);
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
            enter_again(c, out);
        else
            attempt_move(c, ST_LISTING);
        break;
    case ANSWER_UNKNOWN:
        attempt_ask(c, out, ACT_BARRIER);
        attempt_move(c, ST_SETTLING);
        break;
    case ANSWER_NONODE:
        if (++c->rounds > ROUNDS_MAX) {
            attempt_fail(c, out, ATTEMPT_PROTOCOL);
            break;
        }
        attempt_ask(c, out, ACT_PARENTS);
        attempt_move(c, ST_PARENTS);
        break;
    case ANSWER_EXISTS: /* an idle server at the limit hands out the last number again and again */
        exhausted(c, out);
        break;
    default:
        fail_answer(c, out, ev->answer);
    }
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

static void on_snapshot(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE) {
        enter_again(c, out);
        return;
    }
    if (ev->answer != ANSWER_OK) {
        fail_answer(c, out, ev->answer);
        return;
    }
    struct place place = rule_place(ev->children, ev->count, c->kind, c->number);
    uint32_t incompatible;
    if (!place.present) {
        enter_again(c, out);
        return;
    }
    c->rounds = 0;
    if (place.spare)
        attempt_act(out, ACT_DELETE_SPARE)->number = c->number;
    c->ahead = place.ahead;
    learn(c, ev);
    if (is_mixed(c, ev, &place, &incompatible)) {
        attempt_tell(c, out, ATTEMPT_LAYOUT);
        out->list[out->count - 1].id = incompatible;
        attempt_finish(c, out);
    } else if (place.ahead == 0) {
        claim(c, ev, out);
    } else if (c->try_only) {
        attempt_fail(c, out, ATTEMPT_BUSY);
    } else {
        attempt_ask(c, out, ACT_WATCH);
        out->list[out->count - 1].id = place.predecessor;
        c->watching = true;
        attempt_move(c, ST_WAITING);
    }
}

/* The caller is told, and need not wait until it is known what stands. */
static void fail_unsettled(struct attempt *c, struct actions *out, enum answer answer)
{
    attempt_tell(c, out, error_of(answer));
    attempt_leave(c);
    attempt_unsettled(c, out);
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
        place = rule_place(ev->children, ev->count, c->kind, INT32_MAX);
    else if (ev->answer != ANSWER_NONODE) {
        fail_unsettled(c, out, ev->answer);
        return;
    }
    if (!place.found) {
        attempt_enter(c, out);
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
    if (ev->answer == ANSWER_NONODE ||
        (ev->answer == ANSWER_OK && ev->ephemeral_owner != ev->session)) {
        enter_again(c, out);
        return;
    }
    if (ev->answer != ANSWER_OK) {
        fail_answer(c, out, ev->answer);
        return;
    }
    c->token = ev->czxid;
    c->own_watched = true;
    attempt_ask(c, out, ACT_LIST);
    attempt_move(c, ST_LISTING);
}

static void on_proof(struct attempt *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE ||
        (ev->answer == ANSWER_OK && ev->ephemeral_owner != ev->session)) {
        enter_again(c, out);
    } else if (ev->answer != ANSWER_OK) {
        fail_answer(c, out, ev->answer);
    } else {
        claim(c, ev, out);
    }
}

static void prove(struct attempt *c, struct actions *out)
{
    attempt_ask(c, out, ACT_PROVE);
    attempt_move(c, ST_PROVING);
}

/* A deadline has come. It may have taken long, and who was not told what became of the own node
 * meanwhile asks once more. */
static void claim_again(struct attempt *c, struct actions *out)
{
    if (c->own_watched)
        grant(c, out);
    else
        prove(c, out);
}

static void list_again(struct attempt *c, struct actions *out)
{
    attempt_ask(c, out, ACT_LIST);
    attempt_move(c, ST_LISTING);
}

/* Where numbers run out they prove nothing: one that is used up counts as lower than all. */
static bool is_in_long_queue(const struct attempt *c)
{
    return c->long_queue > 0 && c->ahead >= c->long_queue && c->number < RULE_NUMBER_WARN;
}

/* When the predecessor was the head, its end makes us the head: only our own node needs proof. It
 * was, if nobody else was ahead; or if a hint says so, which is worth asking for in a long queue.
 * The hint is read first: the own node, found behind it, has stood in the directory that had it. */
static void on_predecessor_gone(struct attempt *c, struct actions *out)
{
    c->watching = false;
    if (c->ahead == 1) {
        prove(c, out);
    } else if (is_in_long_queue(c)) {
        attempt_ask(c, out, ACT_READ_HINT);
        attempt_act(out, ACT_PROVE)->tag = c->tag;
        attempt_move(c, ST_SUCCEEDING);
    } else {
        list_again(c, out);
    }
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

static void step_waiting(struct attempt *c, const struct event *ev, struct actions *out)
{
    bool gone = ev->kind == EV_PRED_FIRED ? ev->gone : ev->answer == ANSWER_NONODE;

    if (ev->kind != EV_PRED_FIRED && ev->kind != EV_WATCHED)
        return;
    if (gone)
        on_predecessor_gone(c, out);
    else if (ev->kind == EV_PRED_FIRED)
        attempt_ask(c, out, ACT_REWATCH);
    else if (ev->answer != ANSWER_OK)
        fail_answer(c, out, ev->answer);
}

void attempt_step_queued(struct attempt *c, const struct event *ev, struct actions *out)
{
    enum attempt_state s = c->state;

    if (s == ST_WAITING)
        step_waiting(c, ev, out);
    else if (s == ST_SUCCEEDING)
        step_succeeding(c, ev, out);
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
    else if (s == ST_LISTING && ev->kind == EV_LISTED)
        on_snapshot(c, ev, out);
    else if (s == ST_PROVING && ev->kind == EV_READ)
        on_proof(c, ev, out);
    else if (s == ST_RESETTING && ev->kind == EV_RESET)
        on_reset(c, ev, out);
    else if (s == ST_CLAIMING && ev->kind == EV_EXTENDED && ev->in_time)
        claim_again(c, out);
    else if (s == ST_CLAIMING && ev->kind == EV_OWN_FIRED)
        prove(c, out);
}
