/* Exchanges of one session in any order, with clocks that rise apart. The input: the session's
 * numbers, then steps: a byte that says what, and what it needs. Requests are answered only on the
 * connection they were sent on, once; everything else is up to the input. */
#include "targets.h"

#include "input.h"
#include "recipes/proofs.h"
#include "runner.h"

/* ---- the oracle ---- */

/* Rules A and C, that of two reports and that of a handshake, said once more, over the whole
 * history of a session and without any state of the chain: how far may a deadline reach at most?
 * Also the calls to recipes/proofs.h that make the history. */
enum { ORACLE_HISTORY = 256 };

struct asked {
    enum proof_kind kind;
    struct instant sent, answered;
    bool wanted; /* by the chain; else it is the user's */
    bool direct; /* when it was sent, its server was known to report to the leader itself */
    bool over;
};

struct oracle {
    struct proofs proofs;
    struct instant now;
    struct asked history[ORACLE_HISTORY]; /* of this connection */
    size_t count;
    struct instant newest; /* send time of the newest answered request of the session */
    struct instant before; /* the same, when this connection was made */
    bool resumed;          /* it was not made with the session */
    bool ahead;            /* the deadline, when the answer at hand came */
    bool connected, alone, direct, created;
};

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

/* The sync that shows a report of the anchor, followed by the write. */
static bool is_anchored(const struct oracle *o, const struct asked *anchor,
                        const struct asked *write, bool direct)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct asked *sync = &o->history[i];
        if (sync->kind == PROOF_SYNC && sync->over && sync->direct == direct &&
            !is_beyond(sync->answered, write->sent) &&
            instant_passed(sync->sent, anchor->answered, o->proofs.relay))
            return true;
    }
    return false;
}

/* The newest anchor whose report that write shows; false: there is none. */
static bool newest_reported(const struct oracle *o, const struct asked *write, bool direct,
                            struct instant *ret)
{
    bool any = false;

    for (size_t i = 0; i < o->count; i++) {
        const struct asked *anchor = &o->history[i];
        if (anchor->over && (!any || is_beyond(anchor->sent, *ret)) &&
            is_anchored(o, anchor, write, direct)) {
            *ret = anchor->sent;
            any = true;
        }
    }
    return any;
}

/* Up to where the write, just answered, allows a deadline; false if it proves nothing. */
static bool allowed(const struct oracle *o, const struct asked *write, struct instant *ret)
{
    bool any = o->alone && (write->kind == PROOF_RENEWAL || write->kind == PROOF_WRITE);

    *ret = write->sent;
    if (any || write->kind != PROOF_RENEWAL)
        return any;
    if (o->resumed && o->ahead) {
        *ret = o->before;
        any = true;
    }
    struct instant base;
    if (newest_reported(o, write, true, &base) && (!any || is_beyond(base, *ret))) {
        *ret = base;
        any = true;
    }
    for (size_t i = 0; i < o->count; i++) {
        const struct asked *first = &o->history[i];
        if (first->kind == PROOF_RENEWAL && first->over && is_anchored(o, first, write, false) &&
            newest_reported(o, first, false, &base) && (!any || is_beyond(base, *ret))) {
            *ret = base;
            any = true;
        }
    }
    return any;
}

static void oracle_check(const struct oracle *o)
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

static void oracle_init(struct oracle *o, int64_t tick_ns, int32_t drift_permille)
{
    o->count = 0;
    o->connected = o->alone = o->direct = o->created = false;
    o->now = (struct instant){INT64_C(1) << 50, INT64_C(1) << 48};
    proofs_init(&o->proofs, tick_ns, drift_permille);
}

static void connected(struct oracle *o)
{
    o->connected = true;
    o->alone = o->direct = false;
    o->count = 0;
}

static void oracle_created(struct oracle *o, struct instant begun, int64_t timeout_ns)
{
    connected(o);
    o->resumed = false;
    o->created = true;
    o->newest = begun;
    proofs_created(&o->proofs, begun, timeout_ns);
    CHECK_INT(o->proofs.timeout, timeout_ns);
    CHECK(is_same(o->proofs.deadline, reach(o, begun)));
}

static void oracle_reconnected(struct oracle *o, int64_t timeout_ns)
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

static void oracle_disconnected(struct oracle *o)
{
    o->connected = o->alone = false;
    o->count = 0;
    proofs_disconnected(&o->proofs);
}

static void oracle_alone(struct oracle *o)
{
    o->alone = true;
    proofs_alone(&o->proofs);
}

static void oracle_direct(struct oracle *o)
{
    o->direct = true;
    proofs_direct(&o->proofs);
}

static void oracle_send_wanted(struct oracle *o)
{
    static const enum proof_kind kinds[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_RENEWAL};
    enum proof_wish wish = proofs_want(&o->proofs, o->now);
    struct instant before = o->proofs.deadline;

    if (wish == PROOF_NOTHING || o->count == ORACLE_HISTORY)
        return;
    enum proof_kind kind = kinds[wish - PROOF_SEND_ANCHOR];
    o->history[o->count++] =
        (struct asked){.kind = kind, .sent = o->now, .wanted = true, .direct = o->direct};
    proofs_sent(&o->proofs, kind, o->now);
    CHECK(is_same(o->proofs.deadline, before));
}

static void oracle_send_other(struct oracle *o, bool write)
{
    if (o->count < ORACLE_HISTORY)
        o->history[o->count++] =
            (struct asked){.kind = write ? PROOF_WRITE : PROOF_ANCHOR, .sent = o->now};
}

static void oracle_failed(struct oracle *o, size_t i)
{
    struct instant before = o->proofs.deadline;
    struct asked gone = o->history[i];

    o->history[i] = o->history[--o->count];
    if (gone.wanted)
        proofs_failed(&o->proofs, gone.kind);
    CHECK(is_same(o->proofs.deadline, before));
}

static void oracle_answered(struct oracle *o, size_t i)
{
    struct instant before = o->proofs.deadline, most;
    struct asked *e = &o->history[i];

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

/* ---- exchanges ---- */

#define MS INT64_C(1000000)

enum { ROUNDS_MAX = 400 };

static struct oracle o;

/* Nanoseconds, from none to a minute; the second clock a little off. */
static void pass(struct input *in)
{
    int64_t ns = (int64_t)input_number(in, 2) * MS;
    int64_t apart = (int8_t)input_byte(in) * (ns / 1000);

    o.now.boot += ns;
    o.now.raw += ns + apart;
}

/* At least two ticks, as servers have it. */
static int64_t take_timeout(struct input *in)
{
    int64_t ns = (200 + (int64_t)input_number(in, 2) % 40000) * MS;

    return MAX(ns, 2 * o.proofs.tick);
}

static size_t open_exchange(struct input *in)
{
    size_t at = input_byte(in);

    for (size_t i = 0; i < o.count; i++)
        if (!o.history[(at + i) % o.count].over)
            return (at + i) % o.count;
    return SIZE_MAX;
}

static void step(struct input *in)
{
    unsigned what = input_byte(in) % 10;
    size_t i = what == 2 || what == 3 ? open_exchange(in) : SIZE_MAX;

    if (what == 0)
        oracle_send_wanted(&o);
    else if (what == 1 && o.connected)
        oracle_send_other(&o, input_byte(in) & 1);
    else if (what == 2 && i != SIZE_MAX)
        oracle_answered(&o, i);
    else if (what == 3 && i != SIZE_MAX)
        oracle_failed(&o, i);
    else if (what == 4)
        oracle_disconnected(&o);
    else if (what == 5)
        oracle_reconnected(&o, take_timeout(in));
    else if (what == 6 && o.connected)
        oracle_alone(&o);
    else if (what == 8 && o.connected)
        oracle_direct(&o);
    else if (what == 7)
        oracle_created(&o, o.now, take_timeout(in));
    else
        pass(in);
    oracle_check(&o);
}

static void tick(int64_t ns)
{
    o.now.boot += ns;
    o.now.raw += ns;
}

/* From everywhere, a standing connection on which what is wanted is sent and answered proves the
 * session again, if a deadline can last there; even the one that there is, once what is under way
 * has come to nothing. */
static void recover(void)
{
    for (size_t i = o.count; i-- > 0;)
        if (!o.history[i].over)
            oracle_failed(&o, i);
    if (!o.connected || o.count > ORACLE_HISTORY / 2)
        oracle_reconnected(&o, o.proofs.timeout);
    if (!o.alone && !proofs_can_last(o.proofs.timeout, o.proofs.tick, o.proofs.drift_permille,
                                     o.proofs.relayed))
        return;
    struct instant before = o.proofs.deadline;
    tick(o.proofs.timeout);
    for (int i = 0; i < ROUNDS_MAX && o.proofs.deadline.boot == before.boot; i++) {
        size_t sent = o.count;
        oracle_send_wanted(&o);
        tick(MS);
        if (o.count > sent)
            oracle_answered(&o, sent);
        else
            tick(proofs_wait(&o.proofs, o.now));
        if (o.count == ORACLE_HISTORY)
            break;
    }
    CHECK(o.proofs.deadline.boot > before.boot && o.proofs.deadline.raw > before.raw);
}

void fuzz_proofs(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    int64_t tick_ns = input_byte(&in) % 20 * 250 * MS; /* 0: unknown */

    oracle_init(&o, tick_ns, (int32_t)(input_number(&in, 2) % 501));
    oracle_created(&o, o.now, take_timeout(&in));
    oracle_check(&o);
    while (in.size > 0)
        step(&in);
    recover();
}
