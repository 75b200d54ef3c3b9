#include "proofs.h"

#include <string.h>

#define MS INT64_C(1000000)

/* A part of the margin beside the drift: for the reading of clocks and the delivery of a
 * callback. */
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

static const struct instant none;

static bool is_some(struct instant t)
{
    return t.boot != 0;
}

static int64_t longer_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* If the clocks disagree, neither instant is later. */
static bool instant_is_later_by_both(struct instant a, struct instant b)
{
    return a.boot > b.boot && a.raw > b.raw;
}

enum proof_kind proof_by_answer(enum proof_kind kind, enum store_rc rc)
{
    const bool writes = kind == PROOF_RENEWAL || kind == PROOF_WRITE;

    return writes && !machine_is_by_quorum(rc) ? PROOF_ANCHOR : kind;
}

int64_t proofs_margin(int64_t timeout_ns, int32_t drift_permille)
{
    return timeout_ns / 1000 * drift_permille + MARGIN_FIXED;
}

/* Returns half a tick, and a fifth of that half more: 0.6 ticks. An unknown tick counts as half the
 * timeout. No tick is longer, as long as the servers' minSessionTimeout is at least two ticks. */
int64_t proofs_relay(int64_t timeout_ns, int64_t tick_ns)
{
    return tick_ns > 0 ? tick_ns / 10 * 6 : timeout_ns / 10 * 3;
}

/* The period of rounds, if the server reports to the leader itself: a third of what is left of a
 * deadline whose anchor was sent just in time. So two thirds are left when the next proof comes. */
static int64_t direct_period(const struct proofs *p)
{
    const int64_t third = (p->timeout - p->margin - p->relay) / 3;

    return longer_of(p->timeout / 6, third < p->timeout / 40 * 9 ? third : p->timeout / 40 * 9);
}

/* The period of rounds, if another server is between ours and the leader. The second round of a
 * pair comes a relay after the first. If the relay is longer than the usual period, a period of a
 * quarter of the relay leaves more of each deadline. Then four pairs are under way at a time. */
static int64_t relayed_period(int64_t timeout_ns, int64_t relay_ns)
{
    const int64_t period = timeout_ns / 6;

    return relay_ns > period ? relay_ns / 4 : period;
}

int64_t proofs_period(const struct proofs *p)
{
    if (p->alone)
        return p->timeout / 6;
    return p->relayed ? relayed_period(p->timeout, p->relay) : direct_period(p);
}

/* How long a round waits for the anchor on which it was to rest. Its spare anchor is older by as
 * much. */
static int64_t direct_slip(const struct proofs *p)
{
    return proofs_period(p) / 8;
}

/* The time for the round trips of a round, and for timers that are late. */
static int64_t round_slack(int64_t timeout_ns)
{
    return timeout_ns / 12;
}

/* At worst, the second round of a connection rests on an anchor that is one relay and one period of
 * anchors old, and as much older as the timer was late that looks for the next anchor. Later ones
 * need less: a relay, a period and a quarter, if one that rests on its spare is before one that
 * waits. If relayed, a round rests on the sync of the round before the first of its pair, or on an
 * anchor right before that sync. The next round begins a period later, a sixth of the timeout where
 * so little is left, and takes its slack, a twelfth. */
bool proofs_can_last(int64_t timeout_ns, int64_t tick_ns, int32_t drift_permille, bool relayed)
{
    const int64_t relay = proofs_relay(timeout_ns, tick_ns),
                  period = relayed_period(timeout_ns, relay);
    int64_t needed = relay + relay / 2 + relay / 4 + timeout_ns / 4;

    if (relayed)
        needed = 2 * longer_of(relay, period) + relay / 8 + period + round_slack(timeout_ns);
    return timeout_ns - proofs_margin(timeout_ns, drift_permille) > needed;
}

/* If relayed, anchors are sent more often, so that the first round of a connection can begin
 * sooner. */
int64_t proofs_anchor_period(const struct proofs *p)
{
    return p->relayed ? p->relay / 4 : p->relay / 2;
}

/* Returns the pause between two syncs that replace pings. It is shorter than a third of the
 * timeout, after which libzookeeper pings, and three pauses are shorter than a deadline lasts. */
static int64_t keep_period(const struct proofs *p)
{
    return p->timeout / 7 * 2;
}

/* The leader's tracker takes a session out of its queue, and marks it as closing a moment later.
 * Returns a time, in ns, that is longer than that moment. */
static int64_t settle_time(const struct proofs *p)
{
    return p->timeout / 12;
}

enum proof_need proofs_need(bool needs_deadline, bool in_use, bool lately, bool entered)
{
    if (needs_deadline || (lately && entered))
        return PROOF_HOT;
    return in_use || lately ? PROOF_COOL : PROOF_COLD;
}

void proofs_init(struct proofs *p, int64_t tick_ns, int32_t drift_permille)
{
    *p = (struct proofs){.tick = tick_ns, .drift_permille = drift_permille};
}

static void set_timeout(struct proofs *p, int64_t timeout_ns)
{
    p->timeout = timeout_ns;
    p->relay = proofs_relay(timeout_ns, p->tick);
    p->margin = proofs_margin(timeout_ns, p->drift_permille);
}

/* Returns until when no server ends a session that was touched at touched. */
static struct instant kept_by(const struct proofs *p, struct instant touched)
{
    return instant_add(touched, p->timeout - p->margin);
}

/* Moves the deadline on by a proof. Returns whether it has moved. A proof that rests on an anchor
 * which is too old moves nothing, but its round counts for .last_round. */
static bool extend_deadline(struct proofs *p, struct instant proved, struct instant now)
{
    struct instant deadline = kept_by(p, proved);

    p->last_round = now;
    if (p->has_deadline && !instant_is_later_by_both(deadline, p->deadline))
        return false;
    p->deadline = deadline;
    p->has_deadline = true;
    return true;
}

static void drop_reports(struct proofs *p)
{
    p->keep_base = p->keep_reports = p->keep_passes = none;
}

static void new_connection(struct proofs *p)
{
    p->connected = true;
    p->alone = false;
    p->relayed = true;
    p->heard.count = p->passed.count = 0;
    p->anchor_sent = none;
    p->chain = CHAIN_IDLE;
    p->chain_ever = false;
    p->kept = p->settled = none;
    p->keep_under_way = p->keep_second = false;
    p->keep_sent = none;
    drop_reports(p);
}

void proofs_created(struct proofs *p, struct instant begun, int64_t timeout_ns)
{
    proofs_init(p, p->tick, p->drift_permille);
    set_timeout(p, timeout_ns);
    new_connection(p);
    p->newest = begun;
    extend_deadline(p, begun, begun);
}

void proofs_reconnected(struct proofs *p, int64_t timeout_ns)
{
    if (timeout_ns < p->timeout) {
        set_timeout(p, timeout_ns);
        struct instant most = instant_add(p->newest, p->timeout - p->margin);
        if (p->deadline.boot > most.boot)
            p->deadline.boot = most.boot;
        if (p->deadline.raw > most.raw)
            p->deadline.raw = most.raw;
    }
    new_connection(p);
    /* The newest answer counts, not this instant: an older handshake's late answer may have
     * completed this handshake. */
    p->on_handshake = p->rests = true;
    p->passes = false;
    p->chain_base = p->newest;
    p->chain = CHAIN_WRITE_DUE;
}

void proofs_disconnected(struct proofs *p)
{
    p->connected = false;
    p->chain = CHAIN_IDLE;
    p->anchor_sent = none;
    p->keep_under_way = false;
}

void proofs_alone(struct proofs *p)
{
    p->alone = true;
    p->relayed = false;
    p->chain_ever |= p->chain == CHAIN_WRITE; /* a write under way is a round by itself */
}

void proofs_direct(struct proofs *p)
{
    p->relayed = false;
}

/* Finds the newest anchor that is reported before a sync that is sent now is answered. Returns
 * false if there is none. */
static bool find_base(const struct anchors *ring, struct instant now, int64_t relay_ns,
                      struct instant *ret)
{
    uint32_t n = ring->count < PROOF_ANCHORS ? ring->count : PROOF_ANCHORS;

    for (uint32_t i = 1; i <= n; i++) {
        uint32_t at = (ring->count - i) % PROOF_ANCHORS;
        if (instant_passed(now, ring->at[at].answered, relay_ns)) {
            *ret = ring->at[at].sent;
            return true;
        }
    }
    return false;
}

/* Returns what find_base() finds; none if it finds nothing. */
static struct instant some_base(const struct anchors *ring, struct instant now, int64_t relay_ns)
{
    struct instant ret;

    return find_base(ring, now, relay_ns, &ret) ? ret : none;
}

static struct instant newest_anchor(const struct anchors *ring)
{
    return ring->count > 0 ? ring->at[(ring->count - 1) % PROOF_ANCHORS].answered : none;
}

static bool newest_anchor_older(const struct proofs *p, struct instant now, int64_t ns)
{
    return p->heard.count == 0 || instant_passed(now, newest_anchor(&p->heard), ns);
}

/* Whether the anchors of a round are sent just in time for it. */
static bool is_timed(const struct proofs *p)
{
    return !p->relayed && !p->alone && (p->chain_ever || p->heard.count > 0);
}

/* When the last round counts as begun: the next one is due a period later. If the last one rested
 * on an older anchor than it might, it is due so much sooner. The first one of a connection is due
 * when its first anchor is a relay old. */
static struct instant round_begun(const struct proofs *p)
{
    const struct anchors *ring = &p->heard;
    const uint32_t oldest = ring->count < PROOF_ANCHORS ? 0 : ring->count % PROOF_ANCHORS;

    if (!is_timed(p))
        return p->chain_begun;
    if (!p->chain_ever)
        return instant_add(ring->at[oldest].answered, p->relay - proofs_period(p));
    const int64_t most = proofs_period(p) - p->timeout / 6,
                  boot = p->chain_begun.boot - p->chain_base.boot,
                  raw = p->chain_begun.raw - p->chain_base.raw,
                  older = longer_of(boot, raw) - p->relay;
    return instant_add(p->chain_begun, -(older < most ? longer_of(older, 0) : most));
}

/* Returns the last time, up to now, at which a round wanted an anchor: the one that is a relay old
 * when the round begins, or its spare. *next is the first time after that. */
static struct instant anchor_time(const struct proofs *p, struct instant now, struct instant *next)
{
    const int64_t period = proofs_period(p), spare = direct_slip(p);
    /* early enough to be before all times that count */
    const struct instant first =
        instant_add(round_begun(p), -(p->relay / period + 2) * period - p->relay - spare);
    const int64_t boot = now.boot - first.boot, raw = now.raw - first.raw,
                  passed = boot < raw ? boot : raw, over = passed > 0 ? passed % period : 0;
    const struct instant last = instant_add(first, passed > 0 ? passed - over : 0);

    *next = instant_add(last, over < spare ? spare : period);
    return over < spare ? last : instant_add(last, spare);
}

/* Whether an anchor is due: the newest was answered more than early ns before the time at which a
 * round last wanted one. */
static bool anchor_due(const struct proofs *p, struct instant now, int64_t early)
{
    struct instant next;

    return !instant_passed(newest_anchor(&p->heard), anchor_time(p, now, &next), -early);
}

static void add_anchor(struct anchors *ring, struct instant sent, struct instant answered)
{
    ring->at[ring->count % PROOF_ANCHORS].sent = sent;
    ring->at[ring->count % PROOF_ANCHORS].answered = answered;
    ring->count++;
}

static bool is_ahead(const struct proofs *p, struct instant now)
{
    return p->has_deadline && !instant_reached(now, p->deadline);
}

static bool is_kept(const struct proofs *p, struct instant now)
{
    return is_some(p->kept) && !instant_reached(now, p->kept);
}

/* Whether a second sync is sent as soon as the first one is answered. If relayed, the second one
 * shows the second report of an anchor. So the first one must have shown the first report, and a
 * relay must be short enough that a deadline can rest on that anchor. If not relayed, the second
 * one shows the only report of an anchor. So neither the deadline nor .kept must be ahead, and that
 * anchor must move .kept ahead. */
static bool is_second_due(const struct proofs *p, struct instant now)
{
    if (p->alone || p->keep_second)
        return false;
    if (p->relayed)
        return is_some(p->keep_passes) && p->relay < keep_period(p);
    return !is_ahead(p, now) && !is_kept(p, now) && is_some(p->keep_base) &&
           !instant_reached(now, kept_by(p, p->keep_base));
}

/* Returns the relay that a sync in place of a ping counts on. Three of these syncs must fit into
 * the time for which an anchor counts. They do if the relay is shorter than the pause between two.
 * A longer relay is taken a tenth shorter, so .kept may be wrong. Then a write may be answered in
 * the moment of settle_time(), and prove too much; after that moment the leader refuses writes. */
static int64_t keep_relay(const struct proofs *p)
{
    return p->relay < keep_period(p) ? p->relay : p->relay / 10 * 9;
}

/* Finds out what a round shows whose sync is sent now. Returns false if it shows nothing. */
static bool begin_round(struct proofs *p, struct instant now)
{
    p->rests = find_base(p->relayed ? &p->passed : &p->heard, now, p->relay, &p->chain_base);
    p->passes = find_base(&p->heard, now, p->relay, &p->chain_passed);
    return p->rests || p->passes;
}

void proofs_sent(struct proofs *p, enum proof_kind kind, struct instant now)
{
    switch (kind) {
    case PROOF_ANCHOR:
        p->anchor_sent = now;
        break;
    case PROOF_SYNC:
        if (!begin_round(p, now))
            break; /* a sync whose answer would prove nothing */
        p->on_handshake = false;
        p->chain_begun = now;
        p->chain_ever = true;
        p->chain = CHAIN_SYNC;
        break;
    case PROOF_RENEWAL:
        if (!p->alone && p->chain != CHAIN_WRITE_DUE)
            break; /* likewise, a write */
        if (!p->chain_ever || p->chain == CHAIN_IDLE)
            p->chain_begun = now;
        if (p->chain == CHAIN_IDLE) /* alone: this write counts for itself */
            p->rests = p->passes = false;
        p->chain_ever |= p->chain == CHAIN_IDLE;
        p->chain = CHAIN_WRITE;
        break;
    case PROOF_KEEP:
        /* .keep_base is the anchor of the previous sync, which was sent a relay later and is
         * answered. So the report of that anchor's touch goes ahead of this sync, and has arrived
         * when this sync is answered. */
        p->keep_under_way = true;
        p->keep_second = is_second_due(p, now);
        p->keep_sent = p->anchor_sent = now;
        p->keep_reports = p->keep_base;
        p->keep_base = some_base(p->relayed ? &p->passed : &p->heard, now, keep_relay(p));
        if (!p->keep_second)
            p->keep_passes = p->relayed ? some_base(&p->heard, now, p->relay) : none;
        break;
    case PROOF_WRITE:
        break;
    }
}

void proofs_failed(struct proofs *p, enum proof_kind kind)
{
    if (kind == PROOF_KEEP) {
        p->keep_under_way = false;
        drop_reports(p);
    }
    if (kind == PROOF_ANCHOR || kind == PROOF_KEEP)
        p->anchor_sent = none;
    else
        p->chain = CHAIN_IDLE;
    if (kind == PROOF_SYNC || kind == PROOF_RENEWAL) /* the round has moved nothing */
        p->chain_base = instant_add(p->chain_begun, -p->timeout);
}

/* Ends a round, whose write was answered. */
static void end_round(struct proofs *p, struct instant answered)
{
    p->chain = CHAIN_IDLE;
    if (p->passes) {
        add_anchor(&p->passed, p->chain_passed, answered);
        p->last_round = answered; /* it goes on as it should, though nothing is proved yet */
    }
}

/* Moves .kept on, since the leader knows of a touch at anchor. If neither the deadline nor .kept
 * was ahead, the leader may have taken the session out of its queue before that touch. Then it
 * marks the session as closing before .settled, and refuses writes. So only a write that is sent
 * from .settled on revives the deadline. */
static void extend_kept(struct proofs *p, struct instant anchor, struct instant now)
{
    if (is_ahead(p, now))
        p->settled = now;
    else if (!is_kept(p, now))
        p->settled = instant_add(now, settle_time(p));
    if (!is_kept(p, now) || instant_is_later_by_both(kept_by(p, anchor), p->kept))
        p->kept = kept_by(p, anchor);
}

/* Ends a sync in place of a ping, which was answered. */
static void end_keep(struct proofs *p, struct instant now)
{
    p->keep_under_way = false;
    if (p->keep_second && is_some(p->keep_passes))
        add_anchor(&p->passed, p->keep_passes, now);
    if (is_some(p->keep_reports))
        extend_kept(p, p->keep_reports, now);
}

/* Ends a round that rests on something, whose write was answered. Returns whether the deadline
 * moved on. If the deadline was over, the touch may have come after the leader took the session out
 * of its queue. So the session must be kept, and the write sent from .settled on. */
static bool conclude_round(struct proofs *p, struct instant sent, struct instant now)
{
    const bool settled = is_kept(p, now) && instant_passed(sent, p->settled, 0);

    if (is_ahead(p, now) || (settled && !p->on_handshake))
        return extend_deadline(p, p->chain_base, now);
    if (!p->on_handshake) {
        extend_kept(p, p->chain_base, now);
        p->chain_begun =
            instant_add(p->settled, -proofs_period(p)); /* the next round is due at .settled */
        p->chain_base = p->chain_begun;
    }
    return false;
}

bool proofs_answered(struct proofs *p, enum proof_kind kind, struct instant sent,
                     struct instant answered)
{
    bool chained = p->chain == CHAIN_WRITE && kind == PROOF_RENEWAL;

    if (!p->connected)
        return false;
    if (instant_is_later_by_both(sent, p->newest))
        p->newest = sent;
    /* The ring has few places, and must reach back over a relay. So it takes an anchor only if its
     * newest is old, or if a round wants one. */
    if (newest_anchor_older(p, answered, proofs_anchor_period(p) / 2) ||
        (is_timed(p) && anchor_due(p, answered, 0)))
        add_anchor(&p->heard, sent, answered);
    if (instant_passed(sent, p->anchor_sent, 0)) /* the anchor asked for is answered, too */
        p->anchor_sent = none;
    if (kind == PROOF_SYNC && p->chain == CHAIN_SYNC)
        p->chain = CHAIN_WRITE_DUE;
    if (kind == PROOF_KEEP)
        end_keep(p, answered);
    if (chained)
        end_round(p, answered);
    if (p->alone && (kind == PROOF_RENEWAL || kind == PROOF_WRITE))
        return extend_deadline(p, sent, answered);
    return chained && p->rests && conclude_round(p, sent, answered);
}

/* Returns when the next round of this connection begins. A round waits for the anchor that was sent
 * just in time for it. If relayed, it waits up to half a period until it can be the second round of
 * a pair. If it did not wait, that pair would end a round later. */
static struct instant next_round(const struct proofs *p)
{
    const struct anchors *ring = p->relayed ? &p->passed : &p->heard;
    const struct instant due = instant_add(round_begun(p), proofs_period(p)),
                         last =
                             instant_add(due, p->relayed ? proofs_period(p) / 2 : direct_slip(p));
    struct instant ret = due;

    for (uint32_t i = 1; !p->alone && i <= ring->count && i <= PROOF_ANCHORS; i++) {
        const uint32_t at = (ring->count - i) % PROOF_ANCHORS;
        const struct instant possible = instant_add(ring->at[at].answered, p->relay);
        if (instant_is_later_by_both(possible, due) && !instant_is_later_by_both(possible, last))
            ret = possible;
    }
    return ret;
}

static bool round_due(const struct proofs *p, struct instant now)
{
    return (!p->chain_ever && !is_timed(p)) || instant_reached(now, next_round(p));
}

static int64_t keep_wait(const struct proofs *p, struct instant now)
{
    if (!is_some(p->keep_sent) || is_second_due(p, now))
        return 0;
    return instant_left(now, instant_add(p->keep_sent, keep_period(p)));
}

/* Keeps what is under way. A round that was broken off is begun anew, and so is that of a handshake
 * which would come too late. */
void proofs_use(struct proofs *p, enum proof_need need, struct instant now)
{
    const bool heats = need == PROOF_HOT && p->need != PROOF_HOT;

    p->need = need;
    if (!heats || is_ahead(p, now))
        return;
    p->last_round = now;
    if (p->chain == CHAIN_WRITE_DUE)
        p->chain = CHAIN_IDLE;
}

enum proof_wish proofs_want(const struct proofs *p, struct instant now)
{
    struct instant base;

    if (!p->connected || p->need == PROOF_COLD)
        return PROOF_NOTHING;
    if (p->need == PROOF_COOL)
        return p->keep_under_way || keep_wait(p, now) > 0 ? PROOF_NOTHING : PROOF_SEND_KEEP;
    if (p->chain == CHAIN_WRITE_DUE)
        return PROOF_SEND_WRITE;
    if (p->chain == CHAIN_IDLE && round_due(p, now)) {
        if (p->alone)
            return PROOF_SEND_WRITE;
        if (find_base(&p->heard, now, p->relay, &base))
            return PROOF_SEND_SYNC;
    }
    if (p->alone || is_some(p->anchor_sent))
        return PROOF_NOTHING;
    /* A timed anchor that was answered a little too early serves its round, and is not replaced. */
    const bool due = is_timed(p) ? anchor_due(p, now, direct_slip(p) / 4)
                                 : newest_anchor_older(p, now, proofs_anchor_period(p));
    return due ? PROOF_SEND_ANCHOR : PROOF_NOTHING;
}

int64_t proofs_wait(const struct proofs *p, struct instant now)
{
    int64_t wait = proofs_anchor_period(p) / 2;
    struct instant next;

    if (p->need != PROOF_HOT)
        return p->keep_under_way || !p->connected ? keep_period(p) : keep_wait(p, now);
    if (p->chain == CHAIN_IDLE && (p->chain_ever || is_timed(p))) {
        const int64_t left = instant_left(now, next_round(p));
        if (p->alone || left > 0)
            wait = left;
    }
    if (is_timed(p)) {
        anchor_time(p, now, &next);
        const int64_t left = instant_left(now, next);
        if (left > 0 && left < wait)
            wait = left;
    }
    return wait;
}

bool proofs_overdue(const struct proofs *p, struct instant now)
{
    const struct instant last = p->need == PROOF_HOT ? p->last_round : p->newest;

    return instant_reached(now, instant_add(last, p->timeout / 6 / 2 * 5));
}

int64_t proofs_left(const struct proofs *p, struct instant now)
{
    const int64_t left = p->has_deadline ? instant_left(now, p->deadline) : 0;

    return p->need != PROOF_COOL || !p->has_deadline
               ? left
               : longer_of(left, instant_left(now, kept_by(p, p->newest)));
}

/* Whether a proof moves the deadline on in time. It plays the coming rounds as they would be on a
 * network that stays as it is, until one rests on an anchor that is sent now, if none is newer.
 * After that proofs_can_last() holds. Earlier rounds may rest on anchors so old that they move
 * nothing. */
static bool can_renew(const struct proofs *p, struct instant now)
{
    const int64_t poll = proofs_anchor_period(p) / 2, slack = round_slack(p->timeout);
    const int64_t due = p->chain_ever ? instant_left(now, next_round(p)) : poll;
    int64_t left = instant_left(now, p->deadline), at = due;
    bool runs = p->chain != CHAIN_IDLE;
    bool shakes = runs && p->on_handshake; /* this round sets no time for the next one */

    if (runs && due == 0 && p->chain != CHAIN_WRITE_DUE) /* the server is silent */
        return false;
    if (runs)
        at = 0;
    if (p->alone) /* each round counts for itself */
        return left >= at + slack;
    struct proofs q = *p;
    while (left >= at + slack) {
        const struct instant then = instant_add(now, at);
        const bool fresh = at >= p->relay + (q.chain_ever ? 0 : poll);
        if (fresh && !p->relayed)
            return true;
        const bool shows = runs || begin_round(&q, then) || fresh;
        if (q.rests && !instant_is_later_by_both(now, q.chain_base))
            return true;
        if (q.passes || fresh)
            add_anchor(&q.passed, fresh ? now : q.chain_passed, then);
        q.chain_ever |= shows && !shakes;
        if (q.rests)
            left =
                longer_of(left, instant_left(now, instant_add(q.chain_base, q.timeout - q.margin)));
        if (at >= due)
            q.chain_begun = then;
        at = q.chain_ever ? instant_left(now, next_round(&q)) : at + poll;
        runs = shakes = false;
    }
    return false;
}

enum deadline proofs_deadline(const struct proofs *p, struct instant now)
{
    if (!is_ahead(p, now))
        return DEADLINE_NONE;
    return p->connected && can_renew(p, now) ? DEADLINE_LASTING : DEADLINE_AHEAD;
}

enum proof_kind proof_by_gain(const struct proofs *p, enum proof_kind kind, struct instant sent,
                              struct instant now)
{
    const bool moves = kind == PROOF_WRITE && p->alone;

    if (!moves ||
        instant_is_later_by_both(kept_by(p, sent), instant_add(p->deadline, p->timeout / 64)) ||
        proofs_overdue(p, now) || proofs_deadline(p, now) != DEADLINE_LASTING)
        return kind;
    return PROOF_ANCHOR;
}
