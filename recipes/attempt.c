/* In a step, the phase of the attempt takes the event, unless all phases take it in the same way.
 * If the step moves to another state, the actions with which that state begins come last. A
 * function in this file calls only those above it, and of the three phases (attempt_step_enter(),
 * attempt_step_wait(), attempt_step_hold()) none calls another. */
#include "attempt.h"

#include <assert.h>

/* A directory that goes this often in one attempt is somebody's bug. */
enum { ROUNDS_MAX = 100 };

#define MS_NS INT64_C(1000000)

/* A set of states is the sum of these. */
#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} attempt_table[ST_COUNT] = {
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
                                   BIT(ST_HOLDING) | BIT(ST_FIRST) | BIT(ST_DONE)},
    [ST_FIRST] = {"first in line", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_DONE)},
    [ST_WAITING] = {"waiting", BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_SUCCEEDING) |
                                   BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) |
                                   BIT(ST_DONE)},
    [ST_SUCCEEDING] = {"succeeding",
                       BIT(ST_REENTERING) | BIT(ST_LISTING) | BIT(ST_PROVING) | BIT(ST_DONE)},
    [ST_PROVING] = {"proving",
                    BIT(ST_REENTERING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_CLAIMING] = {"claiming",
                     BIT(ST_REENTERING) | BIT(ST_PROVING) | BIT(ST_HOLDING) | BIT(ST_DONE)},
    [ST_RESETTING] = {"resetting", BIT(ST_REENTERING) | BIT(ST_DONE)},
    [ST_HOLDING] = {"holding", BIT(ST_LOST) | BIT(ST_DONE)},
    [ST_LOST] = {"lost", BIT(ST_DONE)},
    [ST_LEAVING] = {"leaving", BIT(ST_DONE)},
    [ST_DONE] = {"done", 0},
};

const char *attempt_state_name(enum attempt_state state)
{
    return state < ST_COUNT ? attempt_table[state].name : "?";
}

bool attempt_may_move(enum attempt_state from, enum attempt_state to)
{
    return (attempt_table[from].next & BIT(to)) != 0;
}

static bool attempt_is_in(const struct attempt *c, uint32_t states)
{
    return (BIT(c->state) & states) != 0;
}

bool attempt_invariant(const struct attempt *c)
{
    const uint32_t owning = BIT(ST_ADOPTING) | BIT(ST_LISTING) | BIT(ST_WAITING) | BIT(ST_FIRST) |
                            BIT(ST_SUCCEEDING) | BIT(ST_PROVING) | BIT(ST_CLAIMING) |
                            BIT(ST_HOLDING) | BIT(ST_LOST);
    const uint32_t answered = BIT(ST_HOLDING) | BIT(ST_LOST) | BIT(ST_LEAVING) | BIT(ST_DONE);

    if (c->has_node != attempt_is_in(c, owning))
        return false;
    if (c->watching != (c->state == ST_WAITING))
        return false;
    if (c->told != attempt_is_in(c, answered))
        return false;
    if (c->state == ST_WAITING && (c->ahead == 0 || !c->waited))
        return false;
    if (c->state == ST_WAITING && c->try_only && c->ahead > 1)
        return false;
    if (c->first &&
        !attempt_is_in(c, BIT(ST_LISTING) | BIT(ST_FIRST) | BIT(ST_REENTERING) | BIT(ST_DONE)))
        return false;
    if (c->limit_watched && !c->first)
        return false;
    if (c->awaits && !attempt_is_in(c, BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_DONE)))
        return false;
    if (c->state == ST_FIRST &&
        (c->rule != RULE_LEASE || c->limit_watched == c->counts || c->try_only))
        return false;
    if (c->state == ST_SUCCEEDING && (c->rule == RULE_LEASE || c->ahead < 2 || c->long_queue == 0))
        return false;
    return c->state != ST_HOLDING || (c->token != 0 && !rule_exhausted(c->number));
}

void attempt_init(struct attempt *c, enum rule rule, bool try_only)
{
    *c = (struct attempt){.state = ST_IDLE, .rule = rule, .try_only = try_only};
}

void attempt_count_leases(struct attempt *c, int32_t limit)
{
    c->counts = true;
    c->has_limit = true;
    c->permits = 1;
    c->limit = limit;
}

/* ---- what an event is ---- */

static bool attempt_is_answer(const struct machine_event *ev, enum store_kind verb,
                              enum attempt_node node)
{
    return ev->kind == MACHINE_EV_ANSWER && ev->verb == verb && ev->node == node;
}

static bool attempt_is_fire(const struct machine_event *ev, enum attempt_node node)
{
    return ev->kind == MACHINE_EV_FIRED && ev->node == node;
}

static bool attempt_is_session_end(const struct machine_event *ev)
{
    return ev->kind == MACHINE_EV_SESSION || ev->kind == MACHINE_EV_OVER;
}

static bool attempt_is_own_fire(const struct machine_event *ev)
{
    return attempt_is_fire(ev, ATTEMPT_OWN) || ev->kind == ATTEMPT_EV_NODE_GONE;
}

static bool attempt_is_limit_doubtful(const struct machine_event *ev)
{
    return attempt_is_fire(ev, ATTEMPT_LIMIT) || ev->kind == ATTEMPT_EV_DOUBT;
}

/* Whether an event of the own node says that the node is gone. */
static bool attempt_fire_says_gone(const struct machine_event *ev)
{
    return ev->kind == ATTEMPT_EV_NODE_GONE || ev->gone;
}

/* Whether a read of the own node says that the node is missing, or is another session's. */
static bool attempt_read_says_gone(const struct machine_event *ev)
{
    return ev->rc == STORE_NONODE || (ev->rc == STORE_OK && !ev->own);
}

/* Whether this is a semaphore in our own layout: its limit is in the directory's data. */
static bool attempt_reads_limit(const struct attempt *c)
{
    return c->rule == RULE_LEASE && !c->counts;
}

/* ---- what every phase does in the same way ---- */

static void attempt_move(struct attempt *c, enum attempt_state to)
{
    assert(attempt_may_move(c->state, to));
    c->state = to;
}

/* Adds a verdict. */
static struct machine_action *attempt_say(struct machine_actions *out, enum attempt_verdict verdict,
                                          int why)
{
    struct machine_action *a = machine_act(out, MACHINE_ACT_TELL);

    a->verdict = (int)verdict;
    a->why = why;
    return a;
}

/* Adds a request that belongs to the same question as the request before it (machine.h). */
static struct machine_action *attempt_ask_too(struct machine_actions *out, enum store_kind verb,
                                              enum attempt_node node)
{
    struct machine_action *a = machine_ask(out, verb, node);

    a->joins = true;
    return a;
}

/* Arms the timer, for ms from now. */
static void attempt_arm(struct machine_actions *out, const struct attempt_moment *m, int64_t ms)
{
    machine_act(out, MACHINE_ACT_ARM)->at = m->now + ms * MS_NS;
}

static void attempt_delete_own(const struct attempt *c, struct machine_actions *out)
{
    if (c->has_node)
        machine_act(out, MACHINE_ACT_DELETE)->node = ATTEMPT_OWN;
}

/* Deletes the nodes of this attempt that the list shows. first: ATTEMPT_SPARE or ATTEMPT_OURS,
 * which stands for the first child of the list. The driver skips the children that are not of this
 * attempt. */
static void attempt_delete_listed(const struct machine_event *ev, struct machine_actions *out,
                                  enum attempt_node first)
{
    if (ev->rc != STORE_OK || ev->count == 0)
        return;
    struct machine_action *a = machine_act(out, MACHINE_ACT_DELETE);
    a->node = first;
    a->more = (uint32_t)ev->count - 1;
}

static void attempt_unwatch(struct attempt *c, struct machine_actions *out)
{
    if (c->watching)
        machine_act(out, MACHINE_ACT_UNWATCH)->node = ATTEMPT_PREDECESSOR;
    c->watching = false;
}

/* Ends the watch on the limit. Only the first in line has it, or has asked for it. */
static void attempt_unwatch_limit(struct attempt *c, struct machine_actions *out)
{
    if (c->first && attempt_reads_limit(c))
        machine_act(out, MACHINE_ACT_UNWATCH)->node = ATTEMPT_LIMIT;
    c->limit_watched = false;
}

/* Ends the attempt. If there is an own node, its end fires the watch on the children: so no
 * request removes that watch. */
static void attempt_end(struct attempt *c, struct machine_actions *out)
{
    machine_act(out, MACHINE_ACT_END)->deleting = c->has_node;
    c->has_node = false;
    attempt_move(c, ST_DONE);
}

/* Ends the attempt, its watches and its node. */
static void attempt_finish(struct attempt *c, struct machine_actions *out)
{
    attempt_unwatch(c, out);
    attempt_unwatch_limit(c, out);
    attempt_delete_own(c, out);
    attempt_end(c, out);
}

/* Ends an attempt whose own node is gone: somebody deleted it (LOSS_DELETED), or its session has
 * ended. */
static void attempt_end_without_node(struct attempt *c, struct machine_actions *out, enum loss loss)
{
    if (c->state == ST_HOLDING)
        attempt_say(out, ATTEMPT_LOSE, (int)loss);
    attempt_end(c, out);
}

/* Tells the caller that the attempt has failed, which is its only answer. */
static struct machine_action *attempt_tell_failure(struct attempt *c, struct machine_actions *out,
                                                   enum attempt_error error)
{
    c->told = true;
    return attempt_say(out, ATTEMPT_FAIL, (int)error);
}

static void attempt_fail_at(struct attempt *c, struct machine_actions *out,
                            enum attempt_error error, uint32_t node)
{
    attempt_tell_failure(c, out, error)->node = node;
    attempt_finish(c, out);
}

static void attempt_fail(struct attempt *c, struct machine_actions *out, enum attempt_error error)
{
    attempt_fail_at(c, out, error, 0);
}

/* Returns what the caller is told of a refusal. */
static enum attempt_error attempt_error_of(enum store_rc rc)
{
    return rc == STORE_NOAUTH       ? ATTEMPT_REFUSED
           : rc == STORE_NOCHILDREN ? ATTEMPT_NOCHILDREN
           : rc == STORE_LIMIT      ? ATTEMPT_WATCHES
                                    : ATTEMPT_PROTOCOL;
}

static void attempt_fail_answer(struct attempt *c, struct machine_actions *out, enum store_rc rc)
{
    attempt_fail(c, out, attempt_error_of(rc));
}

/* Counts that the attempt begins again. If it has done so too often, the attempt fails, and the
 * function returns false. */
static bool attempt_next_round(struct attempt *c, struct machine_actions *out)
{
    if (++c->rounds <= ROUNDS_MAX)
        return true;
    attempt_fail(c, out, ATTEMPT_PROTOCOL);
    return false;
}

/* Begins again at the tail of the queue, since the own node is gone. That node is deleted anyway:
 * this costs one request, and no orphan can stay, whatever became of the node. */
static void attempt_reenter(struct attempt *c, struct machine_actions *out)
{
    if (!attempt_next_round(c, out))
        return;
    attempt_unwatch(c, out);
    attempt_unwatch_limit(c, out);
    attempt_delete_own(c, out);
    attempt_move(c, ST_REENTERING);
}

/* Remembers that a read of the own node has left a watch there, and on which connection. */
static void attempt_set_own_watched(struct attempt *c, const struct attempt_moment *m)
{
    c->own_watched = true;
    c->own_connection = m->connection;
}

/* Whether a holder needs a watch on its own node. With OTHERS_NONE the children are watched, and
 * that watch shows when the own node is gone. It does not show what is written there: .watch_own
 * asks for that. */
static bool attempt_needs_own_watch(const struct attempt *c)
{
    return c->others != OTHERS_NONE || c->watch_own;
}

static void attempt_read_own(struct attempt *c, struct machine_actions *out)
{
    machine_ask(out, STORE_GET, ATTEMPT_OWN)->watch = true;
    c->unwatchable = false;
}

/* Begins to prove that the own node stands, by a read. */
static void attempt_prove(struct attempt *c, struct machine_actions *out)
{
    machine_ask(out, STORE_GET, ATTEMPT_OWN);
    attempt_move(c, ST_PROVING);
}

/* Whether the known limit counts for this list: the last change of the limit is the directory's
 * last change in the list. Recipes without such a limit need none. */
static bool attempt_knows_limit(const struct attempt *c, const struct machine_event *ev)
{
    return !attempt_reads_limit(c) || c->limit_zxid == ev->mzxid;
}

/* Returns what a list tells of others. At a semaphore others wait if all contenders together ask
 * for more permits than the limit. */
static enum attempt_others attempt_others_in(const struct attempt *c,
                                             const struct machine_event *ev,
                                             const struct place *place)
{
    bool wait;

    if (!attempt_knows_limit(c, ev))
        return OTHERS_UNKNOWN;
    if (c->rule != RULE_LEASE)
        wait = place->behind || place->ahead > 0;
    else if (c->counts)
        wait = ev->count > (size_t)c->limit;
    else
        wait = place->permits_ahead + c->permits + place->permits_behind > (uint64_t)c->limit;
    return wait ? OTHERS_WAIT : ev->watched ? OTHERS_NONE : OTHERS_UNKNOWN;
}

/* ---- the limit of a semaphore, in its directory's data ---- */

static void attempt_learn_limit(struct attempt *c, const struct machine_event *ev,
                                const struct attempt_moment *m)
{
    c->limit = m->limit;
    c->limit_zxid = ev->mzxid;
    c->limit_watched = c->first;
}

/* Writes the limit that the contender brings, if the directory has no data, and reads it again.
 * Returns whether ev belongs to that: then the limit is not read yet. */
static bool attempt_init_limit(const struct attempt *c, const struct machine_event *ev,
                               struct machine_actions *out)
{
    struct machine_action *a;

    if (attempt_is_answer(ev, STORE_SET, ATTEMPT_LIMIT) &&
        (ev->rc == STORE_OK || ev->rc == STORE_BADVERSION)) {
        a = attempt_ask_too(out, STORE_GET, ATTEMPT_LIMIT);
        a->watch = c->first;
    } else if (attempt_is_answer(ev, STORE_GET, ATTEMPT_LIMIT) && ev->rc == STORE_OK &&
               ev->length == 0 && c->has_limit) {
        a = attempt_ask_too(out, STORE_SET, ATTEMPT_LIMIT);
        a->version = ev->version;
    } else {
        return false;
    }
    a->slot = ev->slot;
    return true;
}

/* ---- a semaphore, from the first list to admission: are as many permits free as the contender
 * asks for, and who else must be told? docs/design/permits.md has the argument ---- */

/* Lists the children; with_limit: reads the limit before. The limit counts if its last change is
 * the directory's last change in the list: then both show one instant, after this request. */
static void attempt_list_permits(struct attempt *c, struct machine_actions *out, bool with_limit)
{
    if (with_limit)
        machine_ask(out, STORE_GET, ATTEMPT_LIMIT)->watch = c->first;
    struct machine_action *a = machine_ask(out, STORE_LIST, ATTEMPT_CHILDREN);
    a->joins = with_limit;
    a->watch = a->optional = c->first;
}

static void attempt_list_as_first(struct attempt *c, struct machine_actions *out)
{
    const bool with_limit = !c->counts && !c->limit_watched;

    c->first = true;
    attempt_list_permits(c, out, with_limit);
}

/* Takes the admission. A contender after us that saw us as not admitted waits for our node to
 * change, so the node is touched. A holder of permits learns of others only if it asks. */
static void attempt_be_admitted(struct attempt *c, struct machine_actions *out,
                                const struct place *place)
{
    attempt_unwatch_limit(c, out);
    c->first = false;
    if (c->others == OTHERS_NONE)
        c->others = OTHERS_UNKNOWN;
    if (place->behind && !c->counts)
        machine_ask(out, STORE_SET, ATTEMPT_OWN)->slot = ATTEMPT_SLOT_TOUCH;
    attempt_move(c, ST_CLAIMING);
}

/* Waits for the child with that id, the predecessor. */
static void attempt_follow(struct attempt *c, struct machine_actions *out, uint32_t predecessor)
{
    attempt_say(out, ATTEMPT_FOLLOW, (int)predecessor);
    c->shared_session = false;
    c->others = OTHERS_UNKNOWN;
    c->waited = true;
    c->watching = true;
    attempt_move(c, ST_WAITING);
}

/* Decides whether the contender is admitted, fails, or waits until enough permits are free. In
 * Curator's layout all children count, even those that came later.
 *
 * A waiter follows its predecessor if those ahead ask for more than the limit: then the predecessor
 * is not admitted. But if a contender ahead has a number that is used up, that one may have come
 * later than the predecessor was admitted. Otherwise the waiter is first in line, and watches the
 * children and the limit. */
static void attempt_queue_for_permits(struct attempt *c, const struct machine_event *ev,
                                      struct machine_actions *out, const struct place *place)
{
    const uint64_t taken = c->counts ? ev->count : place->permits_ahead + c->permits;

    if ((uint64_t)c->permits > (uint64_t)c->limit) {
        attempt_fail(c, out, ATTEMPT_PERMITS);
    } else if (taken <= (uint64_t)c->limit) {
        attempt_be_admitted(c, out, place);
    } else if (c->try_only) {
        attempt_fail(c, out, ATTEMPT_BUSY);
    } else if (!c->first && !c->counts && !place->exhausted &&
               place->permits_ahead > (uint64_t)c->limit) {
        attempt_follow(c, out, place->predecessor);
        machine_ask(out, STORE_GET, ATTEMPT_PREDECESSOR)->watch = true;
    } else if (!c->first || (!c->counts && !c->limit_watched)) {
        attempt_list_as_first(c, out);
    } else if (!ev->watched) {
        attempt_fail(c, out, ATTEMPT_WATCHES);
    } else {
        c->waited = true;
        attempt_move(c, ST_FIRST);
    }
}

/* Whether the predecessor may be admitted, as its event or read says. A contender touches its node
 * when it is admitted. But an earlier limit may have admitted a predecessor that is older than the
 * limit: then its node is not touched any more. */
static bool attempt_may_be_admitted(const struct attempt *c, const struct machine_event *ev)
{
    return ev->kind == MACHINE_EV_FIRED || ev->version > 0 || ev->czxid < c->limit_zxid;
}

/* Whether the event is about the predecessor: it has changed or gone, or a read of it was answered.
 * *ret_gone: it is gone. */
static bool attempt_is_about_predecessor(const struct machine_event *ev, bool *ret_gone)
{
    const bool fired = attempt_is_fire(ev, ATTEMPT_PREDECESSOR);

    *ret_gone = fired ? ev->gone : ev->rc == STORE_NONODE;
    return fired || attempt_is_answer(ev, STORE_GET, ATTEMPT_PREDECESSOR);
}

static void attempt_step_waiting_for_permits(struct attempt *c, const struct machine_event *ev,
                                             struct machine_actions *out)
{
    bool gone;

    if (!attempt_is_about_predecessor(ev, &gone))
        return;
    if (gone) {
        c->watching = false;
        attempt_list_permits(c, out, false);
        attempt_move(c, ST_LISTING);
    } else if (ev->kind == MACHINE_EV_ANSWER && ev->rc != STORE_OK) {
        attempt_fail_answer(c, out, ev->rc);
    } else if (attempt_may_be_admitted(c, ev)) {
        attempt_unwatch(c, out);
        attempt_list_as_first(c, out);
        attempt_move(c, ST_LISTING);
    }
}

/* ---- from a node of our own to the head of the queue: who is ahead, and when is the predecessor
 * gone? The phase ends in CLAIMING if a list, or the silence of its watch, has proved the node, and
 * otherwise in PROVING, with the proof under way ---- */

/* Stores what a list or read shows of the directory's data. Data that were read are not read again
 * as long as the version is the same. */
static void attempt_learn_directory(struct attempt *c, const struct machine_event *ev,
                                    const struct attempt_moment *m)
{
    if (m->hint != HINT_UNREAD)
        c->hintable = m->hint != HINT_FOREIGN;
    else if (ev->version != c->version)
        c->hintable = false;
    c->version = ev->version;
    c->count = (uint32_t)ev->count;
}

/* Whether the silence of the own watch proves that the own node stood when another event came.
 * Events come in the order of changes, but only on one connection: after a reconnect, missed events
 * come in any order. docs/design/hand-over.md has the argument. */
static bool attempt_is_own_silent(const struct attempt *c, const struct attempt_moment *m)
{
    return c->own_watched && m->connection != 0 && c->own_connection == m->connection;
}

/* Waits for the predecessor. If only the head is ahead, the contender watches its own node first,
 * so that the silence of that watch can prove it. */
static void attempt_wait_for_predecessor(struct attempt *c, const struct attempt_moment *m,
                                         struct machine_actions *out, uint32_t predecessor)
{
    const bool next =
        c->ahead == 1 && !attempt_is_own_silent(c, m) && !rule_is_shared(rule_kind(c->rule));

    if (next) {
        c->own_watched = false;
        attempt_read_own(c, out);
    }
    attempt_follow(c, out, predecessor);
    struct machine_action *a = machine_ask(out, STORE_GET, ATTEMPT_PREDECESSOR);
    a->joins = next;
    a->watch = true;
}

/* Takes a list, and the place in the queue that it shows. A list without the own node proves
 * nothing. If a child came first for which the attempt does not wait, both could hold, so the
 * attempt fails. A child that came after us finds that out itself, if it is of this library. */
static void attempt_on_listed(struct attempt *c, const struct machine_event *ev,
                              const struct attempt_moment *m, struct machine_actions *out)
{
    struct place place = {.present = false};

    if (ev->rc == STORE_OK) {
        place = rule_place(m->children, ev->count, c->rule, c->number);
    } else if (ev->rc != STORE_NONODE) {
        attempt_fail_answer(c, out, ev->rc);
        return;
    }
    if (!place.present) {
        attempt_reenter(c, out);
        return;
    }
    if (!attempt_knows_limit(c, ev)) {
        if (attempt_next_round(c, out))
            attempt_list_permits(c, out, true);
        return;
    }
    c->rounds = 0;
    if (place.spare)
        attempt_delete_listed(ev, out, ATTEMPT_SPARE);
    c->ahead = place.ahead;
    c->others = attempt_others_in(c, ev, &place);
    if (c->rule != RULE_LEASE)
        attempt_learn_directory(c, ev, m);
    uint32_t incompatible = place.incompatible_id;
    if ((c->strict && rule_foreign(m->children, ev->count, &incompatible)) || place.incompatible) {
        attempt_fail_at(c, out, ATTEMPT_LAYOUT, incompatible);
    } else if (c->rule == RULE_LEASE) {
        attempt_queue_for_permits(c, ev, out, &place);
    } else if (place.ahead == 0) {
        attempt_move(c, ST_CLAIMING); /* attempt_begin_state() may grant now */
    } else if (c->try_only && (place.ahead > 1 || !place.retains || c->waited)) {
        attempt_fail(c, out, ATTEMPT_BUSY); /* any other try waits, once and not for long */
    } else {
        if (c->try_only)
            attempt_arm(out, m, ATTEMPT_YIELD_MS);
        attempt_wait_for_predecessor(c, m, out, place.predecessor);
    }
}

static void attempt_list_again(struct attempt *c, struct machine_actions *out)
{
    machine_ask(out, STORE_LIST, ATTEMPT_CHILDREN);
    attempt_move(c, ST_LISTING);
}

/* Goes on after the end of the predecessor. If the predecessor was the head, we are the head now,
 * and only our own node needs proof. It was the head if nobody else was ahead, or if a hint says
 * so; only in a long queue is the hint worth a request. The hint is read before the own node: if
 * that node is found, it has stood in the directory that had the hint. Near the last number all
 * this proves nothing, since another contender may have come with a lower one. */
static void attempt_on_predecessor_gone(struct attempt *c, const struct attempt_moment *m,
                                        struct machine_actions *out)
{
    c->watching = false;
    if (rule_is_shared(rule_kind(c->rule)) || c->number >= RULE_NUMBER_WARN) {
        attempt_list_again(c, out);
    } else if (c->ahead == 1 && attempt_is_own_silent(c, m) && !c->shared_session) {
        attempt_move(c, ST_CLAIMING);
    } else if (c->ahead == 1) {
        attempt_prove(c, out);
    } else if (c->long_queue > 0 && c->ahead >= c->long_queue) {
        machine_ask(out, STORE_GET, ATTEMPT_HINT);
        attempt_ask_too(out, STORE_GET, ATTEMPT_OWN);
        attempt_move(c, ST_SUCCEEDING);
    } else {
        attempt_list_again(c, out);
    }
}

/* Fails, since the wait cannot go on. For a try another contender is first, whatever the reason. */
static void attempt_give_up(struct attempt *c, const struct machine_event *ev,
                            struct machine_actions *out)
{
    attempt_fail(c, out, c->try_only ? ATTEMPT_BUSY : attempt_error_of(ev->rc));
}

/* Takes an event while a contender that is not of a semaphore waits for its predecessor. */
static void attempt_step_waiting(struct attempt *c, const struct machine_event *ev,
                                 const struct attempt_moment *m, struct machine_actions *out)
{
    bool gone;

    if (attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN)) {
        /* attempt_wait_for_predecessor() has asked. A node that is gone cannot come back. */
        if (attempt_read_says_gone(ev))
            attempt_reenter(c, out);
        else if (ev->rc == STORE_OK)
            attempt_set_own_watched(c, m);
    }
    if (ev->kind == MACHINE_EV_TIMER && c->try_only)
        attempt_give_up(c, ev, out);
    if (!attempt_is_about_predecessor(ev, &gone))
        return;
    if (gone)
        attempt_on_predecessor_gone(c, m, out);
    else if (ev->kind == MACHINE_EV_FIRED)
        machine_ask(out, STORE_GET, ATTEMPT_PREDECESSOR)->watch = true;
    else if (ev->rc != STORE_OK)
        attempt_give_up(c, ev, out);
    else
        c->shared_session = ev->own;
}

/* Takes the answers for the hint, and for the own node after it. If the hint names the predecessor,
 * the read of the own node that is under way is the proof. A read of the own node that comes first
 * proves nothing. */
static void attempt_step_succeeding(struct attempt *c, const struct machine_event *ev,
                                    const struct attempt_moment *m, struct machine_actions *out)
{
    const bool hint = attempt_is_answer(ev, STORE_GET, ATTEMPT_HINT);

    if (hint && ev->rc == STORE_OK) {
        attempt_learn_directory(c, ev, m);
        if (m->hint == HINT_NAMED)
            attempt_move(c, ST_PROVING);
        else
            attempt_list_again(c, out);
    } else if (hint || attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN)) {
        attempt_list_again(c, out);
    }
}

static void attempt_step_wait(struct attempt *c, const struct machine_event *ev,
                              const struct attempt_moment *m, struct machine_actions *out)
{
    switch (c->state) {
    case ST_LISTING:
        if (attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN)) {
            attempt_on_listed(c, ev, m, out);
        } else if (ev->kind == MACHINE_EV_ANSWER && ev->node == ATTEMPT_LIMIT &&
                   !attempt_init_limit(c, ev, out)) {
            if (ev->rc == STORE_OK && m->limit > 0)
                attempt_learn_limit(c, ev, m);
            else if (ev->rc == STORE_OK)
                attempt_fail(c, out, ATTEMPT_NOLIMIT);
            else if (ev->rc != STORE_NONODE) /* the list tells of a missing directory, too */
                attempt_fail_answer(c, out, ev->rc);
        }
        break;
    case ST_WAITING:
        if (c->rule == RULE_LEASE)
            attempt_step_waiting_for_permits(c, ev, out);
        else
            attempt_step_waiting(c, ev, m, out);
        break;
    case ST_FIRST: /* all that may admit the contender is watched */
        if (attempt_is_fire(ev, ATTEMPT_CHILDREN) || attempt_is_limit_doubtful(ev)) {
            attempt_list_as_first(c, out);
            attempt_move(c, ST_LISTING);
        }
        break;
    case ST_SUCCEEDING:
        attempt_step_succeeding(c, ev, m, out);
        break;
    default:
        break;
    }
}

/* ---- from nothing to a node of our own: the attempt creates it, makes its directory, and settles
 * a create whose outcome is unknown. The phase ends in LISTING, with the list under way ---- */

static void attempt_forget_place(struct attempt *c)
{
    c->has_node = false;
    c->own_watched = false;
    c->asked = false;
    c->others = OTHERS_UNKNOWN;
    c->ahead = 0;
    c->hintable = false;
    c->first = false;
    c->awaits = false;
    c->creating = false;
}

/* Enters: sends the create, and the list right after it. A server answers a session's requests in
 * order, so both take one round trip. The attempt itself finds out whether the create was done. */
static void attempt_enter(struct attempt *c, struct machine_actions *out)
{
    attempt_forget_place(c);
    struct machine_action *a = machine_ask(out, STORE_CREATE, ATTEMPT_NEW);
    a->mode = STORE_EPHEMERAL_SEQUENTIAL;
    a->once = a->bare = true;
    if (attempt_reads_limit(c) && c->limit_zxid == 0)
        attempt_ask_too(out, STORE_GET, ATTEMPT_LIMIT);
    a = attempt_ask_too(out, STORE_LIST, ATTEMPT_CHILDREN);
    a->watch = a->optional = c->watch_children;
    c->creating = true;
    attempt_move(c, ST_CREATING);
}

/* Gives up the own node, if there is one: the directory's numbers are used up. Reads the directory,
 * which is made again if it may be deleted. */
static void attempt_exhaust(struct attempt *c, struct machine_actions *out)
{
    attempt_delete_own(c, out);
    c->has_node = false;
    machine_ask(out, STORE_GET, ATTEMPT_DIRECTORY);
    attempt_move(c, ST_RESETTING);
}

/* Asks for the directory and all missing parents at once. The server answers the directory's create
 * after those of the parents. A semaphore's directory must not go when it is empty. */
static void attempt_make_directory(struct attempt *c, const struct attempt_moment *m,
                                   struct machine_actions *out)
{
    const enum store_mode mode = m->container ? STORE_CONTAINER : STORE_PERSISTENT;
    struct machine_action *a;

    c->parent_rc = STORE_OK;
    if (m->parents > 0) {
        a = machine_ask(out, STORE_CREATE, ATTEMPT_PARENT);
        a->more = m->parents - 1;
        a->mode = mode;
        a->bare = true;
    }
    a = machine_ask(out, STORE_CREATE, ATTEMPT_DIRECTORY);
    a->joins = m->parents > 0;
    a->mode = attempt_reads_limit(c) ? STORE_PERSISTENT : mode;
    a->bare = true;
    attempt_move(c, ST_PARENTS);
}

/* Takes an answer to the creates of the directory and its missing parents. The directory's answer
 * comes last, and decides. If the directory was not made, the error is that of the first of these
 * creates that failed. If that is NONODE, a server has removed an empty parent in between: the
 * attempt enters again. */
static void attempt_on_made(struct attempt *c, const struct machine_event *ev,
                            struct machine_actions *out)
{
    const bool good = ev->rc == STORE_OK || ev->rc == STORE_EXISTS;

    if (!good && c->parent_rc == STORE_OK) {
        c->parent_rc = (uint8_t)ev->rc;
        c->parent = (uint16_t)ev->node;
    }
    if (ev->node != ATTEMPT_DIRECTORY)
        return;
    if (good)
        attempt_enter(c, out);
    else if (c->parent_rc == STORE_NONODE)
        attempt_reenter(c, out);
    else
        attempt_fail_at(c, out, attempt_error_of(c->parent_rc), c->parent);
}

/* Whether the directory may be deleted. The server does not tell a container from a persistent
 * node. So a directory may be deleted if we would make it as a container, and if it is as empty as
 * a new one. A semaphore's directory may be deleted too, since it is made again with this limit. */
static bool attempt_may_delete_directory(const struct attempt *c, const struct machine_event *ev,
                                         const struct attempt_moment *m)
{
    if (ev->rc != STORE_OK || ev->count > 0)
        return false;
    return attempt_reads_limit(c) ? c->has_limit && m->limit > 0 : m->container && m->unused;
}

/* Takes the read and the delete of the directory. When it is deleted, numbers begin at 0 again. */
static void attempt_step_resetting(struct attempt *c, const struct machine_event *ev,
                                   const struct attempt_moment *m, struct machine_actions *out)
{
    const bool read = attempt_is_answer(ev, STORE_GET, ATTEMPT_DIRECTORY);

    if (!read && !attempt_is_answer(ev, STORE_DELETE, ATTEMPT_DIRECTORY))
        return;
    if (read && attempt_may_delete_directory(c, ev, m))
        machine_ask(out, STORE_DELETE, ATTEMPT_DIRECTORY);
    else if (ev->rc == STORE_NONODE || (!read && ev->rc == STORE_OK))
        attempt_reenter(c, out);
    else
        attempt_fail(c, out, ATTEMPT_OVERFLOW);
}

/* Fails although a node may stand. The caller is told at once, and the attempt settles that while
 * it leaves. */
static void attempt_fail_unsettled(struct attempt *c, struct machine_actions *out, enum store_rc rc)
{
    attempt_tell_failure(c, out, attempt_error_of(rc));
    attempt_move(c, ST_LEAVING);
}

/* Takes the answers to the create and the list. If the list is refused before the create is
 * answered, it was not sent: this library has refused it. */
static void attempt_step_creating(struct attempt *c, const struct machine_event *ev,
                                  const struct attempt_moment *m, struct machine_actions *out)
{
    if (attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN) && ev->rc == STORE_BAD)
        attempt_fail_unsettled(c, out, ev->rc);
    if (!attempt_is_answer(ev, STORE_CREATE, ATTEMPT_NEW))
        return;
    c->creating = false;
    switch (ev->rc) {
    case STORE_OK:
        c->has_node = true;
        c->number = m->number;
        c->token = ev->czxid;
        if (rule_exhausted(c->number))
            attempt_exhaust(c, out);
        else if (!ev->own)
            attempt_reenter(c, out);
        else
            attempt_move(c, ST_LISTING);
        break;
    case STORE_UNKNOWN: /* the list may have left a watch, and its answer is stale now */
        if (c->watch_children)
            machine_act(out, MACHINE_ACT_UNWATCH)->node = ATTEMPT_CHILDREN;
        machine_ask_quorum(out, ATTEMPT_QUORUM);
        attempt_move(c, ST_SETTLING);
        break;
    case STORE_NONODE: /* there is no directory */
        if (c->rule == RULE_LEASE && !c->has_limit)
            attempt_fail(c, out, ATTEMPT_NOLIMIT);
        else if (attempt_next_round(c, out))
            attempt_make_directory(c, m, out);
        break;
    case STORE_EXISTS: /* an idle server at the limit hands out the last number again and again */
        attempt_exhaust(c, out);
        break;
    default:
        attempt_fail_answer(c, out, ev->rc);
    }
}

/* Takes the quorum's answer, and the list after it, which tells whether our create was done. An
 * answer that is not the quorum's does not settle the create: a list may then be too early. */
static void attempt_step_settling(struct attempt *c, const struct machine_event *ev,
                                  const struct attempt_moment *m, struct machine_actions *out)
{
    const bool set_answered = attempt_is_answer(ev, STORE_SET, ATTEMPT_QUORUM);
    struct place place = {.found = false};

    if (!set_answered && !attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN))
        return;
    if (set_answered && machine_is_by_quorum(ev->rc)) {
        machine_ask(out, STORE_LIST, ATTEMPT_CHILDREN);
        return;
    }
    if (set_answered || (ev->rc != STORE_OK && ev->rc != STORE_NONODE)) {
        attempt_fail_unsettled(c, out, ev->rc);
        return;
    }
    if (ev->rc == STORE_OK)
        place = rule_place(m->children, ev->count, c->rule, INT32_MAX);
    if (!place.found) {
        attempt_enter(c, out);
        return;
    }
    c->has_node = true;
    c->number = place.own;
    attempt_say(out, ATTEMPT_ADOPT, (int)place.own_id);
    if (place.spare)
        attempt_delete_listed(ev, out, ATTEMPT_SPARE);
    if (rule_exhausted(c->number)) {
        attempt_exhaust(c, out);
        return;
    }
    attempt_read_own(c, out);
    attempt_move(c, ST_ADOPTING);
}

static void attempt_step_enter(struct attempt *c, const struct machine_event *ev,
                               const struct attempt_moment *m, struct machine_actions *out)
{
    switch (c->state) {
    case ST_IDLE:
    case ST_REENTERING:
        if (ev->kind == MACHINE_EV_BEGIN)
            attempt_enter(c, out);
        break;
    case ST_CREATING:
        attempt_step_creating(c, ev, m, out);
        break;
    case ST_PARENTS:
        if (ev->kind == MACHINE_EV_ANSWER && ev->verb == STORE_CREATE)
            attempt_on_made(c, ev, out);
        break;
    case ST_SETTLING:
        attempt_step_settling(c, ev, m, out);
        break;
    case ST_ADOPTING:
        if (!attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN))
            break;
        if (attempt_read_says_gone(ev)) {
            attempt_reenter(c, out);
        } else if (ev->rc != STORE_OK) {
            attempt_fail_answer(c, out, ev->rc);
        } else {
            c->token = ev->czxid;
            attempt_set_own_watched(c, m);
            attempt_list_again(c, out);
        }
        break;
    case ST_RESETTING:
        attempt_step_resetting(c, ev, m, out);
        break;
    default:
        break;
    }
}

/* ---- from the head of the queue to the end: the attempt proves its node, holds, loses or gives
 * back, and leaves no node ---- */

/* Whether the head leaves a hint. Its grant proves that nobody stands before it only if its kind
 * waits for its own kind and holds alone. A version below 0 has overflowed, and -1 would mean any
 * version. */
static bool attempt_is_to_hint(const struct attempt *c)
{
    return c->rule != RULE_LEASE && rule_waits(c->rule, rule_kind(c->rule)) &&
           !rule_is_shared(rule_kind(c->rule)) && c->long_queue > 0 && c->count >= c->long_queue &&
           c->hintable && c->version >= 0;
}

/* Grants. The hint is sent before the grant is told: a holder may give back at once, and its delete
 * must come after the hint. */
static void attempt_grant(struct attempt *c, const struct attempt_moment *m,
                          struct machine_actions *out)
{
    if (attempt_is_to_hint(c)) {
        struct machine_action *a = machine_act(out, MACHINE_ACT_NOTE);
        a->node = ATTEMPT_HINT;
        a->version = c->version;
    }
    attempt_say(out, ATTEMPT_GRANT, 0);
    c->told = true;
    c->awaits = false;
    if (!c->own_watched && attempt_needs_own_watch(c))
        attempt_arm(out, m, ATTEMPT_OWN_WATCH_MS);
    if (c->asked)
        attempt_say(out, ATTEMPT_ASKED, 0);
    attempt_move(c, ST_HOLDING);
}

/* Waits for a deadline, for at most a session timeout on one connection, since others are in the
 * queue. Time without a connection does not count: there the end of the session decides. */
static void attempt_await_deadline(struct attempt *c, const struct attempt_moment *m,
                                   struct machine_actions *out)
{
    if (c->awaits && c->awaited_on == m->connection)
        return;
    c->awaits = true;
    c->awaited_on = m->connection;
    if (m->connection != 0)
        attempt_arm(out, m, m->timeout_ms);
}

/* Whether a session timeout has passed on one connection without a deadline. */
static bool attempt_has_awaited(const struct attempt *c, const struct machine_event *ev,
                                const struct attempt_moment *m)
{
    return c->awaits && ev->kind == MACHINE_EV_TIMER && m->connection != 0 &&
           c->awaited_on == m->connection;
}

/* Grants when a deadline comes. That may have taken long, so the node is proved once more, unless a
 * watch on this connection would have told of its end. After a reconnect the deadline may come
 * before the events that were missed. */
static void attempt_step_claiming(struct attempt *c, const struct machine_event *ev,
                                  const struct attempt_moment *m, struct machine_actions *out)
{
    const bool due = ev->kind == ATTEMPT_EV_DEADLINE_MOVED && m->in_time;

    if (due && attempt_is_own_silent(c, m))
        attempt_grant(c, m, out);
    else if (due || attempt_is_own_fire(ev))
        attempt_prove(c, out);
    else
        attempt_await_deadline(c, m, out);
}

static void attempt_tell_others(struct attempt *c, struct machine_actions *out,
                                enum attempt_others others)
{
    c->others = others;
    attempt_say(out, ATTEMPT_OTHERS, (int)others);
}

/* Asks whether others wait. If the children are watched and nobody has come, the holder is told so
 * at once. */
static void attempt_ask_others(struct attempt *c, struct machine_actions *out)
{
    if (c->looking)
        return;
    if (c->others == OTHERS_NONE) {
        attempt_tell_others(c, out, OTHERS_NONE);
        return;
    }
    c->looking = true;
    if (attempt_reads_limit(c))
        machine_ask(out, STORE_GET, ATTEMPT_LIMIT)->slot = ATTEMPT_SLOT_OTHERS;
    struct machine_action *a = machine_ask(out, STORE_LIST, ATTEMPT_CHILDREN);
    a->slot = ATTEMPT_SLOT_OTHERS;
    a->joins = attempt_reads_limit(c);
    a->watch = a->optional = true;
}

/* Takes an event of the children's watch. That watch would have told that the own node is gone, so
 * the node now gets a watch of its own. A newcomer need not wait for a reader or a holder of
 * permits: for these a list tells. */
static void attempt_on_children_fired(struct attempt *c, const struct attempt_moment *m,
                                      struct machine_actions *out)
{
    if (c->others == OTHERS_WAIT) /* the holder knows, and hears of no more */
        return;
    if (!c->own_watched)
        attempt_arm(out, m, ATTEMPT_OWN_WATCH_MS);
    if (rule_kind(c->rule) != CHILD_READ && c->rule != RULE_LEASE) {
        attempt_tell_others(c, out, OTHERS_WAIT);
        return;
    }
    c->others = OTHERS_UNKNOWN;
    attempt_ask_others(c, out);
}

/* Takes an answer for a holder: the list of others, a read of the own node, or the limit. A list
 * without the own node proves nothing: the own watch tells that the node is gone. */
static void attempt_on_held_answer(struct attempt *c, const struct machine_event *ev,
                                   const struct attempt_moment *m, struct machine_actions *out)
{
    if (attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN)) {
        struct place place = {.present = false};
        c->looking = false;
        if (ev->rc == STORE_OK)
            place = rule_place(m->children, ev->count, c->rule, c->number);
        attempt_tell_others(c, out,
                            place.present ? attempt_others_in(c, ev, &place) : OTHERS_UNKNOWN);
    } else if (attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN)) {
        if (attempt_read_says_gone(ev)) {
            attempt_end_without_node(c, out, LOSS_DELETED);
        } else if (ev->rc == STORE_LIMIT) { /* too much is watched: reads without a watch will do */
            machine_ask(out, STORE_GET, ATTEMPT_OWN);
            c->unwatchable = true;
        } else if (ev->rc == STORE_OK && !c->unwatchable) {
            attempt_set_own_watched(c, m);
        } else {
            attempt_arm(out, m, ev->rc == STORE_OK ? m->timeout_ms : ATTEMPT_RETRY_MS);
        }
        if (c->state == ST_HOLDING && m->asked && !c->asked) {
            c->asked = true;
            attempt_say(out, ATTEMPT_ASKED, 0);
        }
    } else if (ev->node == ATTEMPT_LIMIT && !attempt_init_limit(c, ev, out) && ev->rc == STORE_OK &&
               m->limit > 0) {
        attempt_learn_limit(c, ev, m);
    }
}

static void attempt_step_holding(struct attempt *c, const struct machine_event *ev,
                                 const struct attempt_moment *m, struct machine_actions *out)
{
    switch (ev->kind) {
    case MACHINE_EV_ANSWER:
        attempt_on_held_answer(c, ev, m, out);
        break;
    case MACHINE_EV_FIRED:
    case ATTEMPT_EV_NODE_GONE:
        if (attempt_is_fire(ev, ATTEMPT_CHILDREN)) {
            attempt_on_children_fired(c, m, out);
        } else if (attempt_is_own_fire(ev)) {
            if (attempt_fire_says_gone(ev))
                attempt_end_without_node(c, out, LOSS_DELETED);
            else
                attempt_read_own(c, out);
        }
        break;
    case MACHINE_EV_TIMER: /* armed for the watch, or while a try waited */
        if (!c->own_watched && attempt_needs_own_watch(c))
            attempt_read_own(c, out);
        break;
    case ATTEMPT_EV_ASK_OTHERS:
        attempt_ask_others(c, out);
        break;
    case ATTEMPT_EV_WATCH_OWN: /* the read shows what was written before the watch is set */
        if (!c->own_watched)
            attempt_read_own(c, out);
        c->watch_own = true;
        break;
    case ATTEMPT_EV_DEADLINE_PASSED:
        /* The node may still stand, and is deleted when the callbacks have returned: so what they
         * stop is stopped before another contender is granted. A callback that hangs delays this by
         * one timeout at most. */
        attempt_say(out, ATTEMPT_LOSE, LOSS_DEADLINE);
        attempt_arm(out, m, m->timeout_ms);
        attempt_move(c, ST_LOST);
        break;
    case ATTEMPT_EV_RELEASE:
        attempt_finish(c, out);
        break;
    default:
        break;
    }
}

/* Tries again later to find a node of our own, since the server has refused that. */
static void attempt_put_off_settling(struct attempt *c, const struct attempt_moment *m,
                                     struct machine_actions *out)
{
    const uint32_t doublings = 6; /* enough for a pause longer than LAST */
    const int32_t pause_ms = ATTEMPT_SETTLE_FIRST_MS << c->rounds;

    if (c->rounds < doublings)
        c->rounds++;
    attempt_say(out, ATTEMPT_ORPHAN, 0);
    attempt_arm(out, m, pause_ms < ATTEMPT_SETTLE_LAST_MS ? pause_ms : ATTEMPT_SETTLE_LAST_MS);
}

/* Settles the create. The caller has its answer, but a node of ours may still be made, or stand. */
static void attempt_step_leaving(struct attempt *c, const struct machine_event *ev,
                                 const struct attempt_moment *m, struct machine_actions *out)
{
    const bool create_answered = attempt_is_answer(ev, STORE_CREATE, ATTEMPT_NEW),
               set_answered = attempt_is_answer(ev, STORE_SET, ATTEMPT_QUORUM),
               list_answered = attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN) && !c->creating;

    if (create_answered)
        c->creating = false;
    if ((create_answered && ev->rc == STORE_UNKNOWN) ||
        (ev->kind == MACHINE_EV_TIMER && c->rounds > 0)) {
        machine_ask_quorum(out, ATTEMPT_QUORUM);
    } else if (create_answered) {
        c->has_node = ev->rc == STORE_OK;
        c->number = m->number;
        attempt_finish(c, out);
    } else if (set_answered && machine_is_by_quorum(ev->rc)) {
        machine_ask(out, STORE_LIST, ATTEMPT_CHILDREN);
    } else if (list_answered && (ev->rc == STORE_OK || ev->rc == STORE_NONODE)) {
        attempt_delete_listed(ev, out, ATTEMPT_OURS);
        attempt_finish(c, out);
    } else if (set_answered || list_answered) {
        attempt_put_off_settling(c, m, out);
    }
}

/* Takes an event of the last phase. The end of the session comes here only after the caller has its
 * answer. */
static void attempt_step_hold(struct attempt *c, const struct machine_event *ev,
                              const struct attempt_moment *m, struct machine_actions *out)
{
    if (attempt_is_session_end(ev)) {
        attempt_end_without_node(c, out, m->loss);
    } else if (c->state != ST_HOLDING && attempt_is_fire(ev, ATTEMPT_CHILDREN)) {
        c->others = OTHERS_WAIT;
    } else if (attempt_has_awaited(c, ev, m)) {
        if (c->try_only)
            attempt_fail(c, out, ATTEMPT_UNPROVED);
        else
            attempt_reenter(c, out); /* lets others be first */
    } else if (c->state == ST_PROVING && c->awaits && ev->kind == ATTEMPT_EV_DEADLINE_MOVED) {
        attempt_await_deadline(c, m, out);
    } else if (c->state == ST_PROVING && attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN)) {
        if (attempt_read_says_gone(ev))
            attempt_reenter(c, out);
        else if (ev->rc != STORE_OK)
            attempt_fail_answer(c, out, ev->rc);
        else
            attempt_move(c, ST_CLAIMING);
    } else if (c->state == ST_CLAIMING) {
        attempt_step_claiming(c, ev, m, out);
    } else if (c->state == ST_HOLDING) {
        attempt_step_holding(c, ev, m, out);
    } else if (c->state == ST_LOST &&
               (ev->kind == ATTEMPT_EV_RELEASE || ev->kind == MACHINE_EV_TIMER)) {
        attempt_finish(c, out);
    } else if (c->state == ST_LEAVING) {
        attempt_step_leaving(c, ev, m, out);
    }
}

/* ---- what all phases take in the same way ---- */

/* Whether the own watch says that the node is gone, before the caller has its answer. Then the node
 * is not read again: a read on the next connection may be older, and find it. */
static bool attempt_is_own_gone_for_good(const struct attempt *c, const struct machine_event *ev)
{
    return attempt_is_own_fire(ev) && attempt_fire_says_gone(ev) && c->own_watched && c->has_node &&
           !c->told;
}

/* Takes the answers of a touch. A touch is tried until it is done or the node is gone: somebody
 * else may have written there, or the set was done and its answer lost. */
static void attempt_on_touched(const struct machine_event *ev, struct machine_actions *out)
{
    struct machine_action *a;

    if (ev->verb == STORE_GET && ev->rc == STORE_OK) {
        a = machine_ask(out, STORE_SET, ATTEMPT_OWN);
        a->version = ev->version;
        a->slot = ATTEMPT_SLOT_TOUCH;
    } else if (ev->verb == STORE_SET && ev->rc == STORE_BADVERSION) {
        machine_ask(out, STORE_GET, ATTEMPT_OWN)->slot = ATTEMPT_SLOT_TOUCH;
    } else if (ev->verb == STORE_SET && (ev->rc == STORE_NOAUTH || ev->rc == STORE_BAD)) {
        attempt_say(out, ATTEMPT_UNTOUCHED, 0);
    }
}

static void attempt_step_phase(struct attempt *c, const struct machine_event *ev,
                               const struct attempt_moment *m, struct machine_actions *out)
{
    const uint32_t enter = BIT(ST_IDLE) | BIT(ST_REENTERING) | BIT(ST_CREATING) | BIT(ST_PARENTS) |
                           BIT(ST_SETTLING) | BIT(ST_ADOPTING) | BIT(ST_RESETTING);
    const uint32_t wait = BIT(ST_LISTING) | BIT(ST_WAITING) | BIT(ST_FIRST) | BIT(ST_SUCCEEDING);
    const uint32_t hold =
        BIT(ST_PROVING) | BIT(ST_CLAIMING) | BIT(ST_HOLDING) | BIT(ST_LOST) | BIT(ST_LEAVING);

    if (attempt_is_in(c, enter))
        attempt_step_enter(c, ev, m, out);
    else if (attempt_is_in(c, wait))
        attempt_step_wait(c, ev, m, out);
    else if (attempt_is_in(c, hold))
        attempt_step_hold(c, ev, m, out);
}

/* Takes an event: all phases take the end of a session, the caller's giving up and the end of the
 * own node in the same way, and the present phase takes the rest. */
static void attempt_take_event(struct attempt *c, const struct machine_event *ev,
                               const struct attempt_moment *m, struct machine_actions *out)
{
    const bool own_gone = attempt_is_own_gone_for_good(c, ev);

    if (attempt_is_own_fire(ev))
        c->own_watched = false;
    if (attempt_is_limit_doubtful(ev))
        c->limit_watched = false;
    /* for a holder attempt_on_held_answer() does this */
    if (attempt_is_answer(ev, STORE_GET, ATTEMPT_OWN) && c->state != ST_HOLDING)
        c->asked |= m->asked;
    if (attempt_is_session_end(ev) && c->state != ST_IDLE && !c->told) {
        c->rounds = 0;
        c->watching = false;
        c->limit_watched = false;
        c->has_node = false;
        if (ev->kind == MACHINE_EV_OVER)
            attempt_fail(c, out, ATTEMPT_PROTOCOL);
        else if (c->state != ST_REENTERING) /* that state has asked for admission already */
            attempt_move(c, ST_REENTERING);
    } else if (ev->kind == MACHINE_EV_STOP && !c->told) {
        attempt_tell_failure(c, out, ATTEMPT_ABORTED);
        if (attempt_is_in(c, BIT(ST_CREATING) | BIT(ST_SETTLING)))
            attempt_move(c, ST_LEAVING);
        else
            attempt_finish(c, out);
    } else if (own_gone) {
        attempt_reenter(c, out);
    } else {
        attempt_step_phase(c, ev, m, out);
    }
}

/* Asks for admission again, since thousands may have to enter at once. A create that could not be
 * sent before its session ended is recalled. The next node has another name: if a directory was
 * made again its numbers repeat, and a late delete of the former node would meet the next one. If
 * the children may be watched, the end of the own node changes them, and so ends the watch. */
static void attempt_begin_reentering(struct attempt *c, struct machine_actions *out)
{
    if (c->creating)
        machine_act(out, MACHINE_ACT_RECALL)->node = ATTEMPT_NEW;
    machine_act(out, MACHINE_ACT_NAME)->node = ATTEMPT_OWN;
    machine_act(out, MACHINE_ACT_FORGET)->slot = ATTEMPT_SLOT_MAIN;
    machine_act(out, MACHINE_ACT_FORGET)->slot = ATTEMPT_SLOT_TOUCH;
    if (c->watch_children || c->first || c->others == OTHERS_NONE) {
        struct machine_action *a = machine_act(out, MACHINE_ACT_UNWATCH);
        a->node = ATTEMPT_CHILDREN;
        a->deleting = true;
    }
    attempt_forget_place(c);
    attempt_say(out, ATTEMPT_ADMIT, 0);
}

/* Adds the actions with which three states begin, whichever phase moved to them. For all others the
 * caller of attempt_move() adds them. */
static void attempt_begin_state(struct attempt *c, const struct machine_event *ev,
                                const struct attempt_moment *m, struct machine_actions *out)
{
    if (c->state == ST_REENTERING) {
        attempt_begin_reentering(c, out);
    } else if (c->state == ST_CLAIMING) {
        if (m->in_time)
            attempt_grant(c, m, out);
        else
            attempt_await_deadline(c, m, out);
    } else if (c->state == ST_LEAVING) {
        c->rounds = 0;
        if (c->creating)
            machine_act(out, MACHINE_ACT_RECALL)->node = ATTEMPT_NEW;
        attempt_step_leaving(c, ev, m, out); /* ev may already be a refusal to settle the create */
    }
}

/* Whether the watch on the children stays. A watch stays if its event would tell something. It
 * stays, too, if a holder has asked for others and found some: such a holder is about to give back,
 * which ends the watch without a request. */
static bool attempt_wants_watch(const struct attempt *c, const struct machine_event *ev)
{
    const bool ends = ev->slot == ATTEMPT_SLOT_OTHERS && c->others == OTHERS_WAIT;

    return c->others == OTHERS_NONE || c->first || ends || c->state == ST_DONE;
}

/* Whether the watch that a list has left ends with the own node. If the list does not show that
 * node, the watch does not, and is ended here. */
static bool attempt_watch_ends_with_own(const struct machine_event *ev,
                                        const struct attempt_moment *m, struct machine_actions *out)
{
    for (size_t i = 0; i < ev->count; i++)
        if (m->children[i].own)
            return true;
    machine_act(out, MACHINE_ACT_UNWATCH)->node = ATTEMPT_CHILDREN;
    return false;
}

void attempt_step(struct attempt *c, const struct machine_event *ev, const struct attempt_moment *m,
                  struct machine_actions *out)
{
    const enum attempt_state from = c->state;
    const bool left = attempt_is_answer(ev, STORE_LIST, ATTEMPT_CHILDREN) && ev->watched;
    struct machine_event event = *ev; /* .watched: the watch ends with the own node */

    out->count = 0;
    event.watched = left && attempt_watch_ends_with_own(ev, m, out);
    if (ev->kind == MACHINE_EV_ANSWER && ev->slot == ATTEMPT_SLOT_TOUCH)
        attempt_on_touched(ev, out);
    else
        attempt_take_event(c, &event, m, out);
    if (c->state != from)
        attempt_begin_state(c, &event, m, out);
    if (event.watched && !attempt_wants_watch(c, &event))
        machine_act(out, MACHINE_ACT_UNWATCH)->node = ATTEMPT_CHILDREN;
    assert(c->state == from || attempt_may_move(from, c->state));
    assert(attempt_invariant(c));
}
