#include "lease_oracle.h"

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
    return instant_add(base, o->lease.timeout - o->lease.margin);
}

/* The sync that shows the leader had heard of the anchor, followed by the write at hand. */
static bool is_anchored(const struct oracle *o, const struct exchange *anchor,
                        const struct exchange *write)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct exchange *sync = &o->history[i];
        if (sync->kind == LEASE_SYNC && sync->over && !is_beyond(sync->answered, write->sent) &&
            instant_passed(sync->sent, anchor->answered, o->lease.relay))
            return true;
    }
    return false;
}

/* Up to where the write, just answered, allows a deadline; false if it proves nothing. */
static bool allowed(const struct oracle *o, const struct exchange *write, struct instant *ret)
{
    bool any = o->alone && (write->kind == LEASE_RENEWAL || write->kind == LEASE_WRITE);

    *ret = write->sent;
    if (any || write->kind != LEASE_RENEWAL)
        return any;
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
    const struct lease *l = &o->lease;

    CHECK_INT(l->connected, o->connected);
    if (!CHECK_INT(l->has_deadline, o->created) || !o->created)
        return;
    CHECK(!is_beyond(l->deadline, reach(o, o->newest)));
    CHECK_INT(lease_valid(l, o->now),
              o->now.boot < l->deadline.boot && o->now.raw < l->deadline.raw);
    CHECK(lease_wait(l, o->now) >= 0 && lease_wait(l, o->now) <= l->timeout);
    if (!o->connected)
        CHECK_INT(lease_want(l, o->now), LEASE_NOTHING);
}

void oracle_init(struct oracle *o, int64_t tick_ns, int32_t drift_permille)
{
    o->count = 0;
    o->connected = o->alone = o->created = false;
    o->now = (struct instant){INT64_C(1) << 50, INT64_C(1) << 48};
    lease_init(&o->lease, tick_ns, drift_permille);
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
    o->created = true;
    o->newest = begun;
    lease_created(&o->lease, begun, timeout_ns);
    CHECK_INT(o->lease.timeout, timeout_ns);
    CHECK(is_same(o->lease.deadline, reach(o, begun)));
}

void oracle_reconnected(struct oracle *o, int64_t timeout_ns)
{
    struct instant before = o->lease.deadline;
    int64_t timeout = o->lease.timeout;

    connected(o);
    lease_reconnected(&o->lease, timeout_ns);
    CHECK_INT(o->lease.timeout, timeout_ns < timeout ? timeout_ns : timeout);
    CHECK(!is_beyond(o->lease.deadline, before));
    if (timeout_ns >= timeout)
        CHECK(is_same(o->lease.deadline, before));
}

void oracle_disconnected(struct oracle *o)
{
    o->connected = o->alone = false;
    o->count = 0;
    lease_disconnected(&o->lease);
}

void oracle_alone(struct oracle *o)
{
    o->alone = true;
    lease_alone(&o->lease);
}

void oracle_send_wanted(struct oracle *o)
{
    static const enum lease_kind kinds[] = {LEASE_ANCHOR, LEASE_SYNC, LEASE_RENEWAL};
    enum lease_wish wish = lease_want(&o->lease, o->now);
    struct instant before = o->lease.deadline;

    if (wish == LEASE_NOTHING || o->count == ORACLE_HISTORY)
        return;
    enum lease_kind kind = kinds[wish - LEASE_SEND_ANCHOR];
    o->history[o->count++] = (struct exchange){.kind = kind, .sent = o->now, .wanted = true};
    lease_sent(&o->lease, kind, o->now);
    CHECK(is_same(o->lease.deadline, before));
}

void oracle_send_other(struct oracle *o, bool write)
{
    if (o->count < ORACLE_HISTORY)
        o->history[o->count++] =
            (struct exchange){.kind = write ? LEASE_WRITE : LEASE_ANCHOR, .sent = o->now};
}

void oracle_failed(struct oracle *o, size_t i)
{
    struct instant before = o->lease.deadline;
    struct exchange gone = o->history[i];

    o->history[i] = o->history[--o->count];
    if (gone.wanted)
        lease_failed(&o->lease, gone.kind);
    CHECK(is_same(o->lease.deadline, before));
}

void oracle_answered(struct oracle *o, size_t i)
{
    struct instant before = o->lease.deadline, most;
    struct exchange *e = &o->history[i];

    e->answered = o->now;
    e->over = true;
    bool moved = lease_answered(&o->lease, e->kind, e->sent, o->now);
    if (is_beyond(e->sent, o->newest))
        o->newest = e->sent;
    CHECK_INT(moved, !is_same(o->lease.deadline, before));
    if (!moved)
        return;
    CHECK(!is_beyond(before, o->lease.deadline));
    if (CHECK(allowed(o, e, &most)))
        CHECK(!is_beyond(o->lease.deadline, reach(o, most)));
}
