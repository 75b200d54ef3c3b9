/* The own node is deleted, once; what became of it is asked when no answer came. */
#include "member_steps.h"

/* Its node has gone by something else than its own delete. */
static void finish_without(struct member *m, struct member_actions *out)
{
    if (m->marked)
        member_act(out, MEMBER_ACT_UNMARK)->czxid = m->czxid;
    member_finish(m, out);
}

/* Whose the node is, before it is deleted once more. */
static void settle(struct member *m, struct member_actions *out)
{
    member_move(m, MEMBER_SETTLING);
    member_act_tagged(m, out, MEMBER_ACT_READ);
}

static void step_leaving(struct member *m, const struct member_event *ev,
                         struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_DELETED) {
        member_finish(m, out);
    } else if (ev->kind == MEMBER_EV_NO_NODE) {
        finish_without(m, out);
    } else if (ev->kind == MEMBER_EV_UNKNOWN) {
        member_move(m, MEMBER_PASSING);
        member_act_tagged(m, out, MEMBER_ACT_PASS);
    } else if (ev->kind == MEMBER_EV_UNMARKED) {
        /* Nobody can take the node for that of a dead process, so it needs no fence; but where the
         * servers' data have gone back it may have gone with its mark, and be another's now. */
        m->marked = false;
        settle(m, out);
    }
}

static void step_settling(struct member *m, const struct member_event *ev,
                          struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_READ && ev->own && ev->czxid == m->czxid)
        member_begin_leaving(m, out, m->czxid);
    else if (ev->kind == MEMBER_EV_READ || ev->kind == MEMBER_EV_NO_NODE)
        finish_without(m, out);
}

/* Who may not see whose a node is, or not delete it, tries that later. */
void member_step_leave(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_REFUSED)
        member_try_later(m, ev, out);
    else if (ev->kind == MEMBER_EV_TIMER && m->refused)
        settle(m, out);
    else if (m->state == MEMBER_LEAVING)
        step_leaving(m, ev, out);
    else if (m->state == MEMBER_PASSING && ev->kind == MEMBER_EV_PASSED)
        settle(m, out);
    else if (m->state == MEMBER_SETTLING)
        step_settling(m, ev, out);
}
