#include "transaction.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} transaction_table[TX_COUNT] = {
    [TX_IDLE] = {"idle", BIT(TX_IDLE) | BIT(TX_READING) | BIT(TX_SENT)},
    [TX_READING] = {"reading", BIT(TX_IDLE) | BIT(TX_SENT)},
    [TX_SENT] = {"sent", BIT(TX_IDLE) | BIT(TX_READING) | BIT(TX_DOUBTING)},
    [TX_DOUBTING] = {"doubting", BIT(TX_IDLE) | BIT(TX_SENT) | BIT(TX_RESENT)},
    [TX_RESENT] = {"resent", BIT(TX_IDLE) | BIT(TX_DOUBTING) | BIT(TX_SEALING)},
    [TX_SEALING] = {"sealing", BIT(TX_IDLE) | BIT(TX_CHECKING)},
    [TX_CHECKING] = {"checking", BIT(TX_IDLE) | BIT(TX_SEALING)},
};

const char *transaction_state_name(enum transaction_state state)
{
    return state < TX_COUNT ? transaction_table[state].name : "?";
}

bool transaction_may_move(enum transaction_state from, enum transaction_state to)
{
    return (transaction_table[from].next & BIT(to)) != 0;
}

static bool transaction_is_in(const struct transaction *t, uint32_t states)
{
    return (BIT(t->state) & states) != 0;
}

/* Whether the answer to a transaction is awaited. */
static bool transaction_is_asked(const struct transaction *t)
{
    return transaction_is_in(t, BIT(TX_SENT) | BIT(TX_RESENT) | BIT(TX_SEALING));
}

/* Whether a sending whose answer was lost may have been applied, or may yet be. */
static bool transaction_is_doubtful(const struct transaction *t)
{
    return transaction_is_in(t, BIT(TX_DOUBTING) | BIT(TX_RESENT) | BIT(TX_SEALING) |
                                    BIT(TX_CHECKING));
}

bool transaction_invariant(const struct transaction *t)
{
    if (t->number > t->numbers || t->seal > t->numbers || (t->seal && t->seal <= t->number))
        return false;
    if (t->asked > t->version || t->failures > TRANSACTION_FAILURES)
        return false;
    if (transaction_is_asked(t) && t->asked != t->version)
        return false;
    if (t->state == TX_IDLE && t->numbers > 0 && !t->told)
        return false;
    if ((transaction_is_doubtful(t) || t->state == TX_SENT) && t->number == 0)
        return false;
    if (transaction_is_doubtful(t) && t->failures == 0)
        return false;
    return t->state == TX_IDLE ||
           (t->seal != 0) == transaction_is_in(t, BIT(TX_SEALING) | BIT(TX_CHECKING));
}

uint32_t transaction_written(const struct transaction *t)
{
    return t->state == TX_SEALING ? t->seal : t->number;
}

static void transaction_move(struct transaction *t, enum transaction_state to)
{
    assert(transaction_may_move(t->state, to));
    t->state = to;
}

/* Tells the verdict, unless the caller was told one when its time was over. */
static void transaction_tell_verdict(struct transaction *t, struct machine_actions *out,
                                     enum transaction_verdict verdict)
{
    if (!t->told)
        machine_tell(out, (int)verdict, t->rc);
    t->told = true;
}

/* Ends the transaction: what was not sent never is. */
static void transaction_end(struct transaction *t, struct machine_actions *out,
                            enum transaction_verdict verdict, bool node_gone)
{
    t->loose = t->loose || verdict == TX_TOLD_UNKNOWN;
    transaction_tell_verdict(t, out, verdict);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, node_gone ? TX_ENDED_GONE : TX_ENDED, STORE_OK);
    transaction_move(t, TX_IDLE);
}

/* Ends the transaction because its node or its session is gone. No request can be applied after
 * that. A request that was sent before may have been applied: then the outcome is unknown. */
static void transaction_lose(struct transaction *t, struct machine_actions *out)
{
    transaction_end(t, out, transaction_is_doubtful(t) ? TX_TOLD_UNKNOWN : TX_TOLD_LOST, true);
}

/* ---- what is asked ---- */

static void transaction_read(struct transaction *t, struct machine_actions *out,
                             enum transaction_state state)
{
    transaction_move(t, state);
    machine_ask(out, STORE_GET, 0);
}

/* Sends the transaction, with the number of its first sending, or its seal. It is sent on ev's
 * connection alone, which has answered something: on another one libzookeeper may find that its
 * session has expired, and a transaction could then end the process. */
static void transaction_send(struct transaction *t, const struct machine_event *ev,
                             struct machine_actions *out, enum transaction_state state)
{
    const bool sealing = state == TX_SEALING;
    uint32_t *number = sealing ? &t->seal : &t->number;
    struct machine_action *a = machine_ask(out, STORE_MULTI, 0);

    if (*number == 0)
        *number = ++t->numbers;
    t->asked = t->version;
    a->count = 1;
    a->parts[0] = (struct machine_part){.verb = STORE_SET, .version = t->asked};
    a->rest = !sealing;
    a->once = true;
    a->connection = ev->connection;
    transaction_move(t, state);
}

/* Sends the transaction as a new one: no earlier sending of it can be applied any more. */
static void transaction_send_afresh(struct transaction *t, const struct machine_event *ev,
                                    const struct transaction_moment *now,
                                    struct machine_actions *out)
{
    if (t->told || now->lost)
        transaction_end(t, out, TX_TOLD_LOST, false);
    else
        transaction_send(t, ev, out, TX_SENT);
}

static void transaction_begin(struct transaction *t, const struct machine_event *ev,
                              const struct transaction_moment *now, struct machine_actions *out)
{
    t->release = now->release;
    t->told = now->told;
    t->failures = 0;
    t->number = t->seal = 0;
    if (t->told || now->lost)
        transaction_end(t, out, TX_TOLD_LOST, false);
    else if (!t->stale && ev->connection != 0)
        transaction_send(t, ev, out, TX_SENT);
    else
        transaction_read(t, out, TX_READING);
}

/* ---- what is answered to a set ---- */

static void transaction_store_refusal(struct transaction *t, const struct machine_event *ev)
{
    t->rc = ev->rc;
    t->failed = ev->failed;
}

/* Handles a refusal of the transaction as a whole. */
static void transaction_on_refused(struct transaction *t, const struct machine_event *ev,
                                   struct machine_actions *out)
{
    t->stale = t->stale || ev->failed == 0;
    if (t->state == TX_SENT) {
        transaction_store_refusal(t, ev);
        transaction_end(t, out, TX_TOLD_REFUSED, false);
    } else if (t->state == TX_RESENT && ev->failed != 0 && !t->told) {
        transaction_store_refusal(t, ev);
        transaction_send(t, ev, out, TX_SEALING);
    } else {
        transaction_end(t, out, TX_TOLD_UNKNOWN, false);
    }
}

/* Handles the refusal of the version asked for. The node had that version once, so another set has
 * used it up. */
static void transaction_on_outdated(struct transaction *t, const struct machine_event *ev,
                                    struct machine_actions *out)
{
    t->stale = true;
    t->failures++;
    if (t->version == t->asked && t->version < INT32_MAX)
        t->version++;
    if (t->state != TX_SEALING)
        transaction_store_refusal(t, ev);
    if (t->state != TX_SENT)
        transaction_read(t, out, t->state == TX_SEALING ? TX_CHECKING : TX_DOUBTING);
    else if (t->failures < TRANSACTION_FAILURES)
        transaction_read(t, out, TX_READING);
    else
        transaction_end(t, out, TX_TOLD_REFUSED, false);
}

/* Handles the answer to a sending of the transaction, or to its seal. */
static void transaction_on_set(struct transaction *t, const struct machine_event *ev,
                               struct machine_actions *out)
{
    static const enum transaction_state before_sending[TX_COUNT] = {
        [TX_SENT] = TX_READING,
        [TX_RESENT] = TX_DOUBTING,
        [TX_SEALING] = TX_CHECKING,
    };
    const bool of_fence = ev->failed == 0;

    if (ev->rc == STORE_OK) {
        if (t->asked < INT32_MAX)
            t->version = t->asked + 1;
        if (t->state == TX_SEALING)
            transaction_end(t, out, TX_TOLD_REFUSED, false);
        else
            transaction_end(t, out, TX_TOLD_APPLIED, t->release);
    } else if (ev->rc == STORE_UNKNOWN && ev->unsent) {
        transaction_read(t, out, before_sending[t->state]);
    } else if (ev->rc == STORE_UNKNOWN) { /* it may have been applied, or may be yet */
        t->stale = true;
        t->failures++;
        if (t->told || t->failures == TRANSACTION_FAILURES)
            transaction_end(t, out, TX_TOLD_UNKNOWN, false);
        else
            transaction_read(t, out, t->state == TX_SEALING ? TX_CHECKING : TX_DOUBTING);
    } else if (ev->rc == STORE_NONODE && of_fence) {
        transaction_lose(t, out);
    } else if (ev->rc == STORE_BADVERSION && of_fence) {
        transaction_on_outdated(t, ev, out);
    } else {
        transaction_on_refused(t, ev, out);
    }
}

/* ---- what a read shows ---- */

enum user { NOBODY, OWN, OTHER, FOREIGN };

/* Finds whose set used up the version asked for; number: what the data say. OTHER: a set of ours
 * that is not this transaction's. FOREIGN: another program's, or nobody can tell. */
static enum user transaction_find_user(const struct transaction *t, const struct machine_event *ev,
                                       uint32_t number)
{
    if (ev->version <= t->asked)
        return NOBODY;
    if (t->asked == INT32_MAX || ev->version > t->asked + 1)
        return FOREIGN;
    if (number == 0 || number > t->numbers)
        return FOREIGN;
    return number == t->number ? OWN : OTHER;
}

/* Sends the transaction or its seal once more, since the read does not show that the version is
 * used up. If an earlier answer has shown so, .version is above .asked, and the outcome is unknown.
 */
static void transaction_try_again(struct transaction *t, const struct machine_event *ev,
                                  const struct transaction_moment *now, struct machine_actions *out)
{
    if (t->told || t->version > t->asked || t->failures == TRANSACTION_FAILURES)
        transaction_end(t, out, TX_TOLD_UNKNOWN, false);
    else if (t->state == TX_CHECKING)
        transaction_send(t, ev, out, TX_SEALING);
    else if (now->lost)
        transaction_end(t, out, TX_TOLD_UNKNOWN, false);
    else
        transaction_send(t, ev, out, TX_RESENT);
}

/* Sends the transaction as a new one: another set of ours came in its place, so it was never
 * applied, and cannot be any more. There are few such sets, so the count of failures begins anew.
 */
static void transaction_on_void(struct transaction *t, const struct machine_event *ev,
                                const struct transaction_moment *now, struct machine_actions *out)
{
    if (t->state == TX_CHECKING) {
        transaction_end(t, out, TX_TOLD_REFUSED, false);
    } else {
        t->failures = 0;
        transaction_send_afresh(t, ev, now, out);
    }
}

/* Handles the data and the version that a read has shown. */
static void transaction_on_shown(struct transaction *t, const struct machine_event *ev,
                                 const struct transaction_moment *now, struct machine_actions *out)
{
    const enum user user = transaction_find_user(t, ev, now->number);

    if (ev->version > t->version)
        t->version = ev->version;
    t->stale = false;
    if (t->state == TX_READING)
        transaction_send_afresh(t, ev, now, out);
    else if (user == NOBODY)
        transaction_try_again(t, ev, now, out);
    else if (user == OTHER)
        transaction_on_void(t, ev, now, out);
    else if (user == OWN && !t->release) /* a release would have deleted the node */
        transaction_end(t, out, TX_TOLD_APPLIED, false);
    else
        transaction_end(t, out, TX_TOLD_UNKNOWN, false);
}

/* Handles a refused read, as without permission. The version may be known in spite of that. */
static void transaction_on_unread(struct transaction *t, const struct machine_event *ev,
                                  const struct transaction_moment *now, struct machine_actions *out)
{
    if (transaction_is_doubtful(t)) {
        transaction_end(t, out, TX_TOLD_UNKNOWN, false);
    } else if (!t->stale) {
        transaction_send_afresh(t, ev, now, out);
    } else {
        transaction_store_refusal(t, ev);
        transaction_end(t, out, TX_TOLD_REFUSED, false);
    }
}

/* ---- all of it ---- */

void transaction_step(struct transaction *t, const struct machine_event *ev,
                      const struct transaction_moment *now, struct machine_actions *out)
{
    if (ev->kind == MACHINE_EV_BEGIN) {
        transaction_begin(t, ev, now, out);
    } else if (t->state == TX_IDLE) {
        return;
    } else if (ev->kind == MACHINE_EV_STOP) {
        /* the caller's time is over; an answer that is awaited still counts for the next one */
        if (t->state == TX_SENT && ev->unsent)
            transaction_end(t, out, TX_TOLD_LATE, false);
        else
            transaction_tell_verdict(t, out,
                                     t->state == TX_READING ? TX_TOLD_LATE : TX_TOLD_UNKNOWN);
    } else if (ev->kind != MACHINE_EV_ANSWER) {
        /* the session has ended, and the node with it: what was sent may have been applied before
         */
        if (transaction_is_asked(t) && !ev->unsent)
            transaction_end(t, out, TX_TOLD_UNKNOWN, false);
        else
            transaction_lose(t, out);
    } else if (ev->verb == STORE_MULTI) {
        transaction_on_set(t, ev, out);
    } else if (ev->rc == STORE_OK) {
        transaction_on_shown(t, ev, now, out);
    } else if (ev->rc == STORE_NONODE) {
        transaction_lose(t, out);
    } else {
        transaction_on_unread(t, ev, now, out);
    }
    assert(transaction_invariant(t));
}
