/* The own node is deleted, once; what became of it is asked when no answer came. */
#include "member_steps.h"

static void step_leaving(struct member *m, const struct member_event *ev,
                         struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_DELETED || ev->kind == MEMBER_EV_NO_NODE) {
        member_finish(m, out);
    } else if (ev->kind == MEMBER_EV_UNKNOWN) {
        member_move(m, MEMBER_PASSING);
        member_act_tagged(m, out, MEMBER_ACT_PASS);
    } else if (ev->kind == MEMBER_EV_UNMARKED) {
        /* Nobody can take the node for that of a dead process, so it needs no fence. */
        m->marked = false;
        member_begin_leaving(m, out, m->czxid);
    }
}

static void step_settling(struct member *m, const struct member_event *ev,
                          struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_READ && ev->own && ev->czxid == m->czxid)
        member_begin_leaving(m, out, m->czxid);
    else if (ev->kind == MEMBER_EV_READ || ev->kind == MEMBER_EV_NO_NODE)
        member_finish(m, out);
}

/* Who may not see whose a node is does not delete it. */
void member_step_leave(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_REFUSED) {
        member_finish(m, out);
    } else if (m->state == MEMBER_LEAVING) {
        step_leaving(m, ev, out);
    } else if (m->state == MEMBER_PASSING && ev->kind == MEMBER_EV_PASSED) {
        member_move(m, MEMBER_SETTLING);
        member_act_tagged(m, out, MEMBER_ACT_READ);
    } else if (m->state == MEMBER_SETTLING) {
        step_settling(m, ev, out);
    }
}
