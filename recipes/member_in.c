/* The own node stands: it is marked and watched, its data follows what is wanted, and the user is
 * told whether others may think that it is gone. */
#include "back_off.h"
#include "member_steps.h"

/* ---- the node ---- */

/* The own node is not there any more, for another reason than ours. */
static void lose(struct member *m, struct member_actions *out)
{
    member_report_out(m, out, MEMBER_WHY_DELETED);
    if (m->marked || m->marks)
        member_act(out, MEMBER_ACT_UNMARK)->czxid = m->czxid;
}

static void go_on_without(struct member *m, struct member_actions *out)
{
    lose(m, out);
    if (m->leaves)
        member_finish(m, out);
    else
        member_begin_creating(m, out);
}

static void on_leave(struct member *m, struct member_actions *out)
{
    member_report_out(m, out, MEMBER_WHY_LEFT);
    m->leaves = m->marks;
    if (!m->leaves)
        member_begin_leaving(m, out, m->czxid);
}

/* Whether the own node is as it was. */
static void check(struct member *m, struct member_actions *out)
{
    m->checks = true;
    member_read_watching(m, out);
}

static void on_fired(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->gone)
        go_on_without(m, out);
    else
        check(m, out);
}

/* Somebody may have written other data: those stay until the next update. */
static void on_read(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->checks = m->refused = false;
    if (!ev->own || ev->czxid != m->czxid)
        lose(m, out);
    if (m->leaves && !ev->own) {
        member_finish(m, out);
        return;
    }
    if (!ev->own) {
        member_begin_judging(m, out, ev->czxid);
        return;
    }
    if (ev->czxid != m->czxid) /* deleted, and made once more by a create that came late */
        member_begin_in(m, out, ev->czxid, ev->version);
    if (!m->sets)
        m->version = ev->version;
    if (ev->same && !m->sets && m->written != m->wanted)
        member_report_written(m, out, m->wanted);
}

static void on_marked(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (!m->marks || ev->czxid != m->czxid)
        return;
    m->marks = false;
    m->marked = !ev->gone;
    if (m->leaves)
        member_begin_leaving(m, out, m->czxid);
}

/* ---- its data ---- */

static void on_set(struct member *m, struct member_actions *out)
{
    m->sets = false;
    m->version++;
    member_report_written(m, out, m->sent);
}

/* By a set of ours whose answer was lost, or by somebody else. Without a mark nobody can take the
 * node for a dead process's, so it needs no fence; but it may have gone with its mark, where the
 * servers' data have gone back. */
static void on_outdated(struct member *m, struct member_actions *out)
{
    m->sets = false;
    check(m, out);
}

static void on_refused(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->sets && ev->tag == m->set_tag) {
        m->sets = false;
        m->denied = m->sent;
        member_report(m, out, MEMBER_TELL_UNWRITTEN);
    } else {
        m->checks = false; /* without a watch: the deadline has to do meanwhile */
        m->refused = true;
        member_act(out, MEMBER_ACT_ARM)->at = ev->now + BACK_OFF_LAST_MS * INT64_C(1000000);
    }
}

/* ---- one step ---- */

void member_step_in(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    switch (ev->kind) {
    case MEMBER_EV_LEAVE:
        on_leave(m, out);
        break;
    case MEMBER_EV_TIMER:
        if (m->refused && !m->checks)
            check(m, out);
        break;
    case MEMBER_EV_FIRED:
        on_fired(m, ev, out);
        break;
    case MEMBER_EV_NO_NODE:
        go_on_without(m, out);
        break;
    case MEMBER_EV_READ:
        on_read(m, ev, out);
        break;
    case MEMBER_EV_MARKED:
        on_marked(m, ev, out);
        break;
    case MEMBER_EV_UNMARKED:
        m->marked = false;
        on_outdated(m, out);
        break;
    case MEMBER_EV_SET:
        on_set(m, out);
        break;
    case MEMBER_EV_OUTDATED:
    case MEMBER_EV_UNKNOWN:
        on_outdated(m, out);
        break;
    case MEMBER_EV_REFUSED:
        on_refused(m, ev, out);
        break;
    default:
        break;
    }
}

/* ---- what follows from each event ---- */

static void report_standing(struct member *m, const struct member_event *ev,
                            struct member_actions *out)
{
    if (m->told_in && !ev->valid)
        member_report_out(m, out, MEMBER_WHY_DEADLINE);
    if (m->state != MEMBER_IN || !ev->valid || m->leaves)
        return;
    if (!m->told_in) {
        member_report(m, out, MEMBER_TELL_JOINED);
        m->told_in = true;
        m->told_czxid = m->czxid;
    }
    if (m->told_suspect != ev->suspect)
        member_report(m, out, ev->suspect ? MEMBER_TELL_SUSPECT : MEMBER_TELL_PROVED);
    m->told_suspect = ev->suspect;
}

static void pursue_data(struct member *m, struct member_actions *out)
{
    if (m->state != MEMBER_IN || m->leaves || m->sets || m->checks || m->marks ||
        m->written == m->wanted || m->denied == m->wanted)
        return;
    m->sets = true;
    m->sent = m->wanted;
    m->set_tag = ++m->tag;
    struct member_action *a = member_act(out, MEMBER_ACT_SET);
    a->tag = m->set_tag;
    a->version = m->version;
    a->fenced = m->marked;
    a->czxid = m->czxid;
}

void member_follow_up(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    report_standing(m, ev, out);
    pursue_data(m, out);
}
