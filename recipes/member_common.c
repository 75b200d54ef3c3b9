/* The table of moves, and what several phases do in the same way. */
#include <assert.h>

#include "back_off.h"
#include "member_steps.h"

/* Another session begins anew, or ends what was ending. */
#define ANEW (BIT(MEMBER_CREATING) | BIT(MEMBER_OVER))

static const struct {
    const char *name;
    uint32_t next;
} table[MEMBER_STATES] = {
    [MEMBER_OUT] = {"out", ANEW},
    [MEMBER_CREATING] = {"creating", ANEW | BIT(MEMBER_READING) | BIT(MEMBER_IN) |
                                         BIT(MEMBER_LEAVING) | BIT(MEMBER_BACKED_OFF)},
    [MEMBER_READING] = {"reading", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_JUDGING) |
                                       BIT(MEMBER_LEAVING) | BIT(MEMBER_BACKED_OFF)},
    [MEMBER_JUDGING] = {"judging",
                        ANEW | BIT(MEMBER_READING) | BIT(MEMBER_CLAIMING) | BIT(MEMBER_WAITING)},
    [MEMBER_CLAIMING] = {"claiming", ANEW},
    [MEMBER_WAITING] = {"waiting", ANEW | BIT(MEMBER_READING) | BIT(MEMBER_JUDGING)},
    [MEMBER_IN] = {"in", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_JUDGING) | BIT(MEMBER_LEAVING)},
    [MEMBER_BACKED_OFF] = {"backed off", ANEW | BIT(MEMBER_READING)},
    [MEMBER_LEAVING] = {"leaving", BIT(MEMBER_LEAVING) | BIT(MEMBER_PASSING) |
                                       BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
    [MEMBER_PASSING] = {"passing", BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
    [MEMBER_SETTLING] = {"settling", BIT(MEMBER_LEAVING) | BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
    [MEMBER_OVER] = {"over", 0},
};

const char *member_state_name(enum member_state state)
{
    return state < MEMBER_STATES ? table[state].name : "?";
}

bool member_may_move(enum member_state from, enum member_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

bool member_is_ending(const struct member *m)
{
    return m->state == MEMBER_LEAVING || m->state == MEMBER_PASSING || m->state == MEMBER_SETTLING;
}

void member_move(struct member *m, enum member_state to)
{
    assert(member_may_move(m->state, to));
    m->state = to;
    m->checks = m->sets = m->marks = m->refused = false;
    m->marked &= member_is_ending(m);
}

struct member_action *member_act(struct member_actions *out, enum member_action_kind kind)
{
    assert(out->count < MEMBER_ACTIONS);
    struct member_action *a = &out->list[out->count++];
    *a = (struct member_action){.kind = kind};
    return a;
}

struct member_action *member_act_tagged(struct member *m, struct member_actions *out,
                                        enum member_action_kind kind)
{
    struct member_action *a = member_act(out, kind);

    a->tag = ++m->tag;
    a->czxid = m->czxid;
    return a;
}

/* ---- what the user is told ---- */

void member_report(struct member *m, struct member_actions *out, enum member_tell what)
{
    struct member_action *a = member_act(out, MEMBER_ACT_TELL);

    a->tell = what;
    a->czxid = m->czxid;
}

void member_report_written(struct member *m, struct member_actions *out, uint32_t what)
{
    m->written = what;
    member_report(m, out, MEMBER_TELL_WRITTEN);
}

void member_report_out(struct member *m, struct member_actions *out, enum member_why why)
{
    if (!m->told_in)
        return;
    member_report(m, out, MEMBER_TELL_OUT);
    out->list[out->count - 1].why = why;
    m->told_in = m->told_suspect = false;
}

/* ---- what several phases lead to ---- */

void member_read_watching(struct member *m, struct member_actions *out)
{
    member_act_tagged(m, out, MEMBER_ACT_READ)->watch = true;
}

void member_begin_creating(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_WAITING || m->state == MEMBER_BACKED_OFF)
        member_act(out, MEMBER_ACT_DISARM);
    member_move(m, MEMBER_CREATING);
    m->czxid = 0;
    m->sent = m->wanted;
    member_act_tagged(m, out, MEMBER_ACT_CREATE);
}

void member_begin_judging(struct member *m, struct member_actions *out, uint64_t czxid)
{
    member_move(m, MEMBER_JUDGING);
    m->czxid = czxid;
    member_act_tagged(m, out, MEMBER_ACT_JUDGE);
}

void member_begin_in(struct member *m, struct member_actions *out, uint64_t czxid, int32_t version)
{
    member_move(m, MEMBER_IN);
    m->czxid = czxid;
    m->version = version;
    m->written = m->denied = 0;
    m->back_off_ms = 0;
    m->told_failed = false;
    m->told_busy = 0;
    m->marks = !m->unmarked;
    if (m->marks)
        member_act(out, MEMBER_ACT_MARK)->czxid = czxid;
}

void member_begin_leaving(struct member *m, struct member_actions *out, uint64_t czxid)
{
    member_move(m, MEMBER_LEAVING);
    m->czxid = czxid;
    m->leaves = false;
    member_act(out, MEMBER_ACT_IGNORE);
    member_act_tagged(m, out, MEMBER_ACT_DELETE)->fenced = m->marked;
}

void member_try_later(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->refused = m->leaves || member_is_ending(m);
    m->back_off_ms = back_off_next(m->back_off_ms);
    member_act(out, MEMBER_ACT_ARM)->at = ev->now + m->back_off_ms * 1000000;
    if (!m->told_failed)
        member_report(m, out, MEMBER_TELL_FAILED);
    m->told_failed = true;
}

void member_finish(struct member *m, struct member_actions *out)
{
    member_move(m, MEMBER_OVER);
    m->czxid = 0;
    m->leaves = false;
    member_act(out, MEMBER_ACT_DISARM);
    member_act(out, MEMBER_ACT_IGNORE);
    member_act(out, MEMBER_ACT_OVER);
}
