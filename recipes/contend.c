#include "contend.h"

#include <assert.h>
#include <string.h>

#include "rule.h"

/* A directory that vanishes this often in one attempt is somebody's bug. */
enum { ROUNDS_MAX = 100 };

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[ST_COUNT] = {
    [ST_IDLE] = {"idle", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_CREATING] = {"creating", BIT(ST_CREATING) | BIT(ST_PARENTS) | BIT(ST_SETTLING) |
                                     BIT(ST_LISTING) | BIT(ST_RESETTING) | BIT(ST_LEAVING) |
                                     BIT(ST_DONE)},
    [ST_PARENTS] = {"parents", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_SETTLING] = {"settling", BIT(ST_CREATING) | BIT(ST_ADOPTING) | BIT(ST_RESETTING) |
                                     BIT(ST_LEAVING) | BIT(ST_DONE)},
    [ST_ADOPTING] = {"adopting", BIT(ST_CREATING) | BIT(ST_LISTING) | BIT(ST_DONE)},
    [ST_LISTING] = {"listing", BIT(ST_CREATING) | BIT(ST_WAITING) | BIT(ST_CLAIMING) |
                                   BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_WAITING] = {"waiting", BIT(ST_CREATING) | BIT(ST_LISTING) | BIT(ST_PROVING) | BIT(ST_DONE)},
    [ST_PROVING] = {"proving",
                    BIT(ST_CREATING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_CLAIMING] = {"claiming",
                     BIT(ST_CREATING) | BIT(ST_PROVING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_RESETTING] = {"resetting", BIT(ST_CREATING) | BIT(ST_DONE)},
    [ST_HOLDING] = {"holding", BIT(ST_LAPSED) | BIT(ST_DONE)},
    [ST_LAPSED] = {"lapsed", BIT(ST_DONE)},
    [ST_LEAVING] = {"leaving", BIT(ST_DONE)},
    [ST_DONE] = {"done", 0},
};

const char *contend_state_name(enum contend_state state)
{
    return state < ST_COUNT ? table[state].name : "?";
}

bool contend_may_move(enum contend_state from, enum contend_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

static bool is_in(const struct contend *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

bool contend_invariant(const struct contend *c)
{
    const uint32_t owning = BIT(ST_ADOPTING) | BIT(ST_LISTING) | BIT(ST_WAITING) | BIT(ST_PROVING) |
                            BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_LAPSED);
    const uint32_t answered = BIT(ST_HOLDING) | BIT(ST_LAPSED) | BIT(ST_LEAVING) | BIT(ST_DONE);

    if (c->has_node != is_in(c, owning))
        return false;
    if (c->watching != (c->state == ST_WAITING))
        return false;
    if (c->told != is_in(c, answered))
        return false;
    if (c->state == ST_WAITING && (c->ahead == 0 || c->try_only))
        return false;
    return c->state != ST_HOLDING || (c->token != 0 && !rule_exhausted(c->number));
}

static void move(struct contend *c, enum contend_state to)
{
    assert(contend_may_move(c->state, to));
    c->state = to;
}

static struct action *act(struct actions *out, enum action_kind kind)
{
    assert(out->count < CONTEND_ACTIONS);
    struct action *a = &out->list[out->count++];
    *a = (struct action){.kind = kind};
    return a;
}

/* A request whose answer makes those to earlier requests stale. */
static void ask(struct contend *c, struct actions *out, enum action_kind kind)
{
    act(out, kind)->tag = ++c->tag;
}

/* The list rides behind the create: one round trip for both, FIFO within a session. */
static void enter(struct contend *c, struct actions *out)
{
    c->has_node = false;
    c->own_watched = false;
    c->ahead = 0;
    ask(c, out, ACT_CREATE);
    act(out, ACT_LIST)->tag = c->tag;
    move(c, ST_CREATING);
}

/* Ends the attempt with whatever is left of it at the server. */
static void finish(struct contend *c, struct actions *out)
{
    if (c->watching)
        act(out, ACT_UNWATCH);
    if (c->has_node)
        act(out, ACT_DELETE);
    c->watching = false;
    c->has_node = false;
    move(c, ST_DONE);
}

static void tell(struct contend *c, struct actions *out, int error)
{
    act(out, ACT_FAIL)->error = error;
    c->told = true;
}

static void fail(struct contend *c, struct actions *out, int error)
{
    tell(c, out, error);
    finish(c, out);
}

static void fail_answer(struct contend *c, struct actions *out, enum answer answer)
{
    fail(c, out,
         answer == ANSWER_REFUSED      ? CONTEND_REFUSED
         : answer == ANSWER_NOCHILDREN ? CONTEND_NOCHILDREN
         : answer == ANSWER_LIMIT      ? CONTEND_LIMIT
                                       : CONTEND_PROTOCOL);
}

/* The own node is not there: back to the tail. Deleting what is gone costs one request and makes
 * an orphan impossible whatever the reason was. */
static void enter_again(struct contend *c, struct actions *out)
{
    if (++c->rounds > ROUNDS_MAX) {
        fail(c, out, CONTEND_PROTOCOL);
        return;
    }
    if (c->has_node)
        act(out, ACT_DELETE);
    enter(c, out);
}

static void grant(struct contend *c, struct actions *out)
{
    act(out, ACT_GRANT);
    c->told = true;
    if (!c->own_watched)
        act(out, ACT_ARM)->number = CONTEND_OWN_WATCH_MS;
    move(c, ST_HOLDING);
}

/* Nobody is ahead and the node is proved: a grant still needs a deadline. */
static void claim(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->lease)
        grant(c, out);
    else
        move(c, ST_CLAIMING);
}

static void exhausted(struct contend *c, struct actions *out)
{
    if (c->has_node)
        act(out, ACT_DELETE);
    c->has_node = false;
    ask(c, out, ACT_RESET);
    move(c, ST_RESETTING);
}

/* Reaped while they were being made: once more. */
static void on_parents(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK)
        enter(c, out);
    else if (ev->answer == ANSWER_NONODE)
        enter_again(c, out);
    else
        fail_answer(c, out, ev->answer);
}

/* Where the directory went, numbers begin at 0 again. */
static void on_reset(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_OK || ev->answer == ANSWER_NONODE)
        enter_again(c, out);
    else
        fail(c, out, CONTEND_OVERFLOW);
}

static void on_created(struct contend *c, const struct event *ev, struct actions *out)
{
    switch (ev->answer) {
    case ANSWER_OK:
        c->has_node = true;
        c->number = ev->number;
        c->token = ev->czxid;
        if (rule_exhausted(ev->number))
            exhausted(c, out);
        else if (ev->owner != ev->session)
            enter_again(c, out);
        else
            move(c, ST_LISTING);
        break;
    case ANSWER_UNKNOWN:
        ask(c, out, ACT_SYNC);
        move(c, ST_SETTLING);
        break;
    case ANSWER_NONODE:
        if (++c->rounds > ROUNDS_MAX) {
            fail(c, out, CONTEND_PROTOCOL);
            break;
        }
        ask(c, out, ACT_PARENTS);
        move(c, ST_PARENTS);
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
static bool is_mixed(const struct contend *c, const struct event *ev, const struct place *place,
                     uint32_t *ret_id)
{
    if (c->strict && rule_foreign(ev->children, ev->count, ret_id))
        return true;
    *ret_id = place->stranger;
    return place->strange;
}

static void on_snapshot(struct contend *c, const struct event *ev, struct actions *out)
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
    uint32_t stranger;
    if (!place.present) {
        enter_again(c, out);
        return;
    }
    c->rounds = 0;
    if (place.spare)
        act(out, ACT_DELETE_SPARE)->number = c->number;
    c->ahead = place.ahead;
    if (is_mixed(c, ev, &place, &stranger)) {
        tell(c, out, CONTEND_LAYOUT);
        out->list[out->count - 1].id = stranger;
        finish(c, out);
    } else if (place.ahead == 0) {
        claim(c, ev, out);
    } else if (c->try_only) {
        fail(c, out, CONTEND_BUSY);
    } else {
        ask(c, out, ACT_WATCH);
        out->list[out->count - 1].id = place.predecessor;
        c->watching = true;
        move(c, ST_WAITING);
    }
}

/* The list behind a sync tells whether our create was done. */
static void on_settled(struct contend *c, const struct event *ev, struct actions *out)
{
    struct place place = {.found = false};

    if (ev->answer == ANSWER_OK)
        place = rule_place(ev->children, ev->count, c->kind, INT32_MAX);
    else if (ev->answer != ANSWER_NONODE) {
        act(out, ACT_ORPHAN);
        fail_answer(c, out, ev->answer);
        return;
    }
    if (!place.found) {
        enter(c, out);
        return;
    }
    c->has_node = true;
    c->number = place.own;
    act(out, ACT_ADOPT)->id = place.own_id;
    if (place.spare)
        act(out, ACT_DELETE_SPARE)->number = c->number;
    if (rule_exhausted(c->number)) {
        exhausted(c, out);
        return;
    }
    ask(c, out, ACT_READ);
    move(c, ST_ADOPTING);
}

static void on_adopted(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE || (ev->answer == ANSWER_OK && ev->owner != ev->session)) {
        enter_again(c, out);
        return;
    }
    if (ev->answer != ANSWER_OK) {
        fail_answer(c, out, ev->answer);
        return;
    }
    c->token = ev->czxid;
    c->own_watched = true;
    ask(c, out, ACT_LIST);
    move(c, ST_LISTING);
}

static void on_proof(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->answer == ANSWER_NONODE || (ev->answer == ANSWER_OK && ev->owner != ev->session)) {
        enter_again(c, out);
    } else if (ev->answer != ANSWER_OK) {
        fail_answer(c, out, ev->answer);
    } else {
        c->own_watched = true;
        claim(c, ev, out);
    }
}

static void prove(struct contend *c, struct actions *out)
{
    ask(c, out, ACT_READ);
    move(c, ST_PROVING);
}

/* When the predecessor was the head, its end makes us the head: only our own node needs proof. */
static void on_predecessor_gone(struct contend *c, struct actions *out)
{
    c->watching = false;
    if (c->ahead == 1) {
        prove(c, out);
    } else {
        ask(c, out, ACT_LIST);
        move(c, ST_LISTING);
    }
}

static void revoke(struct contend *c, struct actions *out, bool node_gone)
{
    act(out, ACT_REVOKE);
    if (!node_gone) {
        move(c, ST_LAPSED);
        return;
    }
    c->has_node = false;
    move(c, ST_DONE);
}

static void on_epoch(struct contend *c, struct actions *out, bool end)
{
    c->watching = false;
    switch (c->state) {
    case ST_HOLDING:
        revoke(c, out, true);
        break;
    case ST_LAPSED:
    case ST_LEAVING:
        c->has_node = false;
        move(c, ST_DONE);
        break;
    case ST_IDLE:
    case ST_DONE:
        break;
    default:
        c->rounds = 0;
        c->has_node = false;
        if (end)
            fail(c, out, CONTEND_PROTOCOL);
        else
            enter(c, out);
    }
}

static void on_abort(struct contend *c, const struct event *ev, struct actions *out)
{
    if (c->told)
        return;
    tell(c, out, ev->error);
    if (is_in(c, BIT(ST_CREATING) | BIT(ST_SETTLING)))
        move(c, ST_LEAVING);
    else
        finish(c, out);
}

/* Nobody waits for us any more, but a node of ours may still be made, or stand. */
static void step_leaving(struct contend *c, const struct event *ev, struct actions *out)
{
    if (ev->kind == EV_CREATED && ev->answer == ANSWER_UNKNOWN) {
        ask(c, out, ACT_SYNC);
    } else if (ev->kind == EV_CREATED) {
        c->has_node = ev->answer == ANSWER_OK;
        finish(c, out);
    } else if (ev->kind == EV_SYNCED) {
        ask(c, out, ACT_LIST);
    } else if (ev->kind == EV_LISTED) {
        if (ev->answer != ANSWER_NONODE)
            act(out, ev->answer == ANSWER_OK ? ACT_DELETE_ALL : ACT_ORPHAN);
        finish(c, out);
    }
}

static void step_holding(struct contend *c, const struct event *ev, struct actions *out)
{
    switch (ev->kind) {
    case EV_RELEASE:
        finish(c, out);
        break;
    case EV_LAPSED:
        revoke(c, out, false);
        break;
    case EV_TIMER:
        ask(c, out, ACT_READ);
        break;
    case EV_OWN_FIRED:
        if (ev->gone)
            revoke(c, out, true);
        else
            ask(c, out, ACT_READ);
        break;
    case EV_READ:
        if (ev->answer == ANSWER_NONODE || (ev->answer == ANSWER_OK && ev->owner != ev->session))
            revoke(c, out, true);
        else if (ev->answer == ANSWER_OK)
            c->own_watched = true;
        else
            act(out, ACT_ARM)->number = CONTEND_RETRY_MS;
        break;
    default:
        break;
    }
}

static void step_queued(struct contend *c, const struct event *ev, struct actions *out)
{
    enum contend_state s = c->state;

    if (s == ST_CREATING && ev->kind == EV_CREATED)
        on_created(c, ev, out);
    else if (s == ST_PARENTS && ev->kind == EV_PARENTS_MADE)
        on_parents(c, ev, out);
    else if (s == ST_SETTLING && ev->kind == EV_SYNCED)
        ask(c, out, ACT_LIST);
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
    else if (s == ST_CLAIMING && ev->kind == EV_LEASE && ev->lease)
        grant(c, out);
    else if (s == ST_CLAIMING && ev->kind == EV_OWN_FIRED)
        prove(c, out);
}

static void step_waiting(struct contend *c, const struct event *ev, struct actions *out)
{
    bool gone = ev->kind == EV_PRED_FIRED ? ev->gone : ev->answer == ANSWER_NONODE;

    if (ev->kind != EV_PRED_FIRED && ev->kind != EV_WATCHED)
        return;
    if (gone)
        on_predecessor_gone(c, out);
    else if (ev->kind == EV_PRED_FIRED)
        ask(c, out, ACT_REWATCH);
    else if (ev->answer != ANSWER_OK)
        fail_answer(c, out, ev->answer);
}

static bool is_answer(enum event_kind kind)
{
    return kind == EV_CREATED || kind == EV_PARENTS_MADE || kind == EV_SYNCED ||
           kind == EV_LISTED || kind == EV_READ || kind == EV_WATCHED || kind == EV_RESET;
}

void contend_init(struct contend *c, enum child_kind kind, bool try_only)
{
    *c = (struct contend){.state = ST_IDLE, .kind = kind, .try_only = try_only};
}

void contend_step(struct contend *c, const struct event *ev, struct actions *out)
{
    out->count = 0;
    if (ev->kind == EV_OWN_FIRED)
        c->own_watched = false;
    if (is_answer(ev->kind) && ev->tag != c->tag)
        return;
    if (ev->kind == EV_EPOCH || ev->kind == EV_END)
        on_epoch(c, out, ev->kind == EV_END);
    else if (ev->kind == EV_ABORT)
        on_abort(c, ev, out);
    else if (c->state == ST_IDLE && ev->kind == EV_ENTER)
        enter(c, out);
    else if (c->state == ST_HOLDING)
        step_holding(c, ev, out);
    else if (c->state == ST_LAPSED && ev->kind == EV_RELEASE)
        finish(c, out);
    else if (c->state == ST_LEAVING)
        step_leaving(c, ev, out);
    else if (c->state == ST_WAITING)
        step_waiting(c, ev, out);
    else
        step_queued(c, ev, out);
    assert(contend_invariant(c));
}
