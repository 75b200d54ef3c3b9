/* Another process has the id: is it dead? Its node is deleted then, or its end is awaited. */
#include "member_steps.h"

static void on_judged(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->dead) {
        member_move(m, MEMBER_CLAIMING);
        member_act_tagged(m, out, MEMBER_ACT_CLAIM);
        return;
    }
    member_move(m, MEMBER_WAITING);
    member_act(out, MEMBER_ACT_ARM)->at = ev->now + m->look_every;
    if (m->told_busy != m->czxid)
        member_report(m, out, MEMBER_TELL_BUSY);
    m->told_busy = m->czxid;
}

static void on_fired(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->gone) {
        member_begin_creating(m, out);
        return;
    }
    if (m->state == MEMBER_WAITING)
        member_act(out, MEMBER_ACT_DISARM);
    member_move(m, MEMBER_READING);
    m->czxid = 0;
    member_read_watching(m, out);
}

void member_step_wait(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    const bool claiming = m->state == MEMBER_CLAIMING;

    if (ev->kind == MEMBER_EV_LEAVE)
        member_finish(m, out);
    else if (claiming && (ev->kind == MEMBER_EV_CLAIMED || ev->kind == MEMBER_EV_UNMARKED))
        member_begin_creating(m, out);
    else if (!claiming && ev->kind == MEMBER_EV_FIRED) /* the answer to CLAIM tells more */
        on_fired(m, ev, out);
    else if (m->state == MEMBER_JUDGING && ev->kind == MEMBER_EV_JUDGED)
        on_judged(m, ev, out);
    else if (m->state == MEMBER_WAITING && ev->kind == MEMBER_EV_TIMER)
        member_begin_judging(m, out, m->czxid);
}
