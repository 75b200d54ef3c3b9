#include "shard.h"

#include <assert.h>

#include "back_off.h"

/* Begins to end the worker. */
static enum shard_act shard_stop(struct shard_plan *s, const struct shard_facts *f,
                                 int64_t *ret_due)
{
    s->state = SHARD_ENDING;
    s->kill_at = f->now + f->drain_ms;
    *ret_due = s->kill_at;
    return SHARD_STOP;
}

/* Returns since when the view has lasted. After a doubt it must last anew, even if it says the
 * same. */
static int64_t view_since(const struct shard_plan *s, const struct shard_facts *f)
{
    return s->since > f->confirmed_since ? s->since : f->confirmed_since;
}

/* Decides in the state OUT. */
static enum shard_act when_out(struct shard_plan *s, const struct shard_facts *f, int64_t *ret_due)
{
    const int64_t settled = view_since(s, f) + SHARD_SETTLE_MS;

    if (f->stop || !f->confirmed || !s->mine)
        return SHARD_REST;
    *ret_due = settled > s->not_before ? settled : s->not_before;
    if (f->now >= f->member_until && *ret_due <= f->now)
        *ret_due = f->now + SHARD_SETTLE_MS; /* then looks again whether we are a member */
    if (f->now < *ret_due)
        return SHARD_REST;
    *ret_due = INT64_MAX;
    s->state = SHARD_SEEKING;
    return SHARD_SEEK;
}

/* Returns from when on the shard may be given up: another host should have it, or others may have
 * seen us gone. */
static int64_t free_from(const struct shard_plan *s, const struct shard_facts *f)
{
    if (!f->confirmed)
        return f->confirmed_since + f->doubt_ms;
    return s->mine ? f->member_until : view_since(s, f);
}

/* Stops the worker if a contender waits for the shard. A contender that has come may be gone again,
 * and then nobody would have the shard. So the host looks first, and looks again while it finds
 * nobody. */
static enum shard_act stop_if_awaited(struct shard_plan *s, const struct shard_facts *f,
                                      int64_t *ret_due)
{
    const bool answered = s->asked_at != 0 && f->looked_at >= s->asked_at;

    if (answered && f->waits)
        return shard_stop(s, f, ret_due);
    if (s->asked_at != 0 && !answered)
        return SHARD_REST;
    if (answered && f->now < f->looked_at + SHARD_LOOK_MS) {
        *ret_due = f->looked_at + SHARD_LOOK_MS;
        return SHARD_REST;
    }
    s->asked_at = f->now;
    return SHARD_LOOK;
}

/* Decides in the state HELD. */
static enum shard_act when_held(struct shard_plan *s, const struct shard_facts *f, int64_t *ret_due)
{
    const int64_t from = free_from(s, f);

    if (f->stop || f->revoked)
        return shard_stop(s, f, ret_due);
    if (f->now < from || s->asked_at < from)
        s->asked_at = 0;
    if (!f->wanted)
        return SHARD_REST;
    if (f->now >= from)
        return stop_if_awaited(s, f, ret_due);
    *ret_due = from;
    return SHARD_REST;
}

/* Decides in the present state. */
static enum shard_act shard_decide(struct shard_plan *s, const struct shard_facts *f,
                                   int64_t *ret_due)
{
    switch (s->state) {
    case SHARD_OUT:
        return when_out(s, f, ret_due);
    case SHARD_SEEKING:
        if (f->granted) {
            s->state = SHARD_HELD;
            s->held_at = f->now;
            return when_held(s, f, ret_due);
        }
        return f->stop || (f->confirmed && !s->mine) ? shard_stop(s, f, ret_due) : SHARD_REST;
    case SHARD_HELD:
        return when_held(s, f, ret_due);
    case SHARD_ENDING:
        *ret_due = s->kill_at;
        if (f->now < s->kill_at && !f->hurry)
            return SHARD_REST;
        *ret_due = INT64_MAX;
        s->state = SHARD_KILLED;
        s->kill_at = 0;
        return SHARD_KILL;
    default:
        return SHARD_REST;
    }
}

bool shard_may_move(enum shard_state from, enum shard_state to)
{
    static const unsigned char allowed[SHARD_STATES] = {
        [SHARD_OUT] = 1 << SHARD_SEEKING,
        [SHARD_SEEKING] = 1 << SHARD_HELD | 1 << SHARD_ENDING | 1 << SHARD_OUT,
        [SHARD_HELD] = 1 << SHARD_ENDING | 1 << SHARD_OUT,
        [SHARD_ENDING] = 1 << SHARD_KILLED | 1 << SHARD_OUT,
        [SHARD_KILLED] = 1 << SHARD_OUT};

    return from < SHARD_STATES && to < SHARD_STATES && (allowed[from] >> to & 1);
}

enum shard_act shard_step(struct shard_plan *s, const struct shard_facts *f, int64_t *ret_due)
{
    const enum shard_state from = s->state;

    *ret_due = INT64_MAX;
    if (f->confirmed && f->owned != s->mine) {
        s->mine = f->owned;
        s->since = f->now;
    }
    const enum shard_act act = shard_decide(s, f, ret_due);
    assert(s->state == from || shard_may_move(from, s->state));
    assert(shard_invariant(s));
    (void)from;
    return act;
}

void shard_ended(struct shard_plan *s, bool failed, int64_t now)
{
    const bool by_itself = s->state == SHARD_SEEKING || s->state == SHARD_HELD;
    const bool lasted = s->held_at != 0 && now - s->held_at >= BACK_OFF_LAST_MS;

    /* the pauses of a worker that has lasted for a while begin anew */
    s->pause_ms = by_itself && failed ? back_off_next(lasted ? 0 : s->pause_ms) : 0;
    s->not_before = now + s->pause_ms;
    s->state = SHARD_OUT;
    s->held_at = s->kill_at = s->asked_at = 0;
}

bool shard_is_paused(const struct shard_plan *s)
{
    return s->state == SHARD_OUT && s->mine && s->pause_ms > 0;
}

bool shard_invariant(const struct shard_plan *s)
{
    return s->state <= SHARD_KILLED && (s->kill_at != 0) == (s->state == SHARD_ENDING) &&
           (s->held_at == 0 || s->state >= SHARD_HELD) &&
           (s->held_at != 0 || s->state != SHARD_HELD) && s->pause_ms >= 0 &&
           s->pause_ms <= BACK_OFF_LAST_MS && (s->asked_at == 0 || s->held_at != 0);
}
