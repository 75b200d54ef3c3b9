#include "proofs_oracle.h"

#include "runner.h"

static bool is_beyond(struct instant a, struct instant b)
{
    return a.boot > b.boot || a.raw > b.raw;
}

static bool is_same(struct instant a, struct instant b)
{
    return a.boot == b.boot && a.raw == b.raw;
}

static struct instant reach(const struct oracle *o, struct instant base)
{
    return instant_add(base, o->proofs.timeout - o->proofs.margin);
}

/* The sync that shows the leader had heard of the anchor, followed by the write at hand. */
static bool is_anchored(const struct oracle *o, const struct exchange *anchor,
                        const struct exchange *write)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct exchange *sync = &o->history[i];
        if (sync->kind == PROOF_SYNC && sync->over && !is_beyond(sync->answered, write->sent) &&
            instant_passed(sync->sent, anchor->answered, o->proofs.relay))
            return true;
    }
    return false;
}

/* Up to where the write, just answered, allows a deadline; false if it proves nothing. */
static bool allowed(const struct oracle *o, const struct exchange *write, struct instant *ret)
{
    bool any = o->alone && (write->kind == PROOF_RENEWAL || write->kind == PROOF_WRITE);

    *ret = write->sent;
    if (any || write->kind != PROOF_RENEWAL)
        return any;
    if (o->resumed && o->ahead) {
        *ret = o->before;
        any = true;
    }
    for (size_t i = 0; i < o->count; i++) {
        const struct exchange *anchor = &o->history[i];
        if (anchor->over && is_anchored(o, anchor, write) &&
            (!any || is_beyond(anchor->sent, *ret))) {
            *ret = anchor->sent;
            any = true;
        }
    }
    return any;
}

void oracle_check(const struct oracle *o)
{
    const struct proofs *p = &o->proofs;

    CHECK_INT(p->connected, o->connected);
    if (!CHECK_INT(p->has_deadline, o->created) || !o->created)
        return;
    CHECK(!is_beyond(p->deadline, reach(o, o->newest)));
    CHECK_INT(proofs_deadline(p, o->now) != DEADLINE_NONE,
              o->now.boot < p->deadline.boot && o->now.raw < p->deadline.raw);
    CHECK(proofs_wait(p, o->now) >= 0 && proofs_wait(p, o->now) <= p->timeout);
    if (!o->connected)
        CHECK_INT(proofs_want(p, o->now), PROOF_NOTHING);
}

void oracle_init(struct oracle *o, int64_t tick_ns, int32_t drift_permille)
{
    o->count = 0;
    o->connected = o->alone = o->created = false;
    o->now = (struct instant){INT64_C(1) << 50, INT64_C(1) << 48};
    proofs_init(&o->proofs, tick_ns, drift_permille);
}

static void connected(struct oracle *o)
{
    o->connected = true;
    o->alone = false;
    o->count = 0;
}

void oracle_created(struct oracle *o, struct instant begun, int64_t timeout_ns)
{
    connected(o);
    o->resumed = false;
    o->created = true;
    o->newest = begun;
    proofs_created(&o->proofs, begun, timeout_ns);
    CHECK_INT(o->proofs.timeout, timeout_ns);
    CHECK(is_same(o->proofs.deadline, reach(o, begun)));
}

void oracle_reconnected(struct oracle *o, int64_t timeout_ns)
{
    struct instant before = o->proofs.deadline;
    int64_t timeout = o->proofs.timeout;

    connected(o);
    o->resumed = true;
    o->before = o->newest;
    proofs_reconnected(&o->proofs, timeout_ns);
    CHECK_INT(o->proofs.timeout, timeout_ns < timeout ? timeout_ns : timeout);
    CHECK(!is_beyond(o->proofs.deadline, before));
    if (timeout_ns >= timeout)
        CHECK(is_same(o->proofs.deadline, before));
}

void oracle_disconnected(struct oracle *o)
{
    o->connected = o->alone = false;
    o->count = 0;
    proofs_disconnected(&o->proofs);
}

void oracle_alone(struct oracle *o)
{
    o->alone = true;
    proofs_alone(&o->proofs);
}

void oracle_send_wanted(struct oracle *o)
{
    static const enum proof_kind kinds[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_RENEWAL};
    enum proof_wish wish = proofs_want(&o->proofs, o->now);
    struct instant before = o->proofs.deadline;

    if (wish == PROOF_NOTHING || o->count == ORACLE_HISTORY)
        return;
    enum proof_kind kind = kinds[wish - PROOF_SEND_ANCHOR];
    o->history[o->count++] = (struct exchange){.kind = kind, .sent = o->now, .wanted = true};
    proofs_sent(&o->proofs, kind, o->now);
    CHECK(is_same(o->proofs.deadline, before));
}

void oracle_send_other(struct oracle *o, bool write)
{
    if (o->count < ORACLE_HISTORY)
        o->history[o->count++] =
            (struct exchange){.kind = write ? PROOF_WRITE : PROOF_ANCHOR, .sent = o->now};
}

void oracle_failed(struct oracle *o, size_t i)
{
    struct instant before = o->proofs.deadline;
    struct exchange gone = o->history[i];

    o->history[i] = o->history[--o->count];
    if (gone.wanted)
        proofs_failed(&o->proofs, gone.kind);
    CHECK(is_same(o->proofs.deadline, before));
}

void oracle_answered(struct oracle *o, size_t i)
{
    struct instant before = o->proofs.deadline, most;
    struct exchange *e = &o->history[i];

    e->answered = o->now;
    e->over = true;
    o->ahead = !instant_reached(o->now, before);
    bool moved = proofs_answered(&o->proofs, e->kind, e->sent, o->now);
    if (is_beyond(e->sent, o->newest))
        o->newest = e->sent;
    CHECK_INT(moved, !is_same(o->proofs.deadline, before));
    if (!moved)
        return;
    CHECK(!is_beyond(before, o->proofs.deadline));
    if (CHECK(allowed(o, e, &most)))
        CHECK(!is_beyond(o->proofs.deadline, reach(o, most)));
}
