/* From nothing to a node of our own, or to the question whether the process of another's is dead.
 */
#include "member_steps.h"

/* There may be a node of ours, by a create that was not answered. */
static void leave_if_any(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        member_act(out, MEMBER_ACT_DISARM);
    m->leaves = true;
    member_move(m, MEMBER_READING);
    member_act_tagged(m, out, MEMBER_ACT_READ);
}

static void back_off(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    member_move(m, MEMBER_BACKED_OFF);
    member_try_later(m, ev, out);
}

static void step_out(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE) {
        member_finish(m, out);
    } else if (ev->kind == MEMBER_EV_BEGIN) {
        if (m->wanted == 0)
            m->wanted = 1;
        member_begin_creating(m, out);
    }
}

static void on_created(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves) {
        member_begin_leaving(m, out, ev->czxid);
        return;
    }
    member_begin_in(m, out, ev->czxid, 0);
    member_report_written(m, out, m->sent);
    m->checks = true;
    member_read_watching(m, out);
}

/* Perhaps by a create of ours whose answer was lost. */
static void on_exists(struct member *m, struct member_actions *out)
{
    m->stands = true;
    member_move(m, MEMBER_READING);
    member_act_tagged(m, out, MEMBER_ACT_READ)->watch = !m->leaves;
}

static void step_creating(struct member *m, const struct member_event *ev,
                          struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE)
        m->leaves = true;
    else if (ev->kind == MEMBER_EV_CREATED)
        on_created(m, ev, out);
    else if (ev->kind == MEMBER_EV_EXISTS)
        on_exists(m, out);
    else if (ev->kind == MEMBER_EV_REFUSED && m->leaves)
        leave_if_any(m, out);
    else if (ev->kind == MEMBER_EV_REFUSED)
        back_off(m, ev, out);
}

static void on_read(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves) {
        if (ev->own)
            member_begin_leaving(m, out, ev->czxid);
        else
            member_finish(m, out);
    } else if (ev->own) {
        member_begin_in(m, out, ev->czxid, ev->version);
        if (ev->same)
            member_report_written(m, out, m->wanted);
    } else {
        member_begin_judging(m, out, ev->czxid);
    }
}

static void on_no_node(struct member *m, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves)
        member_finish(m, out);
    else
        member_begin_creating(m, out);
}

/* Who may not see whose a node is does not delete it. If it may be the own one, it looks again. */
static void on_not_seen(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (!m->leaves)
        back_off(m, ev, out);
    else if (m->stands)
        member_try_later(m, ev, out);
    else
        member_finish(m, out);
}

static void step_reading(struct member *m, const struct member_event *ev,
                         struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE)
        m->leaves = true;
    else if (ev->kind == MEMBER_EV_READ)
        on_read(m, ev, out);
    else if (ev->kind == MEMBER_EV_NO_NODE)
        on_no_node(m, out);
    else if (ev->kind == MEMBER_EV_REFUSED)
        on_not_seen(m, ev, out);
    else if (ev->kind == MEMBER_EV_TIMER && m->refused)
        member_act_tagged(m, out, MEMBER_ACT_READ);
}

void member_step_join(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_OUT)
        step_out(m, ev, out);
    else if (m->state == MEMBER_CREATING)
        step_creating(m, ev, out);
    else if (m->state == MEMBER_READING)
        step_reading(m, ev, out);
    else if (m->state == MEMBER_BACKED_OFF && ev->kind == MEMBER_EV_LEAVE)
        leave_if_any(m, out);
    else if (m->state == MEMBER_BACKED_OFF && ev->kind == MEMBER_EV_TIMER)
        member_begin_creating(m, out);
}
