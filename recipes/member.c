/* One step: the phase that the member is in takes the event, unless all phases take it in the same
 * way. The diagram is in member.h, the table of moves in member_common.c. */
#include "member.h"

#include <assert.h>

#include "member_steps.h"

static const uint32_t joining =
    BIT(MEMBER_OUT) | BIT(MEMBER_CREATING) | BIT(MEMBER_READING) | BIT(MEMBER_BACKED_OFF);
static const uint32_t waiting = BIT(MEMBER_JUDGING) | BIT(MEMBER_CLAIMING) | BIT(MEMBER_WAITING);

static bool is_any_of(const struct member *m, uint32_t states)
{
    return (BIT(m->state) & states) != 0;
}

bool member_invariant(const struct member *m)
{
    if ((m->told_in || m->checks || m->sets || m->marks) && m->state != MEMBER_IN)
        return false;
    if (m->refused && m->state != MEMBER_IN && m->state != MEMBER_READING && !member_is_ending(m))
        return false;
    if (m->marked && (m->marks || m->unmarked || (m->state != MEMBER_IN && !member_is_ending(m))))
        return false;
    if (m->told_in && m->told_czxid != m->czxid)
        return false;
    if (m->told_suspect && !m->told_in)
        return false;
    if ((m->czxid != 0) != (m->state == MEMBER_IN || member_is_ending(m) || is_any_of(m, waiting)))
        return false;
    if (m->leaves && m->state != MEMBER_CREATING && m->state != MEMBER_READING && !m->marks)
        return false;
    if (m->leaves && m->told_in)
        return false;
    return (m->back_off_ms != 0) == m->told_failed;
}

static void on_stop(struct member *m, struct member_actions *out)
{
    member_report_out(m, out, MEMBER_WHY_LEFT);
    member_finish(m, out);
}

static void on_replaced(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_OUT)
        return;
    m->stands = false;
    member_report_out(m, out, MEMBER_WHY_SESSION);
    if (m->leaves || member_is_ending(m))
        member_finish(m, out);
    else
        member_begin_creating(m, out);
}

static void step_phase(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (is_any_of(m, joining))
        member_step_join(m, ev, out);
    else if (is_any_of(m, waiting))
        member_step_wait(m, ev, out);
    else if (m->state == MEMBER_IN)
        member_step_in(m, ev, out);
    else
        member_step_leave(m, ev, out);
}

static bool is_answer(enum member_event_kind kind)
{
    return kind >= MEMBER_EV_CREATED;
}

void member_step(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    const bool of_set = m->sets && ev->tag == m->set_tag;

    out->count = 0;
    if (is_answer(ev->kind) && ev->tag != m->tag && !of_set)
        return;
    if (ev->kind == MEMBER_EV_UPDATE)
        m->wanted = m->wanted == UINT32_MAX ? 1 : m->wanted + 1;
    else if (m->state == MEMBER_OVER)
        return;
    else if (ev->kind == MEMBER_EV_STOP)
        on_stop(m, out);
    else if (ev->kind == MEMBER_EV_REPLACED)
        on_replaced(m, out);
    else
        step_phase(m, ev, out);
    member_follow_up(m, ev, out);
    assert(member_invariant(m));
}
