#include "barrier.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

/* ---- an operation ---- */

static const uint32_t barrier_call_table[BARRIER_CALL_STATES] = {
    [BARRIER_CALL_IDLE] = BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_OVER),
    [BARRIER_CALL_ASKING] = BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_WATCHING) |
                            BIT(BARRIER_CALL_SETTLING) | BIT(BARRIER_CALL_OVER),
    [BARRIER_CALL_WATCHING] = BIT(BARRIER_CALL_ASKING) | BIT(BARRIER_CALL_OVER),
    [BARRIER_CALL_SETTLING] = BIT(BARRIER_CALL_OVER),
};

bool barrier_call_may_move(enum barrier_call_state from, enum barrier_call_state to)
{
    return (barrier_call_table[from] & BIT(to)) != 0;
}

static void barrier_call_move(struct barrier_call *c, enum barrier_call_state to)
{
    assert(barrier_call_may_move(c->state, to));
    c->state = to;
}

static void barrier_call_end(struct barrier_call *c, struct machine_actions *out,
                             enum barrier_call_verdict verdict)
{
    barrier_call_move(c, BARRIER_CALL_OVER);
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, c->rc);
}

static void barrier_call_conclude(struct barrier_call *c, struct machine_actions *out)
{
    barrier_call_end(c, out, c->rc == STORE_OK ? BARRIER_CALL_DONE : BARRIER_CALL_REFUSED);
}

static void barrier_call_read(struct barrier_call *c, struct machine_actions *out, bool joins)
{
    struct machine_action *a = machine_ask(out, STORE_GET, 0);

    barrier_call_move(c, BARRIER_CALL_ASKING);
    a->watch = true;
    a->joins = joins;
}

static void barrier_call_on_answer(struct barrier_call *c, const struct machine_event *ev,
                                   struct machine_actions *out)
{
    const enum store_rc as_well = c->goal == BARRIER_SET ? STORE_EXISTS : STORE_NONODE;

    if (ev->verb == STORE_SYNC)
        return; /* the read after it tells */
    if (ev->rc == STORE_OK && c->goal == BARRIER_WAIT) {
        barrier_call_move(c, BARRIER_CALL_WATCHING);
        return;
    }
    c->rc = ev->rc == as_well ? STORE_OK : ev->rc;
    if (ev->late_until == 0) {
        barrier_call_conclude(c, out);
        return;
    }
    /* An earlier sending may still be done, even if this repetition was refused. Until it cannot
     * be, others may change the barrier, or what stands against the operation. */
    barrier_call_move(c, BARRIER_CALL_SETTLING);
    machine_act(out, MACHINE_ACT_ARM)->at = ev->late_until;
}

void barrier_call_step(struct barrier_call *c, const struct machine_event *ev,
                       struct machine_actions *out)
{
    if (c->state == BARRIER_CALL_OVER)
        return;
    switch (ev->kind) {
    case MACHINE_EV_ANSWER:
        barrier_call_on_answer(c, ev, out);
        break;
    case MACHINE_EV_STOP:
        barrier_call_end(c, out, BARRIER_CALL_STOPPED);
        break;
    case MACHINE_EV_TIMER:
        barrier_call_conclude(c, out);
        break;
    case MACHINE_EV_FIRED:
        if (ev->gone)
            barrier_call_conclude(c, out);
        else
            barrier_call_read(c, out, false);
        break;
    default: /* the beginning, or another session */
        if (c->state == BARRIER_CALL_SETTLING)
            break; /* the session's end settles nothing by itself */
        if (c->goal == BARRIER_WAIT) {
            machine_ask(out, STORE_SYNC, 0); /* a server that lags might show an old state */
            barrier_call_read(c, out, true);
            break;
        }
        barrier_call_move(c, BARRIER_CALL_ASKING);
        if (c->goal == BARRIER_SET)
            machine_ask(out, STORE_CREATE, 0)->mode = STORE_PERSISTENT;
        else
            machine_ask(out, STORE_DELETE, 0);
        break;
    }
}

/* ---- a member of a double barrier ---- */

/* The session may end in every state. */
#define OUT BIT(BARRIER_OUTSIDE)

static const struct {
    const char *name;
    uint32_t next;
} barrier_table[BARRIER_STATES] = {
    [BARRIER_OUTSIDE] = {"outside", BIT(BARRIER_JOINING)},
    [BARRIER_JOINING] = {"joining",
                         OUT | BIT(BARRIER_JOINING) | BIT(BARRIER_LOOKING) | BIT(BARRIER_QUITTING)},
    [BARRIER_LOOKING] = {"looking",
                         OUT | BIT(BARRIER_COUNTING) | BIT(BARRIER_QUITTING) | BIT(BARRIER_INSIDE)},
    [BARRIER_COUNTING] = {"counting", OUT | BIT(BARRIER_JOINING) | BIT(BARRIER_LOOKING) |
                                          BIT(BARRIER_WAITING) | BIT(BARRIER_OPENING) |
                                          BIT(BARRIER_QUITTING)},
    [BARRIER_WAITING] = {"waiting", OUT | BIT(BARRIER_LOOKING) | BIT(BARRIER_QUITTING)},
    [BARRIER_OPENING] = {"opening",
                         OUT | BIT(BARRIER_LOOKING) | BIT(BARRIER_INSIDE) | BIT(BARRIER_QUITTING)},
    [BARRIER_QUITTING] = {"quitting", OUT | BIT(BARRIER_LEAVING)},
    [BARRIER_INSIDE] = {"inside", OUT | BIT(BARRIER_LEAVING) | BIT(BARRIER_QUITTING)},
    [BARRIER_LEAVING] = {"leaving", OUT | BIT(BARRIER_LEAVING) | BIT(BARRIER_QUITTING)},
};

const char *barrier_state_name(enum barrier_state state)
{
    return state < BARRIER_STATES ? barrier_table[state].name : "?";
}

bool barrier_may_move(enum barrier_state from, enum barrier_state to)
{
    return (barrier_table[from].next & BIT(to)) != 0;
}

static bool barrier_is_in(const struct barrier *b, uint32_t states)
{
    return (BIT(b->state) & states) != 0;
}

bool barrier_invariant(const struct barrier *b)
{
    const uint32_t entering =
        BIT(BARRIER_LOOKING) | BIT(BARRIER_COUNTING) | BIT(BARRIER_WAITING) | BIT(BARRIER_OPENING);

    if (barrier_is_in(b, entering | BIT(BARRIER_QUITTING)) && !b->own)
        return false;
    if (barrier_is_in(b, OUT | BIT(BARRIER_JOINING)) && b->own)
        return false;
    if (barrier_is_in(b, entering | OUT | BIT(BARRIER_JOINING) | BIT(BARRIER_INSIDE)) && b->leaving)
        return false;
    if (barrier_is_in(b, BIT(BARRIER_COUNTING) | BIT(BARRIER_OPENING)) && b->before >= b->czxid)
        return false;
    if (b->awaits && !barrier_is_in(b, BIT(BARRIER_WAITING) | BIT(BARRIER_LEAVING)))
        return false;
    if (b->made && b->state != BARRIER_JOINING)
        return false;
    if (b->late != 0 && b->state == BARRIER_OUTSIDE)
        return false;
    return !barrier_is_in(b, BIT(BARRIER_INSIDE)) || b->bound >= b->czxid;
}

static void barrier_move(struct barrier *b, enum barrier_state to)
{
    assert(barrier_may_move(b->state, to));
    b->state = to;
}

static void barrier_unwatch(struct machine_actions *out, enum barrier_node node)
{
    machine_act(out, MACHINE_ACT_UNWATCH)->node = node;
}

/* Moves to state, and tells the verdict of the operation, which has ended. */
static void barrier_tell_end(struct barrier *b, struct machine_actions *out,
                             enum barrier_state state, enum barrier_verdict verdict)
{
    barrier_move(b, state);
    b->awaits = false;
    machine_act(out, MACHINE_ACT_END);
    machine_tell(out, (int)verdict, STORE_OK);
}

/* Ends the operation: the member is outside now. A create that is done later would make a node that
 * counts as a member and that nobody deletes. So the driver looks for that node. */
static void barrier_end(struct barrier *b, struct machine_actions *out,
                        enum barrier_verdict verdict)
{
    if (b->late != 0)
        machine_act(out, MACHINE_ACT_LATE)->node = BARRIER_OWN;
    b->late = 0;
    barrier_tell_end(b, out, BARRIER_OUTSIDE, verdict);
    b->own = b->stopped = b->leaving = b->made = false;
}

static void barrier_create(struct barrier *b, struct machine_actions *out)
{
    b->made = false;
    machine_ask(out, STORE_CREATE, BARRIER_OWN)->mode = STORE_EPHEMERAL;
}

/* Makes the own node, with a new name. While a create of the last name may still be done, the
 * member uses that name again: it has one node. */
static void barrier_join(struct barrier *b, struct machine_actions *out)
{
    barrier_move(b, BARRIER_JOINING);
    b->own = false;
    if (b->late == 0)
        machine_act(out, MACHINE_ACT_NAME)->node = BARRIER_OWN;
    barrier_create(b, out);
}

/* Reads the directory, whose version changes with each opening, and then ready. */
static void barrier_look(struct barrier *b, struct machine_actions *out)
{
    struct machine_action *a;

    barrier_move(b, BARRIER_LOOKING);
    b->fired = b->awaits = false;
    barrier_unwatch(out, BARRIER_AWAITED);
    machine_ask(out, STORE_GET, BARRIER_DIRECTORY);
    a = machine_ask(out, STORE_STAT, BARRIER_READY);
    a->watch = a->joins = true;
}

/* Lists the members, to see who may enter, or who is still there. */
static void barrier_count(struct barrier *b, struct machine_actions *out, enum barrier_state state)
{
    barrier_move(b, state);
    b->awaits = false;
    b->unread = 0;
    machine_ask(out, STORE_LIST, BARRIER_DIRECTORY);
}

/* Deletes the own node. The last member of its round deletes ready with it. Both deletes are
 * refused if another member has deleted ready. */
static void barrier_delete_own(const struct barrier *b, struct machine_actions *out)
{
    if (b->then == BARRIER_THEN_DONE)
        machine_ask_both(out, BARRIER_DIRECTORY,
                         (struct machine_part){STORE_DELETE, BARRIER_OWN, -1},
                         (struct machine_part){STORE_DELETE, BARRIER_READY, -1});
    else
        machine_ask(out, STORE_DELETE, BARRIER_OWN);
}

/* Deletes the own node when no create of it can be done any more. While it stands, a late create
 * makes no other node. */
static void barrier_quit(struct barrier *b, struct machine_actions *out, enum barrier_then then)
{
    barrier_move(b, BARRIER_QUITTING);
    b->then = then;
    b->awaits = false;
    barrier_unwatch(out, BARRIER_READY);
    barrier_unwatch(out, BARRIER_AWAITED);
    if (b->late != 0) {
        machine_act(out, MACHINE_ACT_FORGET); /* the delete is asked for later */
        machine_act(out, MACHINE_ACT_ARM)->at = b->late;
    } else {
        barrier_delete_own(b, out);
    }
}

/* Reads the czxid of a member; m->count: of all members. */
static void barrier_read_member(struct barrier *b, const struct barrier_members *m,
                                struct machine_actions *out, size_t member)
{
    const bool all = member == m->count;
    struct machine_action *a =
        machine_ask(out, STORE_STAT, BARRIER_MEMBER + (uint32_t)(all ? 0 : member));

    b->unread = all ? m->count : 1;
    a->more = (uint32_t)b->unread - 1;
}

static void barrier_ask_awaited(struct machine_actions *out)
{
    machine_ask(out, STORE_GET, BARRIER_AWAITED)->watch = true;
}

/* Waits until the member with that place in the list is gone. */
static void barrier_await(struct barrier *b, struct machine_actions *out, size_t member)
{
    b->awaits = true;
    b->awaited = member;
    barrier_ask_awaited(out);
}

/* ---- the members ---- */

static bool barrier_is_unread(const struct barrier_members *m, size_t member)
{
    return member < m->count && m->czxids[member] == BARRIER_UNREAD;
}

/* Returns how many members have a czxid between from and to, both included. */
static size_t barrier_members_between(const struct barrier_members *m, uint64_t from, uint64_t to)
{
    size_t n = 0;

    for (size_t i = 0; i < m->count; i++)
        n += m->czxids[i] >= from && m->czxids[i] <= to;
    return n;
}

/* Whether the member may still have its node, and may be of the round of that bound. */
static bool barrier_is_of(const struct barrier_members *m, size_t member, uint64_t bound)
{
    return m->czxids[member] != 0 && (m->czxids[member] <= bound || barrier_is_unread(m, member));
}

/* Returns the place of the first member of that bound's round, but not the own; m->count: there is
 * none. */
static size_t barrier_lowest(const struct barrier_members *m, uint64_t bound)
{
    size_t i = 0;

    while (i < m->count && (i == m->own || !barrier_is_of(m, i, bound)))
        i++;
    return i;
}

static bool barrier_has_own(const struct barrier_members *m)
{
    return m->own < m->count && m->czxids[m->own] != 0;
}

/* Returns the bound of a new round: the czxid of the last of those who may enter; 0: there are too
 * few. */
static uint64_t barrier_find_bound(const struct barrier *b, const struct barrier_members *m)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->czxids[i] > b->before &&
            barrier_members_between(m, b->before + 1, m->czxids[i]) == b->wanted)
            return m->czxids[i];
    }
    return 0;
}

/* ---- entering ---- */

static void barrier_enter(struct barrier *b, struct machine_actions *out, uint64_t bound)
{
    b->bound = bound;
    barrier_tell_end(b, out, BARRIER_INSIDE, BARRIER_DONE);
}

static void barrier_open_round(struct barrier *b, struct machine_actions *out, uint64_t bound)
{
    barrier_move(b, BARRIER_OPENING);
    b->bound = bound;
    machine_ask_both(out, BARRIER_DIRECTORY,
                     (struct machine_part){STORE_SET, BARRIER_DIRECTORY, b->version},
                     (struct machine_part){b->ready ? STORE_SET : STORE_CREATE, BARRIER_READY, -1});
}

/* Waits for a member of the previous round, opens a round, or waits for more members. All czxids
 * are known. */
static void barrier_choose_round(struct barrier *b, const struct barrier_members *m,
                                 struct machine_actions *out)
{
    const size_t earlier = barrier_lowest(m, b->before);
    uint64_t bound;

    if (earlier < m->count) {
        barrier_move(b, BARRIER_WAITING);
        barrier_await(b, out, earlier);
    } else if ((bound = barrier_find_bound(b, m)) != 0) {
        barrier_open_round(b, out, bound);
    } else {
        barrier_move(b, BARRIER_WAITING);
    }
}

/* Decides by the listed members, or reads them first. A read is not needed while there are too few,
 * or if there is no earlier round and no more members than may enter: the bound is then the zxid of
 * whatever came last. */
static void barrier_use_members(struct barrier *b, uint64_t zxid, const struct barrier_members *m,
                                struct machine_actions *out)
{
    const size_t count = barrier_members_between(m, 1, BARRIER_UNREAD);

    if (!barrier_has_own(m))
        barrier_join(b, out); /* somebody has deleted it */
    else if (b->fired)
        barrier_look(b, out); /* the members may be of a round that has begun since */
    else if (barrier_members_between(m, BARRIER_UNREAD, BARRIER_UNREAD) == 0)
        barrier_choose_round(b, m, out);
    else if (count < b->wanted)
        barrier_move(b, BARRIER_WAITING);
    else if (!b->ready && count == b->wanted && zxid >= b->czxid)
        barrier_open_round(b, out, zxid);
    else
        barrier_read_member(b, m, out, m->count);
}

/* ---- leaving ---- */

/* Reads the member, if its czxid is not known. If a member beyond the bound is known, there may be
 * many. Then all members are read together, not one after the other. Returns whether the member's
 * czxid was not known. */
static bool barrier_read_unread(struct barrier *b, const struct barrier_members *m,
                                struct machine_actions *out, size_t member)
{
    if (!barrier_is_unread(m, member))
        return false;
    const bool beyond = barrier_members_between(m, b->bound + 1, BARRIER_UNREAD - 1) > 0;
    barrier_read_member(b, m, out, beyond ? m->count : member);
    return true;
}

/* Decides what a member that leaves does, by the listed members: which of them it waits for,
 * whether it deletes the own node now, or that all have left. */
static void barrier_leave(struct barrier *b, const struct barrier_members *m,
                          struct machine_actions *out)
{
    const size_t first = barrier_lowest(m, b->bound);

    if (barrier_read_unread(b, m, out, first))
        return;
    b->own = b->own && barrier_has_own(m); /* somebody may have deleted it */
    if (!b->own && first == m->count) {
        barrier_end(b, out, BARRIER_DONE);
    } else if (!b->own) {
        barrier_await(b, out, first);
    } else if (first == m->count) {
        barrier_quit(b, out, BARRIER_THEN_DONE);
    } else if (m->own > first) {
        barrier_quit(b, out, BARRIER_THEN_WAIT);
    } else {
        size_t last = m->count - 1;
        while (!barrier_is_of(m, last, b->bound)) /* first is of that round */
            last--;
        if (!barrier_read_unread(b, m, out, last))
            barrier_await(b, out, last);
    }
}

/* ---- ends ---- */

/* Ends a member that was refused or stopped: it fails when the own node is gone. */
static void barrier_fail(struct barrier *b, struct machine_actions *out)
{
    if (b->own)
        barrier_quit(b, out, BARRIER_THEN_FAIL);
    else
        barrier_end(b, out, BARRIER_FAILED);
}

/* Handles the end of the session, and of the own node with it. A member that was leaving still
 * waits for the others. */
static void barrier_on_replaced(struct barrier *b, const struct machine_event *ev,
                                struct machine_actions *out)
{
    if (b->late != 0)
        machine_act(out, MACHINE_ACT_DISARM);
    b->late = 0;
    b->own = false;
    if (barrier_is_in(b, OUT | BIT(BARRIER_INSIDE)))
        return; /* the answer to LEAVE tells that */
    if (b->stopped || (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_FAIL))
        barrier_end(b, out, BARRIER_FAILED);
    else if (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_DONE)
        barrier_end(b, out, BARRIER_DONE);
    else if (b->leaving)
        barrier_count(b, out, BARRIER_LEAVING);
    else if (b->state == BARRIER_JOINING && ev->unsent && !b->made)
        barrier_join(b, out);
    else
        barrier_end(b, out, BARRIER_LOST);
}

/* ---- answers ---- */

/* Tells why, and fails. */
static void barrier_fail_by(struct barrier *b, enum barrier_verdict why, enum store_rc rc,
                            struct machine_actions *out)
{
    machine_tell(out, (int)why, rc);
    barrier_fail(b, out);
}

static void barrier_on_refused(struct barrier *b, const struct machine_event *ev,
                               struct machine_actions *out)
{
    barrier_fail_by(b, BARRIER_REFUSED, ev->rc, out);
}

/* Handles the answer to the create of the own node. A create that was sent twice finds what it made
 * itself: nobody else has that name. */
static void barrier_on_join(struct barrier *b, const struct machine_event *ev,
                            struct machine_actions *out)
{
    if (ev->late_until > b->late)
        b->late = ev->late_until;
    if (ev->rc == STORE_OK) {
        b->own = true;
        b->made = false;
        b->czxid = ev->czxid;
        if (b->stopped)
            barrier_quit(b, out, BARRIER_THEN_FAIL);
        else
            barrier_look(b, out);
    } else if (ev->rc == STORE_EXISTS) {
        b->made = true;
        machine_ask(out, STORE_STAT, BARRIER_OWN);
    } else if (ev->rc == STORE_NONODE) {
        barrier_create(b, out);
    } else {
        barrier_on_refused(b, ev, out);
    }
}

/* Handles a read of the directory, or of ready. */
static void barrier_on_look(struct barrier *b, const struct machine_event *ev,
                            struct machine_actions *out)
{
    const bool there = ev->rc == STORE_OK;

    if (!there && ev->rc != STORE_NONODE) {
        barrier_on_refused(b, ev, out);
    } else if (ev->node == BARRIER_DIRECTORY) {
        if (there) /* else the own node is missing, too, which the list shows */
            b->version = ev->version;
    } else if (ev->verb == STORE_STAT && there) {
        machine_ask(out, STORE_GET, BARRIER_READY)->joins = true;
    } else if (there && barrier_is_later(ev->data, ev->length)) {
        barrier_fail_by(b, BARRIER_LATER, STORE_OK, out);
    } else {
        const uint64_t zxid = there ? ev->mzxid : 0,
                       bound = barrier_bound_read(ev->data, ev->length);
        b->ready = zxid != 0;
        /* another library's ready has no bound, and lets in all members that were there */
        b->before = bound != 0 && bound < zxid ? bound : zxid;
        if (b->before >= b->czxid)
            barrier_enter(b, out, b->before);
        else
            barrier_count(b, out, BARRIER_COUNTING);
    }
}

/* Handles the answer to a list, or to a read of a member. The machine decides when all reads are
 * answered. */
static void barrier_on_members(struct barrier *b, const struct machine_event *ev,
                               const struct barrier_members *m, struct machine_actions *out)
{
    const bool awaited = ev->node == BARRIER_AWAITED;

    if (ev->rc != STORE_OK && ev->rc != STORE_NONODE)
        barrier_on_refused(b, ev, out);
    else if (awaited && ev->rc == STORE_OK)
        return;
    else if (!awaited && ev->verb == STORE_STAT && --b->unread > 0)
        return;
    else if (b->state == BARRIER_COUNTING)
        barrier_use_members(b, ev->verb == STORE_LIST ? ev->pzxid : 0, m, out);
    else if (b->state == BARRIER_WAITING)
        barrier_look(b, out);
    else if (awaited)
        barrier_count(b, out, BARRIER_LEAVING); /* mostly no other member is there any more */
    else
        barrier_leave(b, m, out);
}

static void barrier_on_answer(struct barrier *b, const struct machine_event *ev,
                              const struct barrier_members *m, struct machine_actions *out)
{
    switch (b->state) {
    case BARRIER_JOINING:
        barrier_on_join(b, ev, out);
        break;
    case BARRIER_LOOKING:
        barrier_on_look(b, ev, out);
        break;
    case BARRIER_OPENING:
        /* If the opening was sent twice, the first sending makes the second fail. If the member is
         * beyond the bound, it has made ready for the others alone. Ready tells in both cases. */
        if (ev->rc == STORE_OK && b->czxid <= b->bound)
            barrier_enter(b, out, b->bound);
        else if (ev->rc == STORE_OK || ev->rc == STORE_BADVERSION || ev->rc == STORE_EXISTS ||
                 ev->rc == STORE_NONODE)
            barrier_look(b, out);
        else
            barrier_on_refused(b, ev, out);
        break;
    case BARRIER_QUITTING:
        if (ev->rc != STORE_OK && ev->verb == STORE_MULTI) {
            machine_ask(out, STORE_DELETE, BARRIER_OWN);
            break;
        }
        if (ev->rc != STORE_OK && ev->rc != STORE_NONODE)
            machine_act(out, MACHINE_ACT_DELETE)->node = BARRIER_OWN;
        b->own = false;
        if (b->then == BARRIER_THEN_WAIT) {
            barrier_move(b, BARRIER_LEAVING);
            barrier_leave(b, m, out);
        } else {
            barrier_end(b, out, b->then == BARRIER_THEN_DONE ? BARRIER_DONE : BARRIER_FAILED);
        }
        break;
    default:
        barrier_on_members(b, ev, m, out);
        break;
    }
}

/* ---- steps ---- */

void barrier_step(struct barrier *b, const struct machine_event *ev,
                  const struct barrier_members *m, struct machine_actions *out)
{
    switch (ev->kind) {
    case BARRIER_EV_ENTER:
        barrier_join(b, out);
        break;
    case BARRIER_EV_LEAVE:
        b->leaving = b->own;
        if (b->own)
            barrier_count(b, out, BARRIER_LEAVING);
        else
            barrier_end(b, out, BARRIER_LOST);
        break;
    case MACHINE_EV_FIRED:
        if (ev->node == BARRIER_READY && b->state != BARRIER_WAITING)
            b->fired = true;
        else if (ev->node == BARRIER_READY)
            barrier_look(b, out);
        else if (b->awaits && !ev->gone) /* the awaited member has changed its data */
            barrier_ask_awaited(out);
        else if (b->awaits && b->state == BARRIER_WAITING)
            barrier_look(b, out);
        else if (b->awaits)
            barrier_count(b, out, BARRIER_LEAVING);
        break;
    case MACHINE_EV_TIMER:
        b->late = 0;
        barrier_delete_own(b, out);
        break;
    case MACHINE_EV_STOP:
        if (b->state == BARRIER_JOINING)
            b->stopped = true; /* the answer tells whether there is a node */
        else if (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_WAIT)
            b->then = BARRIER_THEN_FAIL;
        else if (!barrier_is_in(b, OUT | BIT(BARRIER_QUITTING)))
            barrier_fail(b, out);
        break;
    case MACHINE_EV_SESSION:
        barrier_on_replaced(b, ev, out);
        break;
    case MACHINE_EV_OVER:
        if (b->state != BARRIER_OUTSIDE)
            barrier_end(b, out, BARRIER_FAILED);
        break;
    default:
        barrier_on_answer(b, ev, m, out);
        break;
    }
    assert(barrier_invariant(b));
}

/* ---- what is in ready ---- */

uint64_t barrier_bound_read(const char *data, size_t length)
{
    const size_t words = sizeof BARRIER_WORDS - 1;
    uint64_t bound = 0;

    if (length <= words || memcmp(data, BARRIER_WORDS, words) != 0)
        return 0;
    for (size_t i = words; i < length; i++) {
        const unsigned digit = (unsigned)(data[i] - '0');
        if (digit > 9 || bound > (UINT64_MAX - digit) / 10)
            return 0;
        bound = bound * 10 + digit;
    }
    return bound;
}

bool barrier_is_later(const char *data, size_t length)
{
    static const char words[] = "zkl round ";

    return length >= sizeof words - 1 && memcmp(data, words, sizeof words - 1) == 0 &&
           barrier_bound_read(data, length) == 0;
}
