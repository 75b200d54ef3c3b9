#include "once.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

/* ---- the record ---- */

/* The limit of instants. The sum of a few of them does not overflow. */
#define ONCE_INSTANT_MAX (UINT64_MAX / 8)

/* Reads a space at *at and the number after it, and moves *at past both. */
static bool once_read_number(const char *data, size_t length, size_t *at, uint64_t *ret)
{
    size_t i = *at;

    if (i == length || data[i++] != ' ')
        return false;
    const size_t first = i;
    for (*ret = 0; i < length && data[i] >= '0' && data[i] <= '9'; i++) {
        const uint64_t digit = (uint64_t)(data[i] - '0');
        if (*ret > (UINT64_MAX - digit) / 10)
            return false;
        *ret = *ret * 10 + digit;
    }
    *at = i;
    return i > first;
}

static bool once_read_calendar(const char *data, size_t length, size_t *at, struct once_record *ret)
{
    uint64_t series_length;

    if (!once_read_number(data, length, at, &ret->instant) ||
        !once_read_number(data, length, at, &ret->local) ||
        !once_read_number(data, length, at, &series_length))
        return false;
    ret->series_length = (size_t)series_length;
    return series_length > 0 && series_length <= length && ret->instant <= ONCE_INSTANT_MAX &&
           ret->local <= ONCE_INSTANT_MAX;
}

bool once_record_read(const char *data, size_t length, struct once_record *ret)
{
    size_t at = sizeof ONCE_WORDS - 1;
    uint64_t name_length;
    struct once_record r = {.instant = 0};

    *ret = r;
    if (length < at)
        return false;
    const bool of_calendar = memcmp(data, ONCE_CALENDAR_WORDS, at) == 0;
    if (!of_calendar && memcmp(data, ONCE_WORDS, at) != 0)
        return false;
    if (!once_read_number(data, length, &at, &r.begun) ||
        !once_read_number(data, length, &at, &r.due) ||
        !once_read_number(data, length, &at, &r.token) ||
        !once_read_number(data, length, &at, &name_length))
        return false;
    if (of_calendar && !once_read_calendar(data, length, &at, &r))
        return false;
    if (at == length || data[at++] != '\n' || name_length > length - at ||
        r.series_length > length - at - name_length || r.begun > ONCE_INSTANT_MAX ||
        r.due > ONCE_INSTANT_MAX)
        return false;
    r.name = data + at;
    r.name_length = (size_t)name_length;
    r.series = r.name + name_length;
    r.result = r.series + r.series_length;
    r.length = length - at - (size_t)name_length - r.series_length;
    *ret = r;
    return true;
}

bool once_is_foreign(const struct once_record *r, const char *series, int32_t offset)
{
    if (!series)
        return r->series_length > 0;
    return r->series_length != strlen(series) || memcmp(r->series, series, r->series_length) != 0 ||
           (int64_t)r->local - (int64_t)r->instant != offset * INT64_C(60000);
}

/* ---- when it is due ---- */

/* Returns when the next run is due. A record that was made without a period counts as the first
 * run. */
static uint64_t once_due(const struct once_plan *p, const struct once_record *r)
{
    return r->due != 0 ? r->due : r->begun + p->period_ms;
}

bool once_is_due(const struct once_plan *p, const struct once_record *r, uint64_t now)
{
    if (!r)
        return true;
    return p->period_ms != 0 && now + p->slack_ms >= once_due(p, r);
}

enum once_jump once_jumped(const struct once_plan *p, const struct once_record *r, uint64_t now)
{
    if (!r || p->period_ms == 0)
        return ONCE_STEADY;
    if (now + p->period_ms <= r->begun)
        return ONCE_BACK;
    return now >= once_due(p, r) + p->period_ms ? ONCE_AHEAD : ONCE_STEADY;
}

uint64_t once_next_due(const struct once_plan *p, const struct once_record *r, uint64_t now)
{
    if (p->period_ms == 0)
        return 0;
    const uint64_t due = r ? once_due(p, r) : now;
    const uint64_t late = now + p->slack_ms - due; /* it is due: not below 0 */

    return due + (late / p->period_ms + 1) * p->period_ms;
}

/* Compares the instant of the last run with the one that the caller is here for. */
static enum once_jump once_jumped_by_calendar(const struct once_moment *m)
{
    if (!m->record || m->foreign || m->record->instant == m->aim->instant)
        return ONCE_STEADY;
    if (m->record->instant > m->aim->instant)
        return ONCE_BACK;
    return m->record->due < m->aim->instant ? ONCE_AHEAD : ONCE_STEADY;
}

enum once_verdict once_judged(const struct once_plan *p, const struct once_moment *m, uint64_t now)
{
    if (m->odd)
        return ONCE_ODD;
    if (m->record && m->foreign)
        return ONCE_FOREIGN;
    if (!m->aim)
        return once_is_due(p, m->record, now) ? ONCE_RUN : ONCE_DONE;
    if (m->record && m->record->instant >= m->aim->instant)
        return ONCE_DONE;
    if (now < m->aim->instant)
        return ONCE_ENTER;
    return now - m->aim->instant <= p->late_ms ? ONCE_RUN : ONCE_OVERDUE;
}

/* ---- states ---- */

static const struct {
    const char *name;
    uint32_t next;
} once_table[ONCE_STATES] = {
    [ONCE_IDLE] = {"idle", BIT(ONCE_READING) | BIT(ONCE_OVER)},
    [ONCE_READING] = {"reading",
                      BIT(ONCE_READING) | BIT(ONCE_QUEUED) | BIT(ONCE_SETTLING) | BIT(ONCE_OVER)},
    [ONCE_QUEUED] = {"queued", BIT(ONCE_TOUCHING) | BIT(ONCE_OVER)},
    [ONCE_TOUCHING] = {"touching", BIT(ONCE_READING) | BIT(ONCE_JUDGING) | BIT(ONCE_OVER)},
    [ONCE_JUDGING] = {"judging", BIT(ONCE_READING) | BIT(ONCE_EARLY) | BIT(ONCE_OVER)},
    [ONCE_SETTLING] = {"settling", BIT(ONCE_OVER)},
    [ONCE_EARLY] = {"early", BIT(ONCE_READING) | BIT(ONCE_TOUCHING) | BIT(ONCE_OVER)},
};

const char *once_state_name(enum once_state state)
{
    return state == ONCE_OVER ? "over" : state < ONCE_STATES ? once_table[state].name : "?";
}

bool once_may_move(enum once_state from, enum once_state to)
{
    return (once_table[from].next & BIT(to)) != 0;
}

bool once_invariant(const struct once *o)
{
    return o->now == 0 || o->state == ONCE_JUDGING || o->state == ONCE_OVER;
}

static void once_move(struct once *o, enum once_state to)
{
    assert(once_may_move(o->state, to));
    o->state = to;
}

static void once_end(struct once *o, struct machine_actions *out, enum once_verdict verdict,
                     enum store_rc rc)
{
    once_move(o, ONCE_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, rc);
}

/* ---- what is asked ---- */

/* Reads the record with a watch, since another caller may run the work while this one waits for the
 * lock. */
static void once_read_with_watch(struct machine_actions *out, enum store_kind verb)
{
    machine_ask(out, verb, ONCE_RECORD)->watch = true;
}

/* Begins to read, or to reset. The read comes after a sync, so it sees a reset that returned before
 * the call began. */
static void once_begin(struct once *o, struct machine_actions *out)
{
    once_move(o, ONCE_READING);
    o->now = 0;
    if (o->goal == ONCE_RESET) {
        machine_ask(out, STORE_DELETE, ONCE_RECORD);
        return;
    }
    machine_ask(out, STORE_SYNC, ONCE_RECORD);
    machine_ask(out, STORE_GET, ONCE_RECORD)->joins = true;
}

/* Begins to read and set the own node, to learn the present time. */
static void once_touch(struct once *o, struct machine_actions *out)
{
    once_move(o, ONCE_TOUCHING);
    machine_ask(out, STORE_GET, ONCE_OWN);
}

static void once_end_reset(struct once *o, struct machine_actions *out)
{
    once_end(o, out, o->refused == STORE_OK ? ONCE_DONE : ONCE_REFUSED, o->refused);
}

/* ---- answers ---- */

static void once_on_read(struct once *o, const struct machine_event *ev,
                         const struct once_moment *m, struct machine_actions *out)
{
    const bool there = ev->rc == STORE_OK;

    if ((!there && ev->rc != STORE_NONODE) || m->odd) {
        once_end(o, out, m->odd ? ONCE_ODD : ONCE_REFUSED, ev->rc);
    } else if (o->goal == ONCE_LOOK) {
        once_end(o, out, there ? ONCE_DONE : ONCE_NONE, STORE_OK);
    } else if (there && m->foreign) {
        once_end(o, out, ONCE_FOREIGN, STORE_OK);
    } else if (there && o->plan.period_ms == 0 && o->plan.late_ms == 0) {
        once_end(o, out, ONCE_DONE, STORE_OK);
    } else {
        once_move(o, ONCE_QUEUED);
        o->seen = there ? ev->mzxid : 0;
        machine_tell(out, ONCE_ENTER, STORE_OK);
    }
}

/* Handles a read of the record while the caller waits for the lock. If the record has changed, a
 * run has ended since, and the caller has nothing to do. A calendar has an exception: if its next
 * instant came before the record was written, the caller waits on, perhaps for that instant. */
static void once_on_seen(struct once *o, const struct machine_event *ev,
                         const struct once_moment *m, struct machine_actions *out)
{
    const bool there = ev->rc == STORE_OK;

    if (!there && ev->rc != STORE_NONODE) {
        once_end(o, out, ONCE_REFUSED, ev->rc);
    } else if (there && ev->verb == STORE_STAT) {
        once_read_with_watch(out, STORE_GET);
    } else if (!there && ev->verb == STORE_GET) {
        once_read_with_watch(out, STORE_STAT);
    } else if (there && (m->odd || m->foreign)) {
        once_end(o, out, m->odd ? ONCE_ODD : ONCE_FOREIGN, STORE_OK);
    } else if (there && ev->mzxid != o->seen &&
               (!m->aim || m->record->instant >= m->aim->instant)) {
        once_end(o, out, ONCE_DONE, STORE_OK);
    }
}

/* Handles the read and the set of the own node. The set tells the present time. It asks for the
 * version that was read, so it is never applied late, and what another client has written into the
 * node stays. */
static void once_on_touched(struct once *o, const struct machine_event *ev,
                            struct machine_actions *out)
{
    if (ev->rc == STORE_NONODE) {
        machine_tell(out, ONCE_GONE, STORE_OK);
    } else if (ev->rc == STORE_BADVERSION) {
        machine_ask(out, STORE_GET, ONCE_OWN);
    } else if (ev->rc != STORE_OK) {
        once_end(o, out, ONCE_REFUSED, ev->rc);
    } else if (ev->verb == STORE_GET) {
        machine_ask(out, STORE_SET, ONCE_OWN)->version = ev->version;
    } else {
        once_move(o, ONCE_JUDGING);
        o->now = ev->mtime_ms;
        machine_ask(out, STORE_GET, ONCE_RECORD);
    }
}

/* Judges by the record, read under the lock, whether the work is due. */
static void once_judge(struct once *o, const struct machine_event *ev, const struct once_moment *m,
                       struct machine_actions *out)
{
    const bool there = ev->rc == STORE_OK;

    if (!there && ev->rc != STORE_NONODE) {
        once_end(o, out, ONCE_REFUSED, ev->rc);
        return;
    }
    const enum once_verdict verdict = once_judged(&o->plan, m, o->now);
    if (verdict == ONCE_ENTER) {
        once_move(o, ONCE_EARLY);
        machine_act(out, MACHINE_ACT_ARM)->at =
            m->boot + (int64_t)(m->aim->instant - o->now) * INT64_C(1000000);
        o->now = 0;
        return;
    }
    o->jumped =
        m->odd ? ONCE_STEADY
               : (m->aim ? once_jumped_by_calendar(m) : once_jumped(&o->plan, m->record, o->now));
    o->version = there ? ev->version : -1;
    if (verdict == ONCE_RUN)
        o->next_due = m->aim ? m->aim->next : once_next_due(&o->plan, m->record, o->now);
    once_end(o, out, verdict, STORE_OK);
}

static void once_on_answer(struct once *o, const struct machine_event *ev,
                           const struct once_moment *m, struct machine_actions *out)
{
    if (ev->verb == STORE_SYNC)
        return; /* the read after it tells */
    if (o->goal == ONCE_RESET) {
        o->refused = ev->rc == STORE_NONODE ? STORE_OK : ev->rc;
        if (ev->late_until == 0) {
            once_end_reset(o, out);
        } else {
            once_move(o, ONCE_SETTLING);
            machine_act(out, MACHINE_ACT_ARM)->at = ev->late_until;
        }
    } else if (o->state == ONCE_READING) {
        once_on_read(o, ev, m, out);
    } else if (o->state == ONCE_QUEUED) {
        once_on_seen(o, ev, m, out);
    } else if (o->state == ONCE_TOUCHING) {
        once_on_touched(o, ev, out);
    } else {
        once_judge(o, ev, m, out);
    }
}

/* ---- steps ---- */

void once_step(struct once *o, const struct machine_event *ev, const struct once_moment *m,
               struct machine_actions *out)
{
    if (o->state == ONCE_OVER)
        return;
    switch (ev->kind) {
    case MACHINE_EV_BEGIN:
        once_begin(o, out);
        break;
    case MACHINE_EV_ANSWER:
        once_on_answer(o, ev, m, out);
        break;
    case MACHINE_EV_FIRED:
        if (o->state == ONCE_QUEUED)
            once_read_with_watch(out, STORE_GET);
        break;
    case MACHINE_EV_TIMER:
        if (o->state == ONCE_SETTLING)
            once_end_reset(o, out);
        else if (o->state == ONCE_EARLY)
            once_touch(o, out);
        break;
    case MACHINE_EV_STOP:
        once_end(o, out, ONCE_STOPPED, STORE_OK);
        break;
    case MACHINE_EV_SESSION:
        if (o->state == ONCE_READING) /* later the contender tells what the session's end means */
            once_begin(o, out);
        break;
    case ONCE_EV_WAITS:
        if (o->state == ONCE_QUEUED)
            once_read_with_watch(out, STORE_GET);
        break;
    case ONCE_EV_FIRST:
        once_touch(o, out);
        break;
    case ONCE_EV_FAILED:
        once_end(o, out, ONCE_FAILED, STORE_OK);
        break;
    case ONCE_EV_LOST:
        once_begin(o, out);
        break;
    default:
        break;
    }
    assert(once_invariant(o));
}
