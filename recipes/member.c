/* The diagram is in member.h. member_step() hands an event to the state that the member is in,
 * unless all states handle it in the same way. */
#include "member.h"

#include <assert.h>

#include "back_off.h"

/* A set of states is the sum of these. */
#define BIT(state) (1U << (state))

/* Another session leads to these states: a member begins anew, or ends if it was to leave. */
#define ANEW (BIT(MEMBER_CREATING) | BIT(MEMBER_OVER))

static const struct {
    const char *name;
    uint32_t next;
} member_table[MEMBER_STATES] = {
    [MEMBER_OUT] = {"out", ANEW},
    [MEMBER_CREATING] = {"creating", ANEW | BIT(MEMBER_READING) | BIT(MEMBER_IN) |
                                         BIT(MEMBER_LEAVING) | BIT(MEMBER_SETTLING) |
                                         BIT(MEMBER_BACKED_OFF)},
    [MEMBER_READING] = {"reading", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_WAITING) |
                                       BIT(MEMBER_LEAVING) | BIT(MEMBER_SETTLING) |
                                       BIT(MEMBER_BACKED_OFF)},
    [MEMBER_WAITING] = {"waiting", ANEW | BIT(MEMBER_READING)},
    [MEMBER_IN] = {"in", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_WAITING) | BIT(MEMBER_LEAVING) |
                             BIT(MEMBER_SETTLING)},
    [MEMBER_BACKED_OFF] = {"backed off", ANEW | BIT(MEMBER_READING)},
    [MEMBER_LEAVING] = {"leaving", BIT(MEMBER_PASSING) | BIT(MEMBER_SETTLING) |
                                       BIT(MEMBER_PARTING) | BIT(MEMBER_OVER)},
    [MEMBER_PASSING] = {"passing", BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
    [MEMBER_SETTLING] = {"settling", BIT(MEMBER_LEAVING) | BIT(MEMBER_SETTLING) |
                                         BIT(MEMBER_PARTING) | BIT(MEMBER_OVER)},
    [MEMBER_PARTING] = {"parting", BIT(MEMBER_PARTING) | BIT(MEMBER_OVER)},
    [MEMBER_OVER] = {"over", 0},
};

const char *member_state_name(enum member_state state)
{
    return state < MEMBER_STATES ? member_table[state].name : "?";
}

bool member_may_move(enum member_state from, enum member_state to)
{
    return (member_table[from].next & BIT(to)) != 0;
}

static bool member_is_ending(const struct member *m)
{
    return m->state == MEMBER_LEAVING || m->state == MEMBER_PASSING || m->state == MEMBER_SETTLING;
}

bool member_invariant(const struct member *m)
{
    if ((m->told_in || m->checks) && m->state != MEMBER_IN)
        return false;
    if (m->later && m->state != MEMBER_IN && m->state != MEMBER_READING && !member_is_ending(m))
        return false;
    if (m->told_in && m->told_czxid != m->czxid)
        return false;
    if (m->told_suspect && !m->told_in)
        return false;
    if ((m->czxid != 0) != (m->state == MEMBER_IN || m->state == MEMBER_WAITING ||
                            m->state == MEMBER_PARTING || member_is_ending(m)))
        return false;
    if (m->leaves && m->state != MEMBER_CREATING && m->state != MEMBER_READING)
        return false;
    return (m->back_off_ms != 0) == m->told_failed;
}

static void member_move(struct member *m, enum member_state to)
{
    assert(member_may_move(m->state, to));
    m->state = to;
    m->checks = m->later = false;
}

static void member_ask_read(struct machine_actions *out, bool watch)
{
    machine_ask(out, STORE_GET, 0)->watch = watch;
}

/* Asks for a change of the own node, once, since another process may have the id by the time of a
 * second try. It is sent only on the connection on which the node was seen: if the servers' data
 * have gone back since, another may have the id there too. */
static struct machine_action *member_ask_once(const struct member *m, struct machine_actions *out,
                                              enum store_kind verb)
{
    struct machine_action *a = machine_ask(out, verb, 0);

    a->once = true;
    a->connection = m->seen;
    return a;
}

/* ---- what the user is told ---- */

static void member_report(const struct member *m, struct machine_actions *out,
                          enum member_tell what)
{
    machine_tell(out, (int)what, STORE_OK);
    out->list[out->count - 1].czxid = m->czxid;
}

static void member_report_written(struct member *m, struct machine_actions *out, uint32_t what)
{
    m->written = what;
    member_report(m, out, MEMBER_TELL_WRITTEN);
}

/* Tells that the member is out, if it was told to be in. This comes before anything else happens to
 * its node. */
static void member_report_out(struct member *m, struct machine_actions *out, enum member_tell why)
{
    if (!m->told_in)
        return;
    member_report(m, out, why);
    m->told_in = m->told_suspect = false;
}

/* ---- what several states lead to ---- */

static void member_begin_creating(struct member *m, struct machine_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        machine_act(out, MACHINE_ACT_DISARM);
    member_move(m, MEMBER_CREATING);
    m->czxid = 0;
    m->sent = m->wanted;
    machine_act(out, MACHINE_ACT_NAME);
    machine_ask(out, STORE_CREATE, 0)->mode = STORE_EPHEMERAL;
}

/* Waits for the end of another's node. The read that has shown it left a watch. */
static void member_begin_waiting(struct member *m, struct machine_actions *out, uint64_t czxid)
{
    member_move(m, MEMBER_WAITING);
    m->czxid = czxid;
    if (m->told_busy != czxid)
        member_report(m, out, MEMBER_TELL_BUSY);
    m->told_busy = czxid;
}

static void member_begin_in(struct member *m, uint64_t czxid, int32_t version)
{
    member_move(m, MEMBER_IN);
    m->czxid = czxid;
    m->version = version;
    m->written = m->denied = 0;
    m->back_off_ms = 0;
    m->told_failed = false;
    m->told_busy = 0;
}

/* Reads the own node, to see whether it is as it was. */
static void member_check(struct member *m, struct machine_actions *out)
{
    m->checks = true;
    member_ask_read(out, true);
}

/* Forgets .settles when that time has passed. No answer calls this, since the server may have read
 * the node before that time. */
static void member_update_settles(struct member *m, const struct member_moment *moment)
{
    if (m->settles <= moment->now)
        m->settles = 0;
}

/* Puts off the delete of the own node, or the end, until nothing that was asked of the node can be
 * done late. While the node stands, nobody else has the id: what is done late meets no other node,
 * and a create makes none. If a set is under way, its answer tells until when. */
static void member_settle_later(struct member *m, struct machine_actions *out)
{
    m->later = true;
    if (!m->sets)
        machine_act(out, MACHINE_ACT_ARM)->at = m->settles;
}

static void member_begin_settling(struct member *m, struct machine_actions *out)
{
    machine_act(out, MACHINE_ACT_FORGET)->slot = MEMBER_SLOT;
    member_settle_later(m, out);
    member_report(m, out, MEMBER_TELL_UNSETTLED);
}

/* Deletes the own node, or waits until it may. A delete that is sent after a set, on the same
 * connection, is done after it. */
static void member_begin_leaving(struct member *m, struct machine_actions *out, uint64_t czxid)
{
    const bool after_set = m->state == MEMBER_IN && m->seen != 0;
    const bool may = m->settles == 0 && (after_set || !m->sets);

    member_move(m, may ? MEMBER_LEAVING : MEMBER_SETTLING);
    m->czxid = czxid;
    m->leaves = false;
    machine_act(out, MACHINE_ACT_UNWATCH)->deleting = true;
    if (may)
        member_ask_once(m, out, STORE_DELETE);
    else
        member_begin_settling(m, out);
}

/* Arms the timer for another try. The user is told once; the pauses between the tries get
 * longer. */
static void member_try_later(struct member *m, const struct member_moment *moment,
                             struct machine_actions *out)
{
    m->later = m->leaves || member_is_ending(m);
    m->back_off_ms = back_off_next(m->back_off_ms);
    machine_act(out, MACHINE_ACT_ARM)->at = moment->now + m->back_off_ms * 1000000;
    if (!m->told_failed)
        member_report(m, out, MEMBER_TELL_FAILED);
    m->told_failed = true;
    if (m->later)
        member_report(m, out, MEMBER_TELL_ORPHAN);
}

static void member_finish(struct member *m, struct machine_actions *out)
{
    member_move(m, MEMBER_OVER);
    m->czxid = 0;
    m->leaves = false;
    machine_act(out, MACHINE_ACT_END);
    member_report(m, out, MEMBER_TELL_OVER);
}

/* Ends a member that is READING and has no node, unless a create may yet make one. */
static void member_end_without_node(struct member *m, struct machine_actions *out)
{
    if (m->settles == 0 && !m->sets) {
        member_finish(m, out);
        return;
    }
    m->stands = true; /* a late create may have made one then */
    member_begin_settling(m, out);
}

/* ---- CREATING ---- */

/* Leaves although a node of ours may stand, since a create was not answered. */
static void member_leave_if_any(struct member *m, struct machine_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        machine_act(out, MACHINE_ACT_DISARM);
    m->leaves = true;
    member_move(m, MEMBER_READING);
    member_ask_read(out, false);
}

static void member_back_off(struct member *m, const struct member_moment *moment,
                            struct machine_actions *out)
{
    member_move(m, MEMBER_BACKED_OFF);
    member_try_later(m, moment, out);
}

static void member_step_creating(struct member *m, const struct machine_event *ev,
                                 const struct member_moment *moment, struct machine_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE) {
        m->leaves = true;
    } else if (ev->kind != MACHINE_EV_ANSWER) {
        return;
    } else if (ev->rc == STORE_OK) {
        m->stands = false;
        m->seen = ev->connection;
        if (m->leaves) {
            member_begin_leaving(m, out, ev->czxid);
        } else {
            member_begin_in(m, ev->czxid, 0);
            member_report_written(m, out, m->sent);
            member_check(m, out);
        }
    } else if (ev->rc == STORE_EXISTS) {
        /* the node may come from a create of ours whose answer was lost */
        m->stands = true;
        member_move(m, MEMBER_READING);
        member_ask_read(out, !m->leaves);
    } else if (m->leaves) {
        member_leave_if_any(m, out);
    } else {
        member_back_off(m, moment, out);
    }
}

/* ---- READING ---- */

/* Handles what a read has shown of the node of its name: it is the own one, or another's. */
static void member_on_read(struct member *m, const struct machine_event *ev,
                           const struct member_moment *moment, struct machine_actions *out)
{
    m->stands = false;
    if (m->leaves) {
        if (ev->own)
            member_begin_leaving(m, out, ev->czxid);
        else
            member_end_without_node(m, out);
    } else if (ev->own) {
        member_begin_in(m, ev->czxid, ev->version);
        if (moment->same)
            member_report_written(m, out, m->wanted);
    } else {
        member_begin_waiting(m, out, ev->czxid);
    }
}

static void member_step_reading(struct member *m, const struct machine_event *ev,
                                const struct member_moment *moment, struct machine_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE) {
        m->leaves = true;
    } else if (ev->kind == MACHINE_EV_TIMER && m->later) {
        member_update_settles(m, moment);
        member_ask_read(out, false);
    } else if (ev->kind != MACHINE_EV_ANSWER) {
        return;
    } else if (ev->rc == STORE_OK) {
        member_on_read(m, ev, moment, out);
    } else if (ev->rc == STORE_NONODE) {
        m->stands = false;
        if (m->leaves)
            member_end_without_node(m, out);
        else
            member_begin_creating(m, out);
    } else if (!m->leaves) {
        member_back_off(m, moment, out);
    } else if (m->stands) {
        /* it may be the own node: it is neither deleted nor forgotten */
        member_try_later(m, moment, out);
    } else {
        member_end_without_node(m, out);
    }
}

/* ---- WAITING ---- */

static void member_step_waiting(struct member *m, const struct machine_event *ev,
                                const struct member_moment *moment, struct machine_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE) {
        member_update_settles(m, moment);
        member_move(m, MEMBER_READING);
        m->czxid = 0;
        m->leaves = true;
        machine_act(out, MACHINE_ACT_UNWATCH);
        member_end_without_node(m, out);
    } else if (ev->kind == MACHINE_EV_FIRED && ev->gone) {
        member_begin_creating(m, out);
    } else if (ev->kind == MACHINE_EV_FIRED) { /* another session may have the node now */
        member_move(m, MEMBER_READING);
        m->czxid = 0;
        member_ask_read(out, true);
    }
}

/* ---- IN: the own node stands, is watched, and has the data that are wanted ---- */

/* Begins anew: the own node is gone, and this member has not deleted it. */
static void member_begin_anew(struct member *m, struct machine_actions *out)
{
    member_report_out(m, out, MEMBER_TELL_DELETED);
    member_begin_creating(m, out);
}

/* Handles what a check shows. If somebody has written other data, they stay until the next
 * update. */
static void member_on_checked(struct member *m, const struct machine_event *ev,
                              const struct member_moment *moment, struct machine_actions *out)
{
    m->checks = m->later = false;
    if (!ev->own || ev->czxid != m->czxid)
        member_report_out(m, out, MEMBER_TELL_DELETED);
    if (!ev->own) {
        member_begin_waiting(m, out, ev->czxid);
        return;
    }
    if (ev->czxid != m->czxid) /* deleted, and made once more by a create that came late */
        member_begin_in(m, ev->czxid, ev->version);
    if (!m->sets)
        m->version = ev->version;
    if (moment->same && !m->sets && m->written != m->wanted)
        member_report_written(m, out, m->wanted);
}

/* Handles the answer to a set. If the node has another version, a set of ours whose answer was lost
 * has been done, or somebody else has written. */
static void member_on_set(struct member *m, const struct machine_event *ev,
                          struct machine_actions *out)
{
    if (ev->rc == STORE_OK) {
        m->version++;
        member_report_written(m, out, m->sent);
    } else if (ev->rc == STORE_NONODE) {
        member_begin_anew(m, out);
    } else if (ev->rc == STORE_BADVERSION || ev->rc == STORE_UNKNOWN) {
        member_check(m, out);
    } else {
        m->denied = m->sent;
        member_report(m, out, MEMBER_TELL_UNWRITTEN);
    }
}

static void member_step_in(struct member *m, const struct machine_event *ev,
                           const struct member_moment *moment, struct machine_actions *out)
{
    switch (ev->kind) {
    case MEMBER_EV_LEAVE:
        member_report_out(m, out, MEMBER_TELL_LEAVES);
        member_update_settles(m, moment);
        member_begin_leaving(m, out, m->czxid);
        break;
    case MACHINE_EV_TIMER:
        if (m->later && !m->checks)
            member_check(m, out);
        break;
    case MACHINE_EV_FIRED:
        if (ev->gone)
            member_begin_anew(m, out);
        else
            member_check(m, out);
        break;
    case MACHINE_EV_ANSWER:
        if (ev->verb == STORE_SET) {
            member_on_set(m, ev, out);
        } else if (ev->rc == STORE_OK) {
            member_on_checked(m, ev, moment, out);
        } else if (ev->rc == STORE_NONODE) {
            member_begin_anew(m, out);
        } else {
            /* The check was refused, and is tried again later. No watch stands until then: the
             * deadline alone tells that the node may be gone. */
            m->checks = false;
            m->later = true;
            machine_act(out, MACHINE_ACT_ARM)->at =
                moment->now + BACK_OFF_LAST_MS * INT64_C(1000000);
        }
        break;
    default:
        break;
    }
}

/* Tells the user whether the member is in, out or suspect, if that has changed. */
static void member_report_standing(struct member *m, const struct member_moment *moment,
                                   struct machine_actions *out)
{
    if (m->told_in && !moment->valid) {
        member_report_out(m, out, MEMBER_TELL_DEADLINE);
        if (m->later && !m->checks) /* no watch will tell whether it still stands */
            member_check(m, out);
    }
    if (m->state != MEMBER_IN || !moment->valid)
        return;
    if (!m->told_in && m->checks && m->told_czxid == m->czxid)
        return; /* it was told to be out: the answer to the check tells more */
    if (!m->told_in) {
        member_report(m, out, MEMBER_TELL_JOINED);
        m->told_in = true;
        m->told_czxid = m->czxid;
    }
    if (m->told_suspect != moment->suspect)
        member_report(m, out, moment->suspect ? MEMBER_TELL_SUSPECT : MEMBER_TELL_PROVED);
    m->told_suspect = moment->suspect;
}

/* Writes the newest data, if the member is in and nothing is in the way. */
static void member_pursue_data(struct member *m, struct machine_actions *out)
{
    struct machine_action *a;

    if (m->state != MEMBER_IN || m->sets || m->checks || m->written == m->wanted ||
        m->denied == m->wanted)
        return;
    m->sets = true;
    m->sent = m->wanted;
    a = member_ask_once(m, out, STORE_SET);
    a->slot = MEMBER_SLOT_SET;
    a->version = m->version;
}

/* ---- LEAVING, PASSING, SETTLING: the own node is deleted, once ---- */

/* Asks whose the node is, before it is deleted once more. */
static void member_settle(struct member *m, struct machine_actions *out)
{
    member_move(m, MEMBER_SETTLING);
    member_ask_read(out, false);
}

static void member_step_ending(struct member *m, const struct machine_event *ev,
                               const struct member_moment *moment, struct machine_actions *out)
{
    if (ev->kind == MACHINE_EV_TIMER && m->later) {
        member_update_settles(m, moment);
        member_settle(m, out);
    } else if (ev->kind != MACHINE_EV_ANSWER) {
        return;
    } else if (m->state == MEMBER_PASSING) {
        member_settle(m, out);
    } else if (ev->rc == STORE_OK && m->state == MEMBER_SETTLING && ev->own) {
        member_begin_leaving(m, out, ev->czxid);
    } else if (ev->rc == STORE_OK || ev->rc == STORE_NONODE) {
        member_finish(m, out);
    } else if (ev->rc == STORE_UNKNOWN) {
        member_move(m, MEMBER_PASSING);
        machine_ask_quorum(out, MEMBER_NODE_UNWRITTEN);
    } else { /* it may not see whose the node is, or may not delete it */
        member_try_later(m, moment, out);
    }
}

/* ---- PARTING: the servers may not have heard of the session's end yet ---- */

static void member_begin_parting(struct member *m, struct machine_actions *out)
{
    member_move(m, MEMBER_PARTING);
    member_ask_read(out, true);
}

/* ---- one step ---- */

static void member_on_session(struct member *m, struct machine_actions *out)
{
    if (m->state == MEMBER_OUT)
        return;
    m->stands = m->sets = false;
    m->settles = 0;
    member_report_out(m, out, MEMBER_TELL_SESSION);
    if (m->state == MEMBER_PARTING || (member_is_ending(m) && m->later))
        member_begin_parting(m, out);
    else if (m->leaves || member_is_ending(m))
        member_finish(m, out);
    else
        member_begin_creating(m, out);
}

static void member_step_in_state(struct member *m, const struct machine_event *ev,
                                 const struct member_moment *moment, struct machine_actions *out)
{
    switch (m->state) {
    case MEMBER_OUT:
        if (ev->kind == MEMBER_EV_LEAVE) {
            member_finish(m, out);
        } else if (ev->kind == MACHINE_EV_BEGIN) {
            if (m->wanted == 0)
                m->wanted = 1;
            member_begin_creating(m, out);
        }
        break;
    case MEMBER_CREATING:
        member_step_creating(m, ev, moment, out);
        break;
    case MEMBER_READING:
        member_step_reading(m, ev, moment, out);
        break;
    case MEMBER_WAITING:
        member_step_waiting(m, ev, moment, out);
        break;
    case MEMBER_BACKED_OFF:
        if (ev->kind == MEMBER_EV_LEAVE)
            member_leave_if_any(m, out);
        else if (ev->kind == MACHINE_EV_TIMER)
            member_begin_creating(m, out);
        break;
    case MEMBER_IN:
        member_step_in(m, ev, moment, out);
        break;
    case MEMBER_PARTING:
        if (ev->kind == MACHINE_EV_FIRED && !ev->gone)
            member_begin_parting(m, out);
        else if (ev->kind == MACHINE_EV_FIRED ||
                 (ev->kind == MACHINE_EV_ANSWER && (ev->rc != STORE_OK || ev->czxid != m->czxid)))
            member_finish(m, out);
        break;
    default:
        member_step_ending(m, ev, moment, out);
        break;
    }
}

/* Learns what every answer shows, in every state. A member that may not read its node cannot read
 * it before a set or delete: it sends these on any connection. */
static void member_learn_answer(struct member *m, const struct machine_event *ev,
                                struct machine_actions *out)
{
    const bool refused = m->state != MEMBER_PASSING && m->state != MEMBER_PARTING &&
                         ev->rc != STORE_OK && ev->rc != STORE_NONODE && ev->rc != STORE_EXISTS &&
                         ev->rc != STORE_BADVERSION && ev->rc != STORE_UNKNOWN;

    if (refused)
        machine_tell(out, MEMBER_TELL_REFUSED, ev->rc);
    if (m->state != MEMBER_PASSING && m->settles < ev->late_until)
        m->settles = ev->late_until;
    if (ev->verb != STORE_GET)
        return;
    if (ev->rc == STORE_OK && ev->own)
        m->seen = ev->connection;
    else if (refused)
        m->seen = 0;
}

/* Handles the answer to a set. Returns true if nothing else is to be done: the set was of a node
 * that the member no longer has. */
static bool member_learn_set(struct member *m, const struct machine_event *ev,
                             struct machine_actions *out)
{
    if (ev->slot != MEMBER_SLOT_SET)
        return false;
    m->sets = false;
    if (m->state == MEMBER_IN)
        return false;
    if (m->settles < ev->late_until)
        m->settles = ev->late_until;
    if (m->later)
        member_settle_later(m, out);
    return true;
}

void member_step(struct member *m, const struct machine_event *ev,
                 const struct member_moment *moment, struct machine_actions *out)
{
    const bool answer = ev->kind == MACHINE_EV_ANSWER;

    if (answer && member_learn_set(m, ev, out))
        return;
    if (answer)
        member_learn_answer(m, ev, out);
    if (ev->kind == MEMBER_EV_UPDATE) {
        m->wanted = m->wanted == UINT32_MAX ? 1 : m->wanted + 1;
    } else if (m->state == MEMBER_OVER) {
        return;
    } else if (ev->kind == MACHINE_EV_OVER) {
        member_report_out(m, out, MEMBER_TELL_LEAVES);
        member_finish(m, out);
    } else if (ev->kind == MACHINE_EV_SESSION) {
        member_on_session(m, out);
    } else {
        member_step_in_state(m, ev, moment, out);
    }
    member_report_standing(m, moment, out);
    member_pursue_data(m, out);
    assert(member_invariant(m));
}
