#include "transaction.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

static const struct {
    const char *name;
    uint32_t next;
} table[TX_COUNT] = {
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
    return state < TX_COUNT ? table[state].name : "?";
}

bool transaction_may_move(enum transaction_state from, enum transaction_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

static bool is_in(const struct transaction *t, uint32_t states)
{
    return (BIT(t->state) & states) != 0;
}

/* A sending may still be applied, or have been, though nothing is awaited from it. */
static bool is_doubtful(const struct transaction *t)
{
    return is_in(t, BIT(TX_DOUBTING) | BIT(TX_RESENT) | BIT(TX_SEALING) | BIT(TX_CHECKING));
}

bool transaction_invariant(const struct transaction *t)
{
    if (t->number > t->numbers || t->seal > t->numbers || (t->seal && t->seal <= t->number))
        return false;
    if (t->asked > t->version || t->failures > TRANSACTION_FAILURES)
        return false;
    if (is_in(t, BIT(TX_SENT) | BIT(TX_RESENT) | BIT(TX_SEALING)) && t->asked != t->version)
        return false;
    if (t->state == TX_IDLE && t->numbers > 0 && !t->told)
        return false;
    if ((is_doubtful(t) || t->state == TX_SENT) && t->number == 0)
        return false;
    if (is_doubtful(t) && t->failures == 0)
        return false;
    return t->state == TX_IDLE || (t->seal != 0) == is_in(t, BIT(TX_SEALING) | BIT(TX_CHECKING));
}

static void move(struct transaction *t, enum transaction_state to)
{
    assert(transaction_may_move(t->state, to));
    t->state = to;
}

static struct transaction_action *act(struct transaction_actions *out,
                                      enum transaction_action_kind kind)
{
    assert(out->count < TRANSACTION_ACTIONS);
    struct transaction_action *a = &out->list[out->count++];
    *a = (struct transaction_action){.kind = kind};
    return a;
}

static void tell(struct transaction *t, struct transaction_actions *out,
                 enum transaction_verdict verdict)
{
    if (t->told)
        return;
    struct transaction_action *a = act(out, TX_ACT_TELL);
    a->verdict = verdict;
    a->error = t->error;
    a->failed = t->failed;
    t->told = true;
}

static void end(struct transaction *t, struct transaction_actions *out,
                enum transaction_verdict verdict, bool node_gone)
{
    t->loose = t->loose || verdict == TX_TOLD_UNKNOWN;
    tell(t, out, verdict);
    act(out, TX_ACT_END)->node_gone = node_gone;
    move(t, TX_IDLE);
}

/* Without the node, or its session, nothing can be applied; but something may have been. */
static void lose(struct transaction *t, struct transaction_actions *out)
{
    end(t, out, is_doubtful(t) ? TX_TOLD_UNKNOWN : TX_TOLD_LOST, true);
}

/* ---- what is asked ---- */

static void read(struct transaction *t, const struct transaction_event *ev,
                 struct transaction_actions *out, enum transaction_state state)
{
    move(t, state);
    if (ev->over)
        lose(t, out);
    else
        act(out, TX_ACT_READ);
}

/* What is sent again keeps its number. */
static void send(struct transaction *t, struct transaction_actions *out,
                 enum transaction_state state)
{
    const bool sealing = state == TX_SEALING;
    uint32_t *number = sealing ? &t->seal : &t->number;

    if (*number == 0)
        *number = ++t->numbers;
    t->asked = t->version;
    struct transaction_action *a = act(out, sealing ? TX_ACT_SEAL : TX_ACT_SEND);
    a->version = t->asked;
    a->number = *number;
    move(t, state);
}

/* No sending of it can be applied any more. */
static void send_afresh(struct transaction *t, const struct transaction_event *ev,
                        struct transaction_actions *out)
{
    if (t->told || ev->lost)
        end(t, out, TX_TOLD_LOST, false);
    else
        send(t, out, TX_SENT);
}

static void begin(struct transaction *t, const struct transaction_event *ev,
                  struct transaction_actions *out)
{
    t->release = ev->release;
    t->told = ev->told;
    t->failures = 0;
    t->number = t->seal = 0;
    if (ev->over)
        lose(t, out);
    else if (t->told || ev->lost)
        end(t, out, TX_TOLD_LOST, false);
    else if (!t->stale && ev->ready)
        send(t, out, TX_SENT);
    else
        read(t, ev, out, TX_READING);
}

/* ---- what is answered to a set ---- */

static void keep_error(struct transaction *t, const struct transaction_event *ev)
{
    t->error = ev->error;
    t->failed = ev->failed;
}

static void on_applied(struct transaction *t, struct transaction_actions *out)
{
    if (t->asked < INT32_MAX)
        t->version = t->asked + 1;
    if (t->state == TX_SEALING)
        end(t, out, TX_TOLD_REFUSED, false);
    else
        end(t, out, TX_TOLD_APPLIED, t->release);
}

static void on_refused(struct transaction *t, const struct transaction_event *ev,
                       struct transaction_actions *out)
{
    t->stale = t->stale || ev->failed == 0;
    if (t->state == TX_SENT) {
        keep_error(t, ev);
        end(t, out, TX_TOLD_REFUSED, false);
    } else if (t->state == TX_RESENT && ev->failed != 0 && !t->told) {
        keep_error(t, ev);
        send(t, out, TX_SEALING);
    } else {
        end(t, out, TX_TOLD_UNKNOWN, false);
    }
}

/* The version asked for was there once: so it is used up. */
static void on_outdated(struct transaction *t, const struct transaction_event *ev,
                        struct transaction_actions *out)
{
    t->stale = true;
    t->failures++;
    if (t->version == t->asked && t->version < INT32_MAX)
        t->version++;
    if (t->state != TX_SEALING)
        keep_error(t, ev);
    if (t->state != TX_SENT)
        read(t, ev, out, t->state == TX_SEALING ? TX_CHECKING : TX_DOUBTING);
    else if (t->failures < TRANSACTION_FAILURES)
        read(t, ev, out, TX_READING);
    else
        end(t, out, TX_TOLD_REFUSED, false);
}

static void on_lost(struct transaction *t, const struct transaction_event *ev,
                    struct transaction_actions *out)
{
    t->stale = true;
    t->failures++;
    if (t->told || t->failures == TRANSACTION_FAILURES)
        end(t, out, TX_TOLD_UNKNOWN, false);
    else
        read(t, ev, out, t->state == TX_SEALING ? TX_CHECKING : TX_DOUBTING);
}

static void on_unsent(struct transaction *t, const struct transaction_event *ev,
                      struct transaction_actions *out)
{
    static const enum transaction_state back[TX_COUNT] = {
        [TX_SENT] = TX_READING,
        [TX_RESENT] = TX_DOUBTING,
        [TX_SEALING] = TX_CHECKING,
    };

    read(t, ev, out, back[t->state]);
}

/* ---- what a read shows ---- */

enum user { NOBODY, OWN, OTHER, FOREIGN };

/* Who used up the version asked for. OTHER: one of our sets that is not this transaction. */
static enum user find_user(const struct transaction *t, const struct transaction_event *ev)
{
    if (ev->version <= t->asked)
        return NOBODY;
    if (t->asked == INT32_MAX || ev->version > t->asked + 1)
        return FOREIGN;
    if (ev->number == 0 || ev->number > t->numbers)
        return FOREIGN;
    return ev->number == t->number ? OWN : OTHER;
}

/* Not used up, as far as the read shows; but an answer may have said more. */
static void try_again(struct transaction *t, const struct transaction_event *ev,
                      struct transaction_actions *out)
{
    if (t->told || t->version > t->asked || t->failures == TRANSACTION_FAILURES)
        end(t, out, TX_TOLD_UNKNOWN, false);
    else if (t->state == TX_CHECKING)
        send(t, out, TX_SEALING);
    else if (ev->lost)
        end(t, out, TX_TOLD_UNKNOWN, false);
    else
        send(t, out, TX_RESENT);
}

/* It was never applied, and now cannot be. What came in its place was another set of ours, of which
 * there are only so many: so the count of failures begins anew. */
static void on_void(struct transaction *t, const struct transaction_event *ev,
                    struct transaction_actions *out)
{
    if (t->state == TX_CHECKING) {
        end(t, out, TX_TOLD_REFUSED, false);
    } else {
        t->failures = 0;
        send_afresh(t, ev, out);
    }
}

static void settle(struct transaction *t, const struct transaction_event *ev, enum user user,
                   struct transaction_actions *out)
{
    if (user == NOBODY)
        try_again(t, ev, out);
    else if (user == OTHER)
        on_void(t, ev, out);
    else if (user == OWN && !t->release) /* which would have left no node */
        end(t, out, TX_TOLD_APPLIED, false);
    else
        end(t, out, TX_TOLD_UNKNOWN, false);
}

static void on_read(struct transaction *t, const struct transaction_event *ev,
                    struct transaction_actions *out)
{
    const enum user user = find_user(t, ev);

    if (ev->version > t->version)
        t->version = ev->version;
    t->stale = false;
    if (ev->over)
        lose(t, out);
    else if (t->state == TX_READING)
        send_afresh(t, ev, out);
    else
        settle(t, ev, user, out);
}

/* The version may be known all the same. */
static void on_unread(struct transaction *t, const struct transaction_event *ev,
                      struct transaction_actions *out)
{
    if (ev->over) {
        lose(t, out);
    } else if (is_doubtful(t)) {
        end(t, out, TX_TOLD_UNKNOWN, false);
    } else if (!t->stale) {
        send_afresh(t, ev, out);
    } else {
        keep_error(t, ev);
        end(t, out, TX_TOLD_REFUSED, false);
    }
}

/* ---- all of it ---- */

static void on_gone(struct transaction *t, struct transaction_actions *out)
{
    if (is_in(t, BIT(TX_SENT) | BIT(TX_RESENT) | BIT(TX_SEALING)))
        end(t, out, TX_TOLD_UNKNOWN, false);
    else
        lose(t, out);
}

static void on_timeout(struct transaction *t, struct transaction_actions *out)
{
    tell(t, out, t->state == TX_READING ? TX_TOLD_LATE : TX_TOLD_UNKNOWN);
}

void transaction_step(struct transaction *t, const struct transaction_event *ev,
                      struct transaction_actions *out)
{
    static void (*const informed[])(struct transaction * t, const struct transaction_event *ev,
                                    struct transaction_actions *out) = {
        [TX_EV_BEGIN] = begin,      [TX_EV_OUTDATED] = on_outdated, [TX_EV_REFUSED] = on_refused,
        [TX_EV_LOST] = on_lost,     [TX_EV_UNSENT] = on_unsent,     [TX_EV_READ] = on_read,
        [TX_EV_UNREAD] = on_unread,
    };
    static void (*const plain[])(struct transaction * t, struct transaction_actions * out) = {
        [TX_EV_APPLIED] = on_applied,
        [TX_EV_NO_NODE] = lose,
        [TX_EV_GONE] = on_gone,
        [TX_EV_TIMEOUT] = on_timeout,
    };

    out->count = 0;
    if (plain[ev->kind])
        plain[ev->kind](t, out);
    else
        informed[ev->kind](t, ev, out);
    assert(transaction_invariant(t));
}
