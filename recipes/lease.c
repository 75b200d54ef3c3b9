#include "lease.h"

#include <string.h>

#define MS INT64_C(1000000)

/* Beyond the drift: room for the reading of clocks and the delivery of a callback. */
#define MARGIN_FIXED (50 * MS)

struct instant instant_add(struct instant t, int64_t ns)
{
    return (struct instant){t.boot + ns, t.raw + ns};
}

bool instant_reached(struct instant now, struct instant deadline)
{
    return now.boot >= deadline.boot || now.raw >= deadline.raw;
}

bool instant_passed(struct instant now, struct instant since, int64_t ns)
{
    return now.boot - since.boot >= ns && now.raw - since.raw >= ns;
}

int64_t instant_left(struct instant now, struct instant deadline)
{
    int64_t boot = deadline.boot - now.boot, raw = deadline.raw - now.raw;
    int64_t left = boot < raw ? boot : raw;
    return left > 0 ? left : 0;
}

int64_t instant_sure(struct instant now, struct instant deadline)
{
    return now.boot + instant_left(now, deadline) / 2;
}

static bool is_later(struct instant a, struct instant b)
{
    return a.boot > b.boot && a.raw > b.raw;
}

int64_t lease_margin(int64_t timeout_ns, int32_t drift_permille)
{
    return timeout_ns / 1000 * drift_permille + MARGIN_FIXED;
}

/* Half a tick and a fifth of it. An unknown tick is at most half the timeout, as long as the
 * servers' minSessionTimeout is at least two ticks. */
int64_t lease_relay(int64_t timeout_ns, int64_t tick_ns)
{
    return tick_ns > 0 ? tick_ns / 10 * 6 : timeout_ns / 10 * 3;
}

int64_t lease_period(const struct lease *l)
{
    return l->timeout / 6;
}

int64_t lease_anchor_period(const struct lease *l)
{
    return l->relay / 2;
}

void lease_init(struct lease *l, int64_t tick_ns, int32_t drift_permille)
{
    *l = (struct lease){.tick = tick_ns, .drift_permille = drift_permille};
}

static void set_timeout(struct lease *l, int64_t timeout_ns)
{
    l->timeout = timeout_ns;
    l->relay = lease_relay(timeout_ns, l->tick);
    l->margin = lease_margin(timeout_ns, l->drift_permille);
}

static bool extend(struct lease *l, struct instant proved, struct instant now)
{
    struct instant deadline = instant_add(proved, l->timeout - l->margin);

    l->extended = now;
    if (l->has_deadline && !is_later(deadline, l->deadline))
        return false;
    l->deadline = deadline;
    l->has_deadline = true;
    return true;
}

static void new_connection(struct lease *l)
{
    l->connected = true;
    l->alone = false;
    l->anchors = 0;
    l->anchor_out = false;
    l->chain = CHAIN_IDLE;
    l->chain_ever = false;
}

void lease_created(struct lease *l, struct instant begun, int64_t timeout_ns)
{
    lease_init(l, l->tick, l->drift_permille);
    set_timeout(l, timeout_ns);
    new_connection(l);
    l->newest = begun;
    extend(l, begun, begun);
}

void lease_reconnected(struct lease *l, int64_t timeout_ns)
{
    if (timeout_ns < l->timeout) {
        set_timeout(l, timeout_ns);
        struct instant most = instant_add(l->newest, l->timeout - l->margin);
        if (l->deadline.boot > most.boot)
            l->deadline.boot = most.boot;
        if (l->deadline.raw > most.raw)
            l->deadline.raw = most.raw;
    }
    new_connection(l);
}

void lease_disconnected(struct lease *l)
{
    l->connected = false;
    l->chain = CHAIN_IDLE;
    l->anchor_out = false;
}

void lease_alone(struct lease *l)
{
    l->alone = true;
}

/* The newest anchor that the leader knows of at a sync sent now. */
static bool find_base(const struct lease *l, struct instant now, struct instant *ret)
{
    uint32_t n = l->anchors < LEASE_ANCHORS ? l->anchors : LEASE_ANCHORS;

    for (uint32_t i = 1; i <= n; i++) {
        uint32_t at = (l->anchors - i) % LEASE_ANCHORS;
        if (instant_passed(now, l->anchor[at].answered, l->relay)) {
            *ret = l->anchor[at].sent;
            return true;
        }
    }
    return false;
}

static bool newest_anchor_older(const struct lease *l, struct instant now, int64_t ns)
{
    if (l->anchors == 0)
        return true;
    return instant_passed(now, l->anchor[(l->anchors - 1) % LEASE_ANCHORS].answered, ns);
}

static void add_anchor(struct lease *l, struct instant sent, struct instant answered)
{
    if (!newest_anchor_older(l, answered, l->relay / 4))
        return;
    l->anchor[l->anchors % LEASE_ANCHORS].sent = sent;
    l->anchor[l->anchors % LEASE_ANCHORS].answered = answered;
    l->anchors++;
}

void lease_sent(struct lease *l, enum lease_kind kind, struct instant now)
{
    switch (kind) {
    case LEASE_ANCHOR:
        l->anchor_out = true;
        break;
    case LEASE_SYNC:
        find_base(l, now, &l->chain_base);
        l->chain_begun = now;
        l->chain_ever = true;
        l->chain = CHAIN_SYNC;
        break;
    case LEASE_RENEWAL:
        if (!l->alone && l->chain != CHAIN_WRITE_DUE)
            break; /* its answer would prove nothing */
        if (l->chain == CHAIN_IDLE)
            l->chain_begun = now;
        l->chain_ever = true;
        l->chain = CHAIN_WRITE;
        break;
    case LEASE_WRITE:
        break;
    }
}

void lease_failed(struct lease *l, enum lease_kind kind)
{
    if (kind == LEASE_ANCHOR)
        l->anchor_out = false;
    else
        l->chain = CHAIN_IDLE;
}

bool lease_answered(struct lease *l, enum lease_kind kind, struct instant sent,
                    struct instant answered)
{
    bool chained = l->chain == CHAIN_WRITE && kind == LEASE_RENEWAL;

    if (!l->connected)
        return false;
    if (is_later(sent, l->newest))
        l->newest = sent;
    add_anchor(l, sent, answered);
    if (kind == LEASE_ANCHOR)
        l->anchor_out = false;
    else if (kind == LEASE_SYNC && l->chain == CHAIN_SYNC)
        l->chain = CHAIN_WRITE_DUE;
    if (chained)
        l->chain = CHAIN_IDLE;
    if (l->alone && (kind == LEASE_RENEWAL || kind == LEASE_WRITE))
        return extend(l, sent, answered);
    return chained && extend(l, l->chain_base, answered);
}

static bool round_due(const struct lease *l, struct instant now)
{
    return !l->chain_ever || instant_reached(now, instant_add(l->chain_begun, lease_period(l)));
}

enum lease_wish lease_want(const struct lease *l, struct instant now)
{
    struct instant base;

    if (!l->connected)
        return LEASE_NOTHING;
    if (l->chain == CHAIN_WRITE_DUE)
        return LEASE_SEND_WRITE;
    if (l->chain == CHAIN_IDLE && round_due(l, now)) {
        if (l->alone)
            return LEASE_SEND_WRITE;
        if (find_base(l, now, &base))
            return LEASE_SEND_SYNC;
    }
    if (!l->alone && !l->anchor_out && newest_anchor_older(l, now, lease_anchor_period(l)))
        return LEASE_SEND_ANCHOR;
    return LEASE_NOTHING;
}

int64_t lease_wait(const struct lease *l, struct instant now)
{
    int64_t wait = lease_anchor_period(l) / 2;

    if (l->chain == CHAIN_IDLE && l->chain_ever) {
        int64_t left = instant_left(now, instant_add(l->chain_begun, lease_period(l)));
        if (l->alone || left > wait)
            return left;
    }
    return wait;
}

bool lease_overdue(const struct lease *l, struct instant now)
{
    return instant_reached(now, instant_add(l->extended, lease_period(l) / 2 * 5));
}

bool lease_valid(const struct lease *l, struct instant now)
{
    return l->has_deadline && !instant_reached(now, l->deadline);
}
