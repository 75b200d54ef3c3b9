#include "attempt_promises.h"

#include "recipes/rule.h"
#include "runner.h"

static struct {
    struct attempt before;
    struct event ev;
    uint32_t ahead; /* how many it waits for, as the last list said and what was heard since */
    bool silent; /* the watch on the own node was confirmed, on this connection, and did not fire */
    uint32_t silent_on;
    bool related; /* the predecessor is of the same session */
} step;

enum event_kind promises_likely(uint32_t choice)
{
    static const enum event_kind holding[] = {EV_TIMER,   EV_READ, EV_OWN_FIRED, EV_LAPSED,
                                              EV_RELEASE, EV_LOOK, EV_LISTED,    EV_CHILDREN_FIRED};
    static const enum event_kind likely[ST_COUNT] = {
        [ST_IDLE] = EV_ENTER,           [ST_CREATING] = EV_CREATED,
        [ST_PARENTS] = EV_PARENTS_MADE, [ST_SETTLING] = EV_LISTED,
        [ST_ADOPTING] = EV_READ,        [ST_LISTING] = EV_LISTED,
        [ST_WAITING] = EV_WATCHED,      [ST_PROVING] = EV_READ,
        [ST_CLAIMING] = EV_EXTENDED,    [ST_RESETTING] = EV_RESET,
        [ST_HOLDING] = EV_READ,         [ST_LAPSED] = EV_RELEASE,
        [ST_LEAVING] = EV_CREATED,      [ST_DONE] = EV_READ,
        [ST_SUCCEEDING] = EV_HINT_READ, [ST_REENTERING] = EV_ENTER,
        [ST_FIRST] = EV_CHILDREN_FIRED,
    };
    if (play.c.state == ST_FIRST && choice % 3 == 0)
        return EV_LIMIT_FIRED;
    if (play.c.state == ST_LISTING && play.tags[EV_LIMIT_READ] == play.c.tag && choice % 2)
        return EV_LIMIT_READ;
    if (play.c.state == ST_SETTLING && play.tags[EV_PASSED] == play.c.tag)
        return EV_PASSED;
    if (play.c.state == ST_WAITING && choice % 5 == 0)
        return EV_READ;
    if (play.c.state == ST_WAITING && choice % 2)
        return EV_PRED_FIRED;
    if (play.c.state == ST_SUCCEEDING && choice % 4 == 0)
        return EV_READ;
    if (play.c.state == ST_HOLDING)
        return holding[choice % (sizeof(holding) / sizeof(*holding))];
    return likely[play.c.state];
}

static bool did(enum action_kind kind)
{
    for (uint32_t i = 0; i < play.out.count; i++)
        if (play.out.list[i].kind == kind)
            return true;
    return false;
}

/* The session's end takes node and watches; a fired notice or a read tells that the node is gone.
 */
static bool session_ended(void)
{
    return step.ev.kind == EV_REPLACED || step.ev.kind == EV_END;
}

static bool own_seen_gone(void)
{
    return (step.ev.kind == EV_OWN_FIRED && step.ev.gone) ||
           (step.ev.kind == EV_READ &&
            (step.ev.answer == ANSWER_NONODE || step.ev.ephemeral_owner != step.ev.session));
}

static bool predecessor_seen_gone(void)
{
    return (step.ev.kind == EV_PRED_FIRED && step.ev.gone) ||
           (step.ev.kind == EV_WATCHED && step.ev.answer == ANSWER_NONODE);
}

static void note_own_watch(void)
{
    bool asked = step.before.state == ST_WAITING || step.before.state == ST_ADOPTING;

    if (step.before.state == ST_LISTING)
        step.related = false;
    if (step.before.state == ST_WAITING && step.ev.kind == EV_WATCHED &&
        step.ev.tag == step.before.tag && step.ev.answer == ANSWER_OK)
        step.related = step.ev.ephemeral_owner == step.ev.session;
    if (step.before.state == ST_CREATING || step.ev.kind == EV_OWN_FIRED)
        step.silent = false;
    if (step.ev.kind != EV_READ || step.ev.tag != step.before.tag || !asked)
        return;
    if (step.ev.answer == ANSWER_OK && !own_seen_gone()) {
        step.silent = true;
        step.silent_on = step.ev.connection;
    }
}

/* The end of the only one ahead, when the own node would have been heard of. */
static bool proved_by_silence(void)
{
    return step.before.state == ST_WAITING && predecessor_seen_gone() && step.silent &&
           step.silent_on == step.ev.connection && !step.related;
}

static bool is_shared(enum child_kind kind)
{
    return kind == CHILD_READ || kind == CHILD_WRITE;
}

/* Of the children that the walk makes. */
static bool is_passed_over(const struct child *o)
{
    return o->kind == CHILD_FOREIGN ||
           (rule_kind(step.before.rule) == CHILD_READ && o->kind == CHILD_READ);
}

static bool may_be_together(const struct child *o)
{
    if (step.before.rule == RULE_LEASE)
        return o->kind == CHILD_LEASE;
    return o->kind == CHILD_LOCK || (is_shared(rule_kind(step.before.rule)) && is_shared(o->kind));
}

/* The last number does where the own one is of the lower half. */
static bool stands_before(const struct child *o)
{
    return o->number <= step.before.number ||
           (o->number == INT32_MAX && step.before.number < INT32_MAX / 2);
}

/* Who is first, found by looking at each child alone; UINT32_MAX when the own node is not there. */
static uint32_t count_ahead(void)
{
    uint32_t ahead = 0;
    bool present = false;
    for (size_t i = 0; i < step.ev.count; i++) {
        const struct child *o = &step.ev.children[i];
        if (o->kind != CHILD_FOREIGN && o->own)
            present |= o->number == step.before.number;
        else if (!is_passed_over(o))
            ahead += stands_before(o);
    }
    return present ? ahead : UINT32_MAX;
}

/* The one ahead, of one, says that it retains. */
static bool only_one_retains(void)
{
    for (size_t i = 0; i < step.ev.count; i++) {
        const struct child *o = &step.ev.children[i];
        if (o->kind != CHILD_FOREIGN && !o->own && o->retains && stands_before(o))
            return count_ahead() == 1;
    }
    return false;
}

/* One that tries waits for that one alone, with a limit, and once. */
static bool waits_in_a_try(void)
{
    if (play.c.state != ST_WAITING || !play.c.try_only)
        return false;
    if (step.before.state == ST_WAITING)
        return step.ev.kind == EV_TIMER;
    return step.before.waited || !only_one_retains() || !did(ACT_ARM);
}

/* Whether there is a child that is a reason to refuse. */
static bool any_incompatible(void)
{
    for (size_t i = 0; i < step.ev.count; i++) {
        const struct child *o = &step.ev.children[i];
        if ((step.before.strict && o->kind == CHILD_FOREIGN) ||
            (o->kind != CHILD_FOREIGN && !may_be_together(o) && !o->own && stands_before(o)))
            return true;
    }
    return false;
}

/* A list that counts with the own node in it: refused or not, as its children say. */
static bool refused_wrongly(void)
{
    bool counts =
        step.before.state == ST_LISTING && step.ev.kind == EV_LISTED &&
        step.ev.tag == step.before.tag && step.ev.answer == ANSWER_OK &&
        count_ahead() != UINT32_MAX &&
        (play.c.rule != RULE_LEASE || play.c.counts || step.ev.data_zxid == step.before.limit_zxid);
    bool refused = false;

    for (uint32_t i = 0; i < play.out.count; i++)
        refused |= play.out.list[i].kind == ACT_FAIL && play.out.list[i].error == ATTEMPT_LAYOUT;
    return refused != (counts && any_incompatible());
}

/* Of a semaphore: whether this list, of the limit's instant, has room for all up to the own. */
static bool is_room(void)
{
    uint64_t permits = step.before.permits;

    if (step.before.counts)
        return step.ev.count <= (size_t)step.before.limit;
    for (size_t i = 0; i < step.ev.count; i++) {
        const struct child *o = &step.ev.children[i];
        if (o->kind == CHILD_LEASE && !o->own && stands_before(o))
            permits += o->permits;
    }
    return permits <= (uint64_t)step.before.limit && step.ev.data_zxid == step.before.limit_zxid;
}

static bool out_of_turn(void)
{
    enum attempt_state from = step.before.state, to = play.c.state;
    bool served = to == ST_PROVING || to == ST_CLAIMING || to == ST_HOLDING;
    if (play.c.rule == RULE_LEASE)
        return from == ST_LISTING && served && !is_room();
    if (from == ST_LISTING && step.ev.kind == EV_LISTED && step.ev.tag == step.before.tag)
        step.ahead = count_ahead();
    if (from == ST_WAITING && predecessor_seen_gone() && step.ahead > 0 &&
        !is_shared(rule_kind(step.before.rule)))
        step.ahead--;
    if (from == ST_SUCCEEDING && step.ev.kind == EV_HINT_READ && step.ev.tag == step.before.tag &&
        step.ev.answer == ANSWER_OK && step.ev.hint == HINT_NAMED)
        step.ahead = 0;
    return from != to && served && step.ahead > 0;
}

/* Whoever believes that nobody waits will hear who comes. */
static bool alone_without_reason(void)
{
    const bool listed = step.ev.kind == EV_LISTED && step.ev.answer == ANSWER_OK && step.ev.watched;

    if (play.c.others != OTHERS_NONE)
        return false;
    return step.ev.kind == EV_CHILDREN_FIRED || (step.before.others != OTHERS_NONE && !listed);
}

/* What a list tells a reader is no news to it only if it looks. */
static bool told_of_children(void)
{
    return did(ACT_OTHERS) ||
           ((rule_kind(play.c.rule) == CHILD_READ || play.c.rule == RULE_LEASE) && play.c.looking);
}

static const char *broken_promise(void)
{
    const struct attempt *b = &step.before, *c = &play.c;
    bool created = step.ev.kind == EV_CREATED && step.ev.answer == ANSWER_OK &&
                   (b->state == ST_CREATING || b->state == ST_LEAVING) && step.ev.tag == b->tag;
    if ((b->has_node || created) && !c->has_node && !did(ACT_DELETE) && !session_ended() &&
        !own_seen_gone())
        return "a node is left behind";
    if (b->watching && !c->watching && !did(ACT_UNWATCH) && !session_ended() &&
        !predecessor_seen_gone())
        return "a watch is left behind";
    if (b->limit_watched && !c->limit_watched && !did(ACT_UNWATCH_LIMIT) && !session_ended() &&
        step.ev.kind != EV_LIMIT_FIRED)
        return "a watch on the limit is left behind";
    if (did(ACT_GRANT) && !step.ev.in_time)
        return "granted without a deadline";
    if (did(ACT_GRANT) && step.ev.kind != EV_LISTED && step.ev.kind != EV_READ &&
        step.ev.kind != EV_EXTENDED && !proved_by_silence())
        return "granted without a proof";
    if (did(ACT_GRANT) && step.ev.kind != EV_EXTENDED && step.ev.answer != ANSWER_OK &&
        !proved_by_silence())
        return "granted on a failure";
    if (did(ACT_SET_HINT) &&
        (!did(ACT_GRANT) || (step.ev.kind == EV_LISTED && step.ev.hint == HINT_FOREIGN)))
        return "hinted without being the head, or in place of others' data";
    if (alone_without_reason() && play.c.state != ST_DONE && play.c.state != ST_LAPSED)
        return "thought to be alone";
    if (step.ev.kind == EV_CHILDREN_FIRED && b->state == ST_HOLDING && !told_of_children())
        return "not told of others";
    if (b->state == ST_HOLDING && c->token != b->token)
        return "the token changed";
    if (out_of_turn())
        return "served out of turn";
    if (waits_in_a_try())
        return "one that tries waits";
    if (refused_wrongly())
        return "refused for its neighbours without reason, or not with one";
    if (did(ACT_REVOKE) && did(ACT_DELETE))
        return "the node goes before the callbacks";
    if (b->state == ST_LAPSED && did(ACT_DELETE) && step.ev.kind != EV_RELEASE)
        return "the node goes while the callbacks run";
    return NULL;
}

const char *promises_give(const struct event *ev)
{
    step.before = play.c;
    step.ev = *ev;
    play_give(ev, __FILE__, __LINE__);
    note_own_watch();
    return broken_promise();
}

const char *promises_end(void)
{
    static const enum event_kind ends[] = {EV_ENTER, EV_ABORT, EV_RELEASE, EV_REPLACED};
    for (size_t i = 0; i < 4; i++) {
        const char *broken = promises_give(&(struct event){.kind = ends[i], .error = PLAY_ERROR});
        if (broken)
            return broken;
    }
    if (play.c.state != ST_DONE)
        return "the attempt does not end";
    if (play.grants + play.fails != 1)
        return "the caller is not told once";
    return play.revokes > play.grants ? "revoked what was not granted" : NULL;
}
