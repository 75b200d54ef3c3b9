#include "attempt_play.h"

#include "recipes/rule.h"
#include "runner.h"

static struct {
    struct attempt before;
    struct play_event h; /* that is heard */
    uint32_t ahead;      /* how many it waits for, as the last list said and what was heard since */
    bool silent; /* the watch on the own node was confirmed, on this connection, and did not fire */
    uint32_t silent_on;
    bool related; /* the predecessor is of the same session */
} step;

/* The answer that is likely, if it is awaited; or another. */
static enum play_row promises_likely_answer(enum play_row often, enum play_row seldom)
{
    return play_awaits(often) ? often : seldom;
}

static enum play_row promises_likely_of_holder(uint32_t choice)
{
    static const enum play_row holding[] = {PLAY_TIMER,           PLAY_READ,          PLAY_OWN,
                                            PLAY_DEADLINE_PASSED, PLAY_RELEASE,       PLAY_LOOK,
                                            PLAY_LOOKED,          PLAY_CHILDREN_FIRED};
    const enum play_row row = holding[choice % (sizeof(holding) / sizeof(*holding))];

    if (play_awaits(PLAY_WRITTEN_LOOK) && choice % 3 == 0)
        return PLAY_WRITTEN_LOOK;
    if (play_awaits(PLAY_LIMITED_LOOK) && choice % 2)
        return PLAY_LIMITED_LOOK;
    return row;
}

static enum play_row promises_likely_to_enter(uint32_t choice)
{
    switch (play.c.state) {
    case ST_PARENTS:
        return play_awaits(PLAY_ABOVE) && choice % 4 ? PLAY_ABOVE : PLAY_PARENTS;
    case ST_SETTLING:
        return promises_likely_answer(PLAY_PASSED, PLAY_LISTED);
    case ST_RESETTING:
        return promises_likely_answer(PLAY_DIRECTORY, PLAY_RESET);
    case ST_LEAVING:
        return play_awaits(PLAY_CREATED)  ? PLAY_CREATED
               : play_awaits(PLAY_PASSED) ? PLAY_PASSED
               : play_awaits(PLAY_LISTED) ? PLAY_LISTED
                                          : PLAY_TIMER;
    case ST_LISTING:
        if (play_awaits(PLAY_WRITTEN))
            return PLAY_WRITTEN;
        return play_awaits(PLAY_LIMITED) && choice % 2 ? PLAY_LIMITED : PLAY_LISTED;
    default:
        return PLAY_ENTER;
    }
}

enum play_row promises_likely(uint32_t choice)
{
    switch (play.c.state) {
    case ST_CREATING:
        return PLAY_CREATED;
    case ST_ADOPTING:
        return PLAY_READ;
    case ST_WAITING:
        return choice % 5 == 0 ? PLAY_READ : choice % 2 ? PLAY_PRED : PLAY_WATCHED;
    case ST_FIRST:
        return choice % 3 == 0 ? PLAY_LIMIT_CHANGED : PLAY_CHILDREN_FIRED;
    case ST_SUCCEEDING:
        return choice % 4 == 0 ? PLAY_READ : PLAY_HINT;
    case ST_PROVING:
        return PLAY_READ;
    case ST_CLAIMING:
        return PLAY_EXTENDED;
    case ST_HOLDING:
        return promises_likely_of_holder(choice);
    case ST_LOST:
        return choice % 4 == 0 ? PLAY_TIMER : PLAY_RELEASE;
    case ST_DONE:
        return PLAY_READ;
    default:
        return promises_likely_to_enter(choice);
    }
}

/* Only what is sent once may be unknown, and the end of the session is an event of its own. */
bool promises_may_answer(enum play_row row, enum store_rc rc)
{
    return rc != STORE_GONE && (rc != STORE_UNKNOWN || row == PLAY_CREATED);
}

static bool promises_did(enum machine_action_kind kind, uint32_t node)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == kind && play.out.list[i].node == node)
            return true;
    return false;
}

static bool promises_did_arm(void)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == MACHINE_ACT_ARM)
            return true;
    return false;
}

static bool promises_said(enum attempt_verdict verdict)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == MACHINE_ACT_TELL && play.out.list[i].verdict == (int)verdict)
            return true;
    return false;
}

static bool promises_heard_ok(enum play_row row)
{
    return step.h.row == row && step.h.ev.rc == STORE_OK;
}

/* The session's end takes node and watches; a fired notice or a read tells that the node is gone.
 */
static bool promises_session_ended(void)
{
    return step.h.row == PLAY_REPLACED || step.h.row == PLAY_END;
}

static bool promises_own_fired(void)
{
    return step.h.row == PLAY_OWN || step.h.row == PLAY_NODE_GONE;
}

static bool promises_own_seen_gone(void)
{
    return step.h.row == PLAY_NODE_GONE || (step.h.row == PLAY_OWN && step.h.ev.gone) ||
           (step.h.row == PLAY_READ && (step.h.ev.rc == STORE_NONODE || !step.h.ev.own));
}

static bool promises_predecessor_seen_gone(void)
{
    return (step.h.row == PLAY_PRED && step.h.ev.gone) ||
           (step.h.row == PLAY_WATCHED && step.h.ev.rc == STORE_NONODE);
}

static void promises_note_own_watch(void)
{
    const bool asked = step.before.state == ST_WAITING || step.before.state == ST_ADOPTING;

    if (step.before.state == ST_LISTING)
        step.related = false;
    if (step.before.state == ST_WAITING && promises_heard_ok(PLAY_WATCHED))
        step.related = step.h.ev.own;
    if (step.before.state == ST_CREATING || promises_own_fired())
        step.silent = false;
    if (step.h.row == PLAY_READ && asked && step.h.ev.rc == STORE_OK && !promises_own_seen_gone()) {
        step.silent = true;
        step.silent_on = step.h.m.connection;
    }
}

/* The end of the only one ahead, when the own node would have been heard of. */
static bool promises_proved_by_silence(void)
{
    return step.before.state == ST_WAITING && promises_predecessor_seen_gone() && step.silent &&
           step.silent_on == step.h.m.connection && !step.related;
}

static bool promises_is_shared(enum child_kind kind)
{
    return kind == CHILD_READ || kind == CHILD_WRITE;
}

/* Whether the contender does not wait for that child, of the kinds that the walk makes. */
static bool promises_is_passed_over(const struct child *o)
{
    return o->kind == CHILD_FOREIGN ||
           (rule_kind(step.before.rule) == CHILD_READ && o->kind == CHILD_READ);
}

static bool promises_may_be_together(const struct child *o)
{
    if (step.before.rule == RULE_LEASE)
        return o->kind == CHILD_LEASE;
    return o->kind == CHILD_LOCK ||
           (promises_is_shared(rule_kind(step.before.rule)) && promises_is_shared(o->kind));
}

/* The last number does where the own one is of the lower half. */
static bool promises_stands_before(const struct child *o)
{
    return o->number <= step.before.number ||
           (o->number == INT32_MAX && step.before.number < INT32_MAX / 2);
}

/* Counts those before the own node, by looking at each child alone; UINT32_MAX when the own node is
 * not there. */
static uint32_t promises_count_ahead(void)
{
    uint32_t ahead = 0;
    bool present = false;
    for (size_t i = 0; i < step.h.ev.count; i++) {
        const struct child *o = &step.h.m.children[i];
        if (o->kind != CHILD_FOREIGN && o->own)
            present |= o->number == step.before.number;
        else if (!promises_is_passed_over(o))
            ahead += promises_stands_before(o);
    }
    return present ? ahead : UINT32_MAX;
}

/* The one ahead, of one, says that it retains. */
static bool promises_only_one_retains(void)
{
    for (size_t i = 0; i < step.h.ev.count; i++) {
        const struct child *o = &step.h.m.children[i];
        if (o->kind != CHILD_FOREIGN && !o->own && o->retains && promises_stands_before(o))
            return promises_count_ahead() == 1;
    }
    return false;
}

/* One that tries waits for that one alone, with a limit, and once. */
static bool promises_waits_in_a_try(void)
{
    if (play.c.state != ST_WAITING || !play.c.try_only)
        return false;
    if (step.before.state == ST_WAITING)
        return step.h.row == PLAY_TIMER;
    return step.before.waited || !promises_only_one_retains() || !promises_did_arm();
}

/* Whether there is a child that is a reason to refuse. */
static bool promises_any_incompatible(void)
{
    for (size_t i = 0; i < step.h.ev.count; i++) {
        const struct child *o = &step.h.m.children[i];
        if ((step.before.strict && o->kind == CHILD_FOREIGN) ||
            (o->kind != CHILD_FOREIGN && !promises_may_be_together(o) && !o->own &&
             promises_stands_before(o)))
            return true;
    }
    return false;
}

/* A list that counts with the own node in it: refused or not, as its children say. */
static bool promises_refused_wrongly(void)
{
    const bool counts =
        step.before.state == ST_LISTING && promises_heard_ok(PLAY_LISTED) &&
        promises_count_ahead() != UINT32_MAX &&
        (play.c.rule != RULE_LEASE || play.c.counts || step.h.ev.mzxid == step.before.limit_zxid);
    bool refused = false;

    for (uint32_t i = 0; i < play.out.count; i++) {
        const struct machine_action *a = &play.out.list[i];
        refused |=
            a->kind == MACHINE_ACT_TELL && a->verdict == ATTEMPT_FAIL && a->why == ATTEMPT_LAYOUT;
    }
    return refused != (counts && promises_any_incompatible());
}

/* Whether a semaphore has room for all up to the own node, by this list of the limit's instant. */
static bool promises_is_room(void)
{
    uint64_t permits = step.before.permits;

    if (step.before.counts)
        return step.h.ev.count <= (size_t)step.before.limit;
    for (size_t i = 0; i < step.h.ev.count; i++) {
        const struct child *o = &step.h.m.children[i];
        if (o->kind == CHILD_LEASE && !o->own && promises_stands_before(o))
            permits += o->permits;
    }
    return permits <= (uint64_t)step.before.limit && step.h.ev.mzxid == step.before.limit_zxid;
}

static bool promises_out_of_turn(void)
{
    const enum attempt_state from = step.before.state, to = play.c.state;
    const bool served = to == ST_PROVING || to == ST_CLAIMING || to == ST_HOLDING;

    if (play.c.rule == RULE_LEASE)
        return from == ST_LISTING && served && !promises_is_room();
    if (from == ST_LISTING && step.h.row == PLAY_LISTED)
        step.ahead = promises_count_ahead();
    if (from == ST_WAITING && promises_predecessor_seen_gone() && step.ahead > 0 &&
        !promises_is_shared(rule_kind(step.before.rule)))
        step.ahead--;
    if (from == ST_SUCCEEDING && promises_heard_ok(PLAY_HINT) && step.h.m.hint == HINT_NAMED)
        step.ahead = 0;
    return from != to && served && step.ahead > 0;
}

/* A list that is heard and has left a watch on the children. */
static bool promises_left_watch(void)
{
    return (promises_heard_ok(PLAY_LISTED) || promises_heard_ok(PLAY_LOOKED)) && step.h.ev.watched;
}

static bool promises_shows_own(void)
{
    for (size_t i = 0; i < step.h.ev.count; i++)
        if (step.h.m.children[i].own)
            return true;
    return false;
}

/* That watch is of use, or ends with the own node, which was there before it. */
static bool promises_keeps_watch(void)
{
    const struct attempt *c = &play.c;
    const bool gives_back = step.h.row == PLAY_LOOKED && c->others == OTHERS_WAIT;

    return promises_shows_own() &&
           (c->others == OTHERS_NONE || c->first || c->state == ST_DONE || gives_back);
}

/* A holder that believes that nobody waits hears of a contender that comes. */
static bool promises_alone_without_reason(void)
{
    if (play.c.others != OTHERS_NONE || play.c.state == ST_DONE || play.c.state == ST_LOST)
        return false;
    return step.h.row == PLAY_CHILDREN_FIRED ||
           (step.before.others != OTHERS_NONE && !promises_left_watch());
}

/* What a list tells a reader is no news to it only if it looks. */
static bool promises_told_of_children(void)
{
    return promises_said(ATTEMPT_OTHERS) || step.before.others == OTHERS_WAIT ||
           ((rule_kind(play.c.rule) == CHILD_READ || play.c.rule == RULE_LEASE) && play.c.looking);
}

static const char *promises_children_watched_wrongly(void)
{
    const bool dropped = promises_did(MACHINE_ACT_UNWATCH, ATTEMPT_CHILDREN),
               told = play.c.others == OTHERS_NONE || play.c.first;

    if (!promises_left_watch())
        return NULL;
    if (!dropped && !promises_keeps_watch())
        return "a watch on the children is left behind";
    return dropped && told && promises_shows_own() ? "nobody will tell who comes" : NULL;
}

/* The end takes all watches. */
static const char *promises_left_behind(void)
{
    const struct attempt *b = &step.before, *c = &play.c;
    const bool created = step.h.row == PLAY_CREATED;

    if (b->creating && !created && c->state != b->state && c->state != ST_DONE &&
        !promises_did(MACHINE_ACT_RECALL, ATTEMPT_NEW))
        return "a create may still be sent";
    if (promises_session_ended())
        return NULL;
    if ((b->has_node || promises_heard_ok(PLAY_CREATED)) && !c->has_node &&
        !promises_did(MACHINE_ACT_DELETE, ATTEMPT_OWN) && !promises_own_seen_gone())
        return "a node is left behind";
    if (b->watching && !c->watching && !promises_did(MACHINE_ACT_UNWATCH, ATTEMPT_PREDECESSOR) &&
        !promises_predecessor_seen_gone())
        return "a watch is left behind";
    if (b->limit_watched && !c->limit_watched &&
        !promises_did(MACHINE_ACT_UNWATCH, ATTEMPT_LIMIT) && step.h.row != PLAY_LIMIT_CHANGED &&
        step.h.row != PLAY_DOUBT)
        return "a watch on the limit is left behind";
    return NULL;
}

static const char *promises_granted_wrongly(void)
{
    const enum play_row row = step.h.row;
    const bool granted = promises_said(ATTEMPT_GRANT);

    if (promises_did(MACHINE_ACT_NOTE, ATTEMPT_HINT) &&
        (!granted || (row == PLAY_LISTED && step.h.m.hint == HINT_FOREIGN)))
        return "hinted without being the head, or in place of others' data";
    if (!granted)
        return NULL;
    if (!step.h.m.in_time)
        return "granted without a deadline";
    if (promises_proved_by_silence() || row == PLAY_EXTENDED)
        return NULL;
    if (row != PLAY_LISTED && row != PLAY_READ)
        return "granted without a proof";
    return step.h.ev.rc != STORE_OK ? "granted on a failure" : NULL;
}

static const char *promises_broken(void)
{
    const struct attempt *b = &step.before, *c = &play.c;
    const bool deletes = promises_did(MACHINE_ACT_DELETE, ATTEMPT_OWN);

    if (promises_alone_without_reason())
        return "thought to be alone";
    if (step.h.row == PLAY_CHILDREN_FIRED && b->state == ST_HOLDING && !promises_told_of_children())
        return "not told of others";
    if (b->state == ST_HOLDING && c->token != b->token)
        return "the token changed";
    if (promises_out_of_turn())
        return "served out of turn";
    if (promises_waits_in_a_try())
        return "one that tries waits";
    if (promises_refused_wrongly())
        return "refused for its neighbours without reason, or not with one";
    if (promises_said(ATTEMPT_LOSE) && deletes)
        return "the node goes before the callbacks";
    if (b->state == ST_LOST && deletes && step.h.row != PLAY_RELEASE && step.h.row != PLAY_TIMER)
        return "the node goes while the callbacks run";
    return NULL;
}

const char *promises_give(const struct play_event *h)
{
    const char *broken[4];

    step.before = play.c;
    step.h = *h;
    if (!play_give(h, __FILE__, __LINE__))
        return NULL;
    promises_note_own_watch();
    broken[0] = promises_left_behind();
    broken[1] = promises_children_watched_wrongly();
    broken[2] = promises_granted_wrongly();
    broken[3] = promises_broken(); /* which notes whose turn it is: always */
    for (int i = 0; i < 4; i++)
        if (broken[i])
            return broken[i];
    return NULL;
}

const char *promises_end(void)
{
    static const enum play_row ends[] = {PLAY_ENTER, PLAY_ABORT, PLAY_RELEASE, PLAY_REPLACED};

    for (size_t i = 0; i < 4; i++) {
        const struct play_event h = play_event_of(ends[i]);
        const char *broken = promises_give(&h);
        if (broken)
            return broken;
    }
    if (play.c.state != ST_DONE)
        return "the attempt does not end";
    if (play.grants + play.fails != 1)
        return "the caller is not told once";
    return play.losses > play.grants ? "lost what was not granted" : NULL;
}
