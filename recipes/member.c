#include "member.h"

#include <assert.h>

#include "back_off.h"

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
    [MEMBER_READING] = {"reading", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_JUDGING) |
                                       BIT(MEMBER_LEAVING) | BIT(MEMBER_BACKED_OFF)},
    [MEMBER_JUDGING] = {"judging",
                        ANEW | BIT(MEMBER_READING) | BIT(MEMBER_CLAIMING) | BIT(MEMBER_WAITING)},
    [MEMBER_CLAIMING] = {"claiming", ANEW},
    [MEMBER_WAITING] = {"waiting", ANEW | BIT(MEMBER_READING) | BIT(MEMBER_JUDGING)},
    [MEMBER_IN] = {"in", ANEW | BIT(MEMBER_IN) | BIT(MEMBER_JUDGING) | BIT(MEMBER_LEAVING)},
    [MEMBER_BACKED_OFF] = {"backed off", ANEW | BIT(MEMBER_READING)},
    [MEMBER_LEAVING] = {"leaving", BIT(MEMBER_LEAVING) | BIT(MEMBER_PASSING) | BIT(MEMBER_OVER)},
    [MEMBER_PASSING] = {"passing", BIT(MEMBER_SETTLING) | BIT(MEMBER_OVER)},
    [MEMBER_SETTLING] = {"settling", BIT(MEMBER_LEAVING) | BIT(MEMBER_OVER)},
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

static bool is_about_another(const struct member *m)
{
    return m->state == MEMBER_JUDGING || m->state == MEMBER_CLAIMING || m->state == MEMBER_WAITING;
}

bool member_invariant(const struct member *m)
{
    if ((m->told_in || m->checks || m->sets || m->marks) && m->state != MEMBER_IN)
        return false;
    if (m->marked && (m->marks || m->unmarked || (m->state != MEMBER_IN && !is_ending(m))))
        return false;
    if (m->told_in && m->told_czxid != m->czxid)
        return false;
    if (m->told_suspect && !m->told_in)
        return false;
    if ((m->czxid != 0) != (m->state == MEMBER_IN || is_ending(m) || is_about_another(m)))
        return false;
    if (m->leaves && m->state != MEMBER_CREATING && m->state != MEMBER_READING && !m->marks)
        return false;
    if (m->leaves && m->told_in)
        return false;
    return (m->back_off_ms != 0) == m->told_failed;
}

static struct member_action *act(struct member_actions *out, enum member_action_kind kind)
{
    assert(out->count < MEMBER_ACTIONS);
    struct member_action *a = &out->list[out->count++];
    *a = (struct member_action){.kind = kind};
    return a;
}

static struct member_action *ask(struct member *m, struct member_actions *out,
                                 enum member_action_kind kind)
{
    struct member_action *a = act(out, kind);

    a->tag = ++m->tag;
    a->czxid = m->czxid;
    return a;
}

static void tell(struct member *m, struct member_actions *out, enum member_tell what)
{
    struct member_action *a = act(out, MEMBER_ACT_TELL);

    a->tell = what;
    a->czxid = m->czxid;
}

/* Whatever is told of the own node is told before anything else happens to it. */
static void tell_out(struct member *m, struct member_actions *out, enum member_why why)
{
    if (!m->told_in)
        return;
    tell(m, out, MEMBER_TELL_OUT);
    out->list[out->count - 1].why = why;
    m->told_in = m->told_suspect = false;
}

static void move(struct member *m, enum member_state to)
{
    assert(member_may_move(m->state, to));
    m->state = to;
    m->checks = m->sets = m->marks = false;
    m->marked &= is_ending(m);
}

/* ---- beginning ---- */

static void create(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_WAITING || m->state == MEMBER_BACKED_OFF)
        act(out, MEMBER_ACT_DISARM);
    move(m, MEMBER_CREATING);
    m->czxid = 0;
    m->sent = m->wanted;
    ask(m, out, MEMBER_ACT_CREATE);
}

static void end(struct member *m, struct member_actions *out)
{
    move(m, MEMBER_OVER);
    m->czxid = 0;
    m->leaves = false;
    m->tag++;
    act(out, MEMBER_ACT_DISARM);
    act(out, MEMBER_ACT_IGNORE);
    act(out, MEMBER_ACT_OVER);
}

static void quit(struct member *m, struct member_actions *out, uint64_t czxid)
{
    move(m, MEMBER_LEAVING);
    m->czxid = czxid;
    m->leaves = false;
    act(out, MEMBER_ACT_IGNORE);
    ask(m, out, MEMBER_ACT_DELETE)->fenced = m->marked;
}

/* There may be a node of ours, by a create that was not answered. */
static void quit_if_any(struct member *m, struct member_actions *out)
{
    if (m->state == MEMBER_BACKED_OFF)
        act(out, MEMBER_ACT_DISARM);
    m->leaves = true;
    move(m, MEMBER_READING);
    ask(m, out, MEMBER_ACT_READ);
}

static void read_watching(struct member *m, struct member_actions *out)
{
    ask(m, out, MEMBER_ACT_READ)->watch = true;
}

static void enter(struct member *m, struct member_actions *out, uint64_t czxid, int32_t version)
{
    move(m, MEMBER_IN);
    m->czxid = czxid;
    m->version = version;
    m->written = m->denied = 0;
    m->back_off_ms = 0;
    m->told_failed = false;
    m->told_busy = 0;
    m->marks = !m->unmarked;
    if (m->marks)
        act(out, MEMBER_ACT_MARK)->czxid = czxid;
}

static void note_written(struct member *m, struct member_actions *out, uint32_t what)
{
    m->written = what;
    tell(m, out, MEMBER_TELL_WRITTEN);
}

/* The own node is not there any more, for another reason than ours. */
static void lose(struct member *m, struct member_actions *out)
{
    tell_out(m, out, MEMBER_WHY_DELETED);
    if (m->marked || m->marks)
        act(out, MEMBER_ACT_UNMARK)->czxid = m->czxid;
}

static void judge(struct member *m, struct member_actions *out, uint64_t czxid)
{
    move(m, MEMBER_JUDGING);
    m->czxid = czxid;
    ask(m, out, MEMBER_ACT_JUDGE);
}

static void go_on_without(struct member *m, struct member_actions *out)
{
    lose(m, out);
    if (m->leaves)
        end(m, out);
    else
        create(m, out);
}

/* ---- of the user and the session ---- */

static void on_begin(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state != MEMBER_OUT)
        return;
    if (m->wanted == 0)
        m->wanted = 1;
    create(m, out);
}

static void on_update(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    (void)out;
    m->wanted = m->wanted == UINT32_MAX ? 1 : m->wanted + 1;
}

static void on_leave(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state == MEMBER_CREATING || m->state == MEMBER_READING) {
        m->leaves = true;
    } else if (m->state == MEMBER_IN) {
        tell_out(m, out, MEMBER_WHY_LEFT);
        m->leaves = m->marks;
        if (!m->leaves)
            quit(m, out, m->czxid);
    } else if (m->state == MEMBER_BACKED_OFF) {
        quit_if_any(m, out);
    } else if (m->state != MEMBER_OVER && !is_ending(m)) {
        end(m, out);
    }
}

static void on_stop(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state == MEMBER_OVER)
        return;
    tell_out(m, out, MEMBER_WHY_LEFT);
    end(m, out);
}

static void on_replaced(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state == MEMBER_OUT || m->state == MEMBER_OVER)
        return;
    tell_out(m, out, MEMBER_WHY_SESSION);
    if (m->leaves || is_ending(m))
        end(m, out);
    else
        create(m, out);
}

/* What has to be told of that, conclude() tells. */
static void on_standing(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)m;
    (void)ev;
    (void)out;
}

static void on_timer(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state == MEMBER_WAITING)
        judge(m, out, m->czxid);
    else if (m->state == MEMBER_BACKED_OFF)
        create(m, out);
}

static void on_fired(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_IN && !ev->gone) {
        m->checks = true;
        read_watching(m, out);
    } else if (m->state == MEMBER_IN) {
        go_on_without(m, out);
    } else if (m->state != MEMBER_JUDGING && m->state != MEMBER_WAITING) {
        return; /* an answer is on its way that tells more */
    } else if (ev->gone) {
        create(m, out);
    } else {
        if (m->state == MEMBER_WAITING)
            act(out, MEMBER_ACT_DISARM);
        move(m, MEMBER_READING);
        m->czxid = 0;
        read_watching(m, out);
    }
}

/* ---- answers ---- */

static void on_created(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->leaves) {
        quit(m, out, ev->czxid);
        return;
    }
    enter(m, out, ev->czxid, 0);
    note_written(m, out, m->sent);
    m->checks = true;
    read_watching(m, out);
}

/* Perhaps by a create of ours whose answer was lost. */
static void on_exists(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    move(m, MEMBER_READING);
    ask(m, out, MEMBER_ACT_READ)->watch = !m->leaves;
}

static void read_first(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->leaves) {
        if (ev->own)
            quit(m, out, ev->czxid);
        else
            end(m, out);
    } else if (ev->own) {
        enter(m, out, ev->czxid, ev->version);
        if (ev->same)
            note_written(m, out, m->wanted);
    } else {
        judge(m, out, ev->czxid);
    }
}

/* Somebody may have written other data: those stay until the next update. */
static void read_again(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    m->checks = false;
    if (!ev->own || ev->czxid != m->czxid)
        lose(m, out);
    if (m->leaves && !ev->own) {
        end(m, out);
        return;
    }
    if (!ev->own) {
        judge(m, out, ev->czxid);
        return;
    }
    if (ev->czxid != m->czxid) /* deleted, and made once more by a create that came late */
        enter(m, out, ev->czxid, ev->version);
    if (!m->sets)
        m->version = ev->version;
    if (ev->same && !m->sets && m->written != m->wanted)
        note_written(m, out, m->wanted);
}

static void on_read(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_READING)
        read_first(m, ev, out);
    else if (m->state == MEMBER_IN)
        read_again(m, ev, out);
    else if (ev->own && ev->czxid == m->czxid)
        quit(m, out, m->czxid);
    else
        end(m, out);
}

static void on_no_node(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    if (m->state == MEMBER_IN)
        go_on_without(m, out);
    else if (m->leaves || is_ending(m))
        end(m, out);
    else
        create(m, out);
}

static void on_judged(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (ev->dead) {
        move(m, MEMBER_CLAIMING);
        ask(m, out, MEMBER_ACT_CLAIM);
        return;
    }
    move(m, MEMBER_WAITING);
    act(out, MEMBER_ACT_ARM)->at = ev->now + m->look_every;
    if (m->told_busy != m->czxid)
        tell(m, out, MEMBER_TELL_BUSY);
    m->told_busy = m->czxid;
}

static void on_claimed(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    create(m, out);
}

static void on_set(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    m->sets = false;
    m->version++;
    note_written(m, out, m->sent);
}

/* By a set of ours whose answer was lost, or by somebody else. */
static void on_outdated(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    m->sets = false;
    m->checks = true;
    read_watching(m, out);
}

static void on_deleted(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    end(m, out);
}

static void on_marked(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (!m->marks || ev->czxid != m->czxid)
        return;
    m->marks = false;
    m->marked = !ev->gone;
    if (m->leaves)
        quit(m, out, m->czxid);
}

/* Nobody can take the node for that of a dead process, so it needs no fence. */
static void on_unmarked(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    m->marked = m->sets = false;
    if (m->state == MEMBER_LEAVING)
        quit(m, out, m->czxid);
    else if (m->state == MEMBER_CLAIMING)
        create(m, out);
}

static void on_unknown(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_IN) {
        on_outdated(m, ev, out);
        return;
    }
    move(m, MEMBER_PASSING);
    ask(m, out, MEMBER_ACT_PASS);
}

static void on_passed(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    (void)ev;
    move(m, MEMBER_SETTLING);
    ask(m, out, MEMBER_ACT_READ);
}

/* Told once, and tried again less and less often. */
static void back_off(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    move(m, MEMBER_BACKED_OFF);
    m->tag++;
    m->back_off_ms = back_off_next(m->back_off_ms);
    act(out, MEMBER_ACT_ARM)->at = ev->now + m->back_off_ms * 1000000;
    if (!m->told_failed)
        tell(m, out, MEMBER_TELL_FAILED);
    m->told_failed = true;
}

/* Who may not see whose a node is does not delete it. */
static void on_refused(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->state == MEMBER_CREATING && m->leaves) {
        quit_if_any(m, out);
    } else if ((m->state == MEMBER_READING && m->leaves) || is_ending(m)) {
        end(m, out);
    } else if (m->state == MEMBER_IN && m->sets && ev->tag == m->set_tag) {
        m->sets = false;
        m->denied = m->sent;
        tell(m, out, MEMBER_TELL_UNWRITTEN);
    } else if (m->state == MEMBER_IN) {
        m->checks = false; /* without a watch: the deadline has to do */
    } else {
        back_off(m, ev, out);
    }
}

/* ---- what follows from each ---- */

static void pursue_data(struct member *m, struct member_actions *out)
{
    if (m->state != MEMBER_IN || m->leaves || m->sets || m->checks || m->marks ||
        m->written == m->wanted || m->denied == m->wanted)
        return;
    m->sets = true;
    m->sent = m->wanted;
    m->set_tag = ++m->tag;
    struct member_action *a = act(out, MEMBER_ACT_SET);
    a->tag = m->set_tag;
    a->version = m->version;
    a->fenced = m->marked;
    a->czxid = m->czxid;
}

static void conclude(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    if (m->told_in && !ev->valid)
        tell_out(m, out, MEMBER_WHY_DEADLINE);
    if (m->state != MEMBER_IN || !ev->valid || m->leaves)
        return;
    if (!m->told_in) {
        tell(m, out, MEMBER_TELL_JOINED);
        m->told_in = true;
        m->told_czxid = m->czxid;
    }
    if (m->told_suspect != ev->suspect)
        tell(m, out, ev->suspect ? MEMBER_TELL_SUSPECT : MEMBER_TELL_PROVED);
    m->told_suspect = ev->suspect;
}

static bool is_answer(enum member_event_kind kind)
{
    return kind >= MEMBER_EV_CREATED;
}

void member_step(struct member *m, const struct member_event *ev, struct member_actions *out)
{
    static void (*const handlers[])(struct member * m, const struct member_event *ev,
                                    struct member_actions *out) = {
        [MEMBER_EV_BEGIN] = on_begin,       [MEMBER_EV_UPDATE] = on_update,
        [MEMBER_EV_LEAVE] = on_leave,       [MEMBER_EV_STOP] = on_stop,
        [MEMBER_EV_REPLACED] = on_replaced, [MEMBER_EV_STANDING] = on_standing,
        [MEMBER_EV_TIMER] = on_timer,       [MEMBER_EV_FIRED] = on_fired,
        [MEMBER_EV_MARKED] = on_marked,     [MEMBER_EV_UNMARKED] = on_unmarked,
        [MEMBER_EV_CREATED] = on_created,   [MEMBER_EV_EXISTS] = on_exists,
        [MEMBER_EV_READ] = on_read,         [MEMBER_EV_NO_NODE] = on_no_node,
        [MEMBER_EV_JUDGED] = on_judged,     [MEMBER_EV_CLAIMED] = on_claimed,
        [MEMBER_EV_SET] = on_set,           [MEMBER_EV_OUTDATED] = on_outdated,
        [MEMBER_EV_DELETED] = on_deleted,   [MEMBER_EV_UNKNOWN] = on_unknown,
        [MEMBER_EV_PASSED] = on_passed,     [MEMBER_EV_REFUSED] = on_refused,
    };
    const bool of_set = m->sets && ev->tag == m->set_tag;

    out->count = 0;
    if (is_answer(ev->kind) && ev->tag != m->tag && !of_set)
        return;
    handlers[ev->kind](m, ev, out);
    conclude(m, ev, out);
    pursue_data(m, out);
    assert(member_invariant(m));
}
