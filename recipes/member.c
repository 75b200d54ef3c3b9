/* The diagram is in member.h. member_step() hands an event to the phase that the member is in,
 * unless all phases take it in the same way. */
#include "member.h"

#include <assert.h>

#include "back_off.h"

/* A set of states is the sum of these. */
#define BIT(state) (1U << (state))

/* Another session begins anew, or ends what was ending. */
#define ANEW (BIT(MEMBER_CREATING) | BIT(MEMBER_OVER))

static const struct {
    const char *name;
    uint32_t next;
} table[MEMBER_STATES] = {
    [MEMBER_OUT] = {"out", ANEW},
    [MEMBER_CREATING] = {"creating", ANEW | BIT(MEMBER_READING) | BIT(MEMBER_IN) |
                                         BIT(MEMBER_LEAVING) | BIT(MEMBER_BACKED_OFF)},
    [MEMBER_READING] = {"reading", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_WAITING) |
                                       BIT(MEMBER_LEAVING) | BIT(MEMBER_BACKED_OFF)},
    [MEMBER_WAITING] = {"waiting", ANEW | BIT(MEMBER_READING)},
    [MEMBER_IN] = {"in", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_WAITING) | BIT(MEMBER_LEAVING)},
    [MEMBER_BACKED_OFF] = {"backed off", ANEW | BIT(MEMBER_READING)},
    [MEMBER_LEAVING] = {"leaving", BIT(MEMBER_PASSING) | BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
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

static bool is_ending(const struct member *m)
{
    return m->state == MEMBER_LEAVING || m->state == MEMBER_PASSING || m->state == MEMBER_SETTLING;
}

bool member_invariant(const struct member *m)
{
    if ((m->told_in || m->checks || m->sets) && m->state != MEMBER_IN)
        return false;
    if (m->refused && m->state != MEMBER_IN && m->state != MEMBER_READING && !is_ending(m))
        return false;
    if (m->told_in && m->told_czxid != m->czxid)
        return false;
    if (m->told_suspect && !m->told_in)
        return false;
    if ((m->czxid != 0) != (m->state == MEMBER_IN || m->state == MEMBER_WAITING || is_ending(m)))
        return false;
    if (m->leaves && m->state != MEMBER_CREATING && m->state != MEMBER_READING)
        return false;
    return (m->back_off_ms != 0) == m->told_failed;
}

static void move(struct member *m, enum member_state to)
{
    assert(member_may_move(m->state, to));
    m->state = to;
    m->checks = m->sets = m->refused = false;
}

static struct member_action *act(struct member_actions *out, enum member_action_kind kind)
{
    assert(out->count < MEMBER_ACTIONS);
    struct member_action *a = &out->list[out->count++];
    *a = (struct member_action){.kind = kind};
    return a;
}

/* The answer to this action is awaited; those to earlier ones are stale. */
static struct member_action *act_tagged(struct member *m, struct member_actions *out,
                                        enum member_action_kind kind)
{
    struct member_action *a = act(out, kind);

    a->tag = ++m->tag;
    return a;
}

/* ---- what the user is told ---- */

static void report(const struct member *m, struct member_actions *out, enum member_tell what)
{
    struct member_action *a = act(out, MEMBER_ACT_TELL);

    a->tell = what;
    a->czxid = m->czxid;
}

static void report_written(struct member *m, struct member_actions *out, uint32_t what)
{
    m->written = what;
    report(m, out, MEMBER_TELL_WRITTEN);
}

/* Whatever is told of the own node is told before anything else happens to it. */
static void report_out(struct member *m, struct member_actions *out, enum member_why why)
{
    if (!m->told_in)
        return;
    report(m, out, MEMBER_TELL_OUT);
    out->list[out->count - 1].why = why;
    m->told_in = m->told_suspect = false;
}

/* ---- what several phases lead to ---- */

static void read_watching(struct member *m, struct member_actions *out)
{
    act_tagged(m, out, MEMBER_ACT_READ)->watch = true;
}

static void begin_creating(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        act(out, MEMBER_ACT_DISARM);
    move(m, MEMBER_CREATING);
    m->czxid = 0;
    m->sent = m->wanted;
    act_tagged(m, out, MEMBER_ACT_CREATE);
}

/* The read that has shown it left a watch. */
static void begin_waiting(struct member *m, struct member_actions *out, uint64_t czxid)
{
    move(m, MEMBER_WAITING);
    m->czxid = czxid;
    if (m->told_busy != czxid)
        report(m, out, MEMBER_TELL_BUSY);
    m->told_busy = czxid;
}

static void begin_in(struct member *m, uint64_t czxid, int32_t version)
{
    move(m, MEMBER_IN);
    m->czxid = czxid;
    m->version = version;
    m->written = m->denied = 0;
    m->back_off_ms = 0;
    m->told_failed = false;
    m->told_busy = 0;
}

static void begin_leaving(struct member *m, struct member_actions *out, uint64_t czxid)
{
    move(m, MEMBER_LEAVING);
    m->czxid = czxid;
    m->leaves = false;
    act(out, MEMBER_ACT_IGNORE);
    act_tagged(m, out, MEMBER_ACT_DELETE);
}

/* The user is told once; the pauses between the tries get longer. */
static void try_later(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->refused = m->leaves || is_ending(m);
    m->back_off_ms = back_off_next(m->back_off_ms);
    act(out, MEMBER_ACT_ARM)->at = ev->now + m->back_off_ms * 1000000;
    if (!m->told_failed)
        report(m, out, MEMBER_TELL_FAILED);
    m->told_failed = true;
}

static void finish(struct member *m, struct member_actions *out)
{
    move(m, MEMBER_OVER);
    m->czxid = 0;
    m->leaves = false;
    act(out, MEMBER_ACT_DISARM);
    act(out, MEMBER_ACT_IGNORE);
    act(out, MEMBER_ACT_OVER);
}

/* ---- OUT ---- */

static void step_out(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE) {
        finish(m, out);
    } else if (ev->kind == MEMBER_EV_BEGIN) {
        if (m->wanted == 0)
            m->wanted = 1;
        begin_creating(m, out);
    }
}

/* ---- CREATING ---- */

static void on_created(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves) {
        begin_leaving(m, out, ev->czxid);
        return;
    }
    begin_in(m, ev->czxid, 0);
    report_written(m, out, m->sent);
    m->checks = true;
    read_watching(m, out);
}

/* Perhaps by a create of ours whose answer was lost. */
static void on_exists(struct member *m, struct member_actions *out)
{
    m->stands = true;
    move(m, MEMBER_READING);
    act_tagged(m, out, MEMBER_ACT_READ)->watch = !m->leaves;
}

/* There may be a node of ours, by a create that was not answered. */
static void leave_if_any(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        act(out, MEMBER_ACT_DISARM);
    m->leaves = true;
    move(m, MEMBER_READING);
    act_tagged(m, out, MEMBER_ACT_READ);
}

static void back_off(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    move(m, MEMBER_BACKED_OFF);
    try_later(m, ev, out);
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

/* ---- READING ---- */

static void on_read(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves) {
        if (ev->own)
            begin_leaving(m, out, ev->czxid);
        else
            finish(m, out);
    } else if (ev->own) {
        begin_in(m, ev->czxid, ev->version);
        if (ev->same)
            report_written(m, out, m->wanted);
    } else {
        begin_waiting(m, out, ev->czxid);
    }
}

static void on_no_node(struct member *m, struct member_actions *out)
{
    m->stands = false;
    if (m->leaves)
        finish(m, out);
    else
        begin_creating(m, out);
}

/* Who may not see whose a node is does not delete it. If it may be the own one, it looks again. */
static void on_not_seen(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (!m->leaves)
        back_off(m, ev, out);
    else if (m->stands)
        try_later(m, ev, out);
    else
        finish(m, out);
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
        act_tagged(m, out, MEMBER_ACT_READ);
}

/* ---- WAITING ---- */

/* What has changed may be another's by now. */
static void look_again(struct member *m, struct member_actions *out)
{
    move(m, MEMBER_READING);
    m->czxid = 0;
    read_watching(m, out);
}

static void step_waiting(struct member *m, const struct member_event *ev,
                         struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE)
        finish(m, out);
    else if (ev->kind == MEMBER_EV_FIRED && ev->gone)
        begin_creating(m, out);
    else if (ev->kind == MEMBER_EV_FIRED)
        look_again(m, out);
}

/* ---- BACKED_OFF ---- */

static void step_backed_off(struct member *m, const struct member_event *ev,
                            struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_LEAVE)
        leave_if_any(m, out);
    else if (ev->kind == MEMBER_EV_TIMER)
        begin_creating(m, out);
}

/* ---- IN: the own node stands, is watched, and has the data that are wanted ---- */

/* The own node is not there any more, for another reason than ours. */
static void go_on_without(struct member *m, struct member_actions *out)
{
    report_out(m, out, MEMBER_WHY_DELETED);
    begin_creating(m, out);
}

/* Whether the own node is as it was. */
static void check(struct member *m, struct member_actions *out)
{
    m->checks = true;
    read_watching(m, out);
}

static void on_fired(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->gone)
        go_on_without(m, out);
    else
        check(m, out);
}

/* Somebody may have written other data: those stay until the next update. */
static void on_checked(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->checks = m->refused = false;
    if (!ev->own || ev->czxid != m->czxid)
        report_out(m, out, MEMBER_WHY_DELETED);
    if (!ev->own) {
        begin_waiting(m, out, ev->czxid);
        return;
    }
    if (ev->czxid != m->czxid) /* deleted, and made once more by a create that came late */
        begin_in(m, ev->czxid, ev->version);
    if (!m->sets)
        m->version = ev->version;
    if (ev->same && !m->sets && m->written != m->wanted)
        report_written(m, out, m->wanted);
}

static void on_set(struct member *m, struct member_actions *out)
{
    m->sets = false;
    m->version++;
    report_written(m, out, m->sent);
}

/* By a set of ours whose answer was lost, or by somebody else. */
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
        report(m, out, MEMBER_TELL_UNWRITTEN);
    } else {
        m->checks = false; /* without a watch: the deadline has to do meanwhile */
        m->refused = true;
        act(out, MEMBER_ACT_ARM)->at = ev->now + BACK_OFF_LAST_MS * INT64_C(1000000);
    }
}

static void step_in(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    switch (ev->kind) {
    case MEMBER_EV_LEAVE:
        report_out(m, out, MEMBER_WHY_LEFT);
        begin_leaving(m, out, m->czxid);
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
        on_checked(m, ev, out);
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

static void report_standing(struct member *m, const struct member_event *ev,
                            struct member_actions *out)
{
    if (m->told_in && !ev->valid) {
        report_out(m, out, MEMBER_WHY_DEADLINE);
        if (m->refused && !m->checks) /* no watch will tell whether it still stands */
            check(m, out);
    }
    if (m->state != MEMBER_IN || !ev->valid)
        return;
    if (!m->told_in && m->checks && m->told_czxid == m->czxid) /* out meanwhile: the answer tells */
        return;
    if (!m->told_in) {
        report(m, out, MEMBER_TELL_JOINED);
        m->told_in = true;
        m->told_czxid = m->czxid;
    }
    if (m->told_suspect != ev->suspect)
        report(m, out, ev->suspect ? MEMBER_TELL_SUSPECT : MEMBER_TELL_PROVED);
    m->told_suspect = ev->suspect;
}

static void pursue_data(struct member *m, struct member_actions *out)
{
    if (m->state != MEMBER_IN || m->sets || m->checks || m->written == m->wanted ||
        m->denied == m->wanted)
        return;
    m->sets = true;
    m->sent = m->wanted;
    m->set_tag = ++m->tag;
    struct member_action *a = act(out, MEMBER_ACT_SET);
    a->tag = m->set_tag;
    a->version = m->version;
}

/* ---- LEAVING, PASSING, SETTLING: the own node is deleted, once ---- */

/* Whose the node is, before it is deleted once more. */
static void settle(struct member *m, struct member_actions *out)
{
    move(m, MEMBER_SETTLING);
    act_tagged(m, out, MEMBER_ACT_READ);
}

static void step_leaving(struct member *m, const struct member_event *ev,
                         struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_DELETED || ev->kind == MEMBER_EV_NO_NODE) {
        finish(m, out);
    } else if (ev->kind == MEMBER_EV_UNKNOWN) {
        move(m, MEMBER_PASSING);
        act_tagged(m, out, MEMBER_ACT_PASS);
    }
}

static void step_settling(struct member *m, const struct member_event *ev,
                          struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_READ && ev->own && ev->czxid == m->czxid)
        begin_leaving(m, out, m->czxid);
    else if (ev->kind == MEMBER_EV_READ || ev->kind == MEMBER_EV_NO_NODE)
        finish(m, out);
}

/* Who may not see whose a node is, or not delete it, tries that later. */
static void step_ending(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->kind == MEMBER_EV_REFUSED)
        try_later(m, ev, out);
    else if (ev->kind == MEMBER_EV_TIMER && m->refused)
        settle(m, out);
    else if (m->state == MEMBER_LEAVING)
        step_leaving(m, ev, out);
    else if (m->state == MEMBER_PASSING && ev->kind == MEMBER_EV_PASSED)
        settle(m, out);
    else if (m->state == MEMBER_SETTLING)
        step_settling(m, ev, out);
}

/* ---- one step ---- */

static void on_stop(struct member *m, struct member_actions *out)
{
    report_out(m, out, MEMBER_WHY_LEFT);
    finish(m, out);
}

static void on_replaced(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_OUT)
        return;
    m->stands = false;
    report_out(m, out, MEMBER_WHY_SESSION);
    if (m->leaves || is_ending(m))
        finish(m, out);
    else
        begin_creating(m, out);
}

static void step_phase(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_OUT)
        step_out(m, ev, out);
    else if (m->state == MEMBER_CREATING)
        step_creating(m, ev, out);
    else if (m->state == MEMBER_READING)
        step_reading(m, ev, out);
    else if (m->state == MEMBER_WAITING)
        step_waiting(m, ev, out);
    else if (m->state == MEMBER_BACKED_OFF)
        step_backed_off(m, ev, out);
    else if (m->state == MEMBER_IN)
        step_in(m, ev, out);
    else
        step_ending(m, ev, out);
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
    report_standing(m, ev, out);
    pursue_data(m, out);
    assert(member_invariant(m));
}
