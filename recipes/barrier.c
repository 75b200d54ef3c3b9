#include "barrier.h"

#include <assert.h>
#include <string.h>

#define BIT(state) (1U << (state))

/* Whatever it is doing, the session may end. */
#define OUT BIT(BARRIER_OUTSIDE)

static const struct {
    const char *name;
    uint32_t next;
} table[BARRIER_STATES] = {
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
    return state < BARRIER_STATES ? table[state].name : "?";
}

bool barrier_may_move(enum barrier_state from, enum barrier_state to)
{
    return (table[from].next & BIT(to)) != 0;
}

static bool is_in(const struct barrier *b, uint32_t states)
{
    return (BIT(b->state) & states) != 0;
}

bool barrier_invariant(const struct barrier *b)
{
    const uint32_t entering =
        BIT(BARRIER_LOOKING) | BIT(BARRIER_COUNTING) | BIT(BARRIER_WAITING) | BIT(BARRIER_OPENING);

    if (is_in(b, entering | BIT(BARRIER_QUITTING)) && !b->own)
        return false;
    if (is_in(b, OUT | BIT(BARRIER_JOINING)) && b->own)
        return false;
    if (is_in(b, entering | OUT | BIT(BARRIER_JOINING) | BIT(BARRIER_INSIDE)) && b->leaving)
        return false;
    if (is_in(b, BIT(BARRIER_COUNTING) | BIT(BARRIER_OPENING)) && b->before >= b->czxid)
        return false;
    return !is_in(b, BIT(BARRIER_INSIDE)) || b->bound >= b->czxid;
}

static void move(struct barrier *b, enum barrier_state to)
{
    assert(barrier_may_move(b->state, to));
    b->state = to;
}

static struct barrier_action *act(struct barrier_actions *out, enum barrier_action_kind kind)
{
    assert(out->count < BARRIER_ACTIONS);
    struct barrier_action *a = &out->list[out->count++];
    *a = (struct barrier_action){.kind = kind};
    return a;
}

/* What is asked; answers to what was asked before are stale. */
static struct barrier_action *ask(struct barrier *b, struct barrier_actions *out,
                                  enum barrier_action_kind kind)
{
    struct barrier_action *a = act(out, kind);

    a->tag = ++b->tag;
    return a;
}

static void tell(struct barrier *b, struct barrier_actions *out, enum barrier_state state,
                 enum barrier_verdict verdict)
{
    move(b, state);
    b->tag++;
    act(out, BARRIER_ACT_IGNORE);
    act(out, BARRIER_ACT_TELL)->verdict = verdict;
}

static void end(struct barrier *b, struct barrier_actions *out, enum barrier_verdict verdict)
{
    tell(b, out, BARRIER_OUTSIDE, verdict);
    b->own = b->stopped = b->leaving = false;
}

static void join(struct barrier *b, struct barrier_actions *out)
{
    move(b, BARRIER_JOINING);
    b->own = false;
    ask(b, out, BARRIER_ACT_JOIN);
}

static void look(struct barrier *b, struct barrier_actions *out)
{
    move(b, BARRIER_LOOKING);
    b->fired = false;
    ask(b, out, BARRIER_ACT_LOOK);
}

static void count(struct barrier *b, struct barrier_actions *out, enum barrier_state state)
{
    move(b, state);
    ask(b, out, BARRIER_ACT_COUNT);
}

static void quit(struct barrier *b, struct barrier_actions *out, enum barrier_then then)
{
    move(b, BARRIER_QUITTING);
    b->then = then;
    act(out, BARRIER_ACT_IGNORE);
    ask(b, out, BARRIER_ACT_QUIT)->last = then == BARRIER_THEN_DONE;
}

/* m->count: all that were not read yet. */
static void read_member(struct barrier *b, struct barrier_actions *out, size_t member)
{
    ask(b, out, BARRIER_ACT_READ)->member = member;
}

static void await(struct barrier *b, struct barrier_actions *out, size_t member)
{
    ask(b, out, BARRIER_ACT_AWAIT)->member = member;
}

/* ---- the members ---- */

static bool is_unread(const struct barrier_members *m, size_t member)
{
    return member < m->count && m->czxids[member] == BARRIER_UNREAD;
}

/* How many are there with a czxid in that range, both included. */
static size_t members_between(const struct barrier_members *m, uint64_t from, uint64_t to)
{
    size_t n = 0;

    for (size_t i = 0; i < m->count; i++)
        n += m->czxids[i] >= from && m->czxids[i] <= to;
    return n;
}

/* May it be there, and of the round of that bound? */
static bool is_of(const struct barrier_members *m, size_t member, uint64_t bound)
{
    return m->czxids[member] != 0 && (m->czxids[member] <= bound || is_unread(m, member));
}

/* The first but the own. */
static size_t lowest(const struct barrier_members *m, uint64_t bound)
{
    size_t i = 0;

    while (i < m->count && (i == m->own || !is_of(m, i, bound)))
        i++;
    return i;
}

/* The last one. There is one, behind the own. */
static size_t highest(const struct barrier_members *m, uint64_t bound)
{
    size_t i = m->count - 1;

    while (!is_of(m, i, bound))
        i--;
    return i;
}

static bool has_own(const struct barrier_members *m)
{
    return m->own < m->count && m->czxids[m->own] != 0;
}

/* The czxid of the last of those who may enter; 0: there are too few. */
static uint64_t find_bound(const struct barrier *b, const struct barrier_members *m)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->czxids[i] > b->before &&
            members_between(m, b->before + 1, m->czxids[i]) == b->wanted)
            return m->czxids[i];
    }
    return 0;
}

/* ---- entering ---- */

static void on_joined(struct barrier *b, const struct barrier_event *ev,
                      struct barrier_actions *out)
{
    b->own = true;
    b->czxid = ev->zxid;
    if (b->stopped)
        quit(b, out, BARRIER_THEN_FAIL);
    else
        look(b, out);
}

static void enter(struct barrier *b, struct barrier_actions *out, uint64_t bound)
{
    b->bound = bound;
    tell(b, out, BARRIER_INSIDE, BARRIER_DONE);
}

static void on_looked(struct barrier *b, const struct barrier_event *ev,
                      struct barrier_actions *out)
{
    /* One that is no bound lets in who was there, as another library's does. */
    const uint64_t bound = ev->bound != 0 && ev->bound < ev->zxid ? ev->bound : ev->zxid;

    b->ready = ev->zxid != 0;
    b->before = bound;
    b->version = ev->version;
    if (bound >= b->czxid)
        enter(b, out, bound);
    else
        count(b, out, BARRIER_COUNTING);
}

static void open_round(struct barrier *b, struct barrier_actions *out, uint64_t bound)
{
    struct barrier_action *a;

    move(b, BARRIER_OPENING);
    b->bound = bound;
    a = ask(b, out, BARRIER_ACT_OPEN);
    a->bound = bound;
    a->replace = b->ready;
    a->version = b->version;
}

/* The czxid of each is known. */
static void choose_round(struct barrier *b, const struct barrier_members *m,
                         struct barrier_actions *out)
{
    const size_t earlier = lowest(m, b->before);
    uint64_t bound;

    if (earlier < m->count) {
        move(b, BARRIER_WAITING);
        await(b, out, earlier);
    } else if ((bound = find_bound(b, m)) != 0) {
        open_round(b, out, bound);
    } else {
        move(b, BARRIER_WAITING);
    }
}

/* As long as there are too few, and where there is no round before and nobody more than may enter,
 * nobody needs to be read: the bound is whatever came last. */
static void on_counted(struct barrier *b, const struct barrier_event *ev,
                       struct barrier_actions *out)
{
    const struct barrier_members *m = &ev->members;
    const size_t count = members_between(m, 1, BARRIER_UNREAD);

    if (!has_own(m))
        join(b, out); /* somebody has deleted it */
    else if (b->fired)
        look(b, out); /* the members may be of a round that has begun since */
    else if (members_between(m, BARRIER_UNREAD, BARRIER_UNREAD) == 0)
        choose_round(b, m, out);
    else if (count < b->wanted)
        move(b, BARRIER_WAITING);
    else if (!b->ready && count == b->wanted && ev->zxid >= b->czxid)
        open_round(b, out, ev->zxid);
    else
        read_member(b, out, m->count);
}

/* Who is beyond the bound made ready for the others. */
static void on_opened(struct barrier *b, struct barrier_actions *out)
{
    if (b->czxid <= b->bound)
        enter(b, out, b->bound);
    else
        look(b, out);
}

/* ---- leaving ---- */

/* The one, or all where there are others beyond the bound. False: it was read. */
static bool must_read(struct barrier *b, const struct barrier_members *m,
                      struct barrier_actions *out, size_t member)
{
    if (!is_unread(m, member))
        return false;
    read_member(b, out,
                members_between(m, b->bound + 1, BARRIER_UNREAD - 1) > 0 ? m->count : member);
    return true;
}

static void leave(struct barrier *b, const struct barrier_members *m, struct barrier_actions *out)
{
    const size_t first = lowest(m, b->bound);
    size_t last;

    if (must_read(b, m, out, first))
        return;
    b->own = b->own && has_own(m); /* somebody may have deleted it */
    if (!b->own && first == m->count)
        end(b, out, BARRIER_DONE);
    else if (!b->own)
        await(b, out, first);
    else if (first == m->count)
        quit(b, out, BARRIER_THEN_DONE);
    else if (m->own > first)
        quit(b, out, BARRIER_THEN_WAIT);
    else if (!must_read(b, m, out, last = highest(m, b->bound)))
        await(b, out, last);
}

static void on_leave(struct barrier *b, struct barrier_actions *out)
{
    if (!b->own) {
        end(b, out, BARRIER_LOST);
        return;
    }
    b->leaving = true;
    count(b, out, BARRIER_LEAVING);
}

static void on_quit(struct barrier *b, const struct barrier_event *ev, struct barrier_actions *out)
{
    b->own = false;
    if (b->then == BARRIER_THEN_WAIT) {
        move(b, BARRIER_LEAVING);
        leave(b, &ev->members, out);
    } else {
        end(b, out, b->then == BARRIER_THEN_DONE ? BARRIER_DONE : BARRIER_FAILED);
    }
}

/* ---- ends ---- */

/* Refused, or stopped: it fails when the own node is gone. */
static void fail(struct barrier *b, struct barrier_actions *out)
{
    if (b->own)
        quit(b, out, BARRIER_THEN_FAIL);
    else
        end(b, out, BARRIER_FAILED);
}

static void on_stop(struct barrier *b, struct barrier_actions *out)
{
    if (b->state == BARRIER_JOINING)
        b->stopped = true; /* whether there is a node the answer tells */
    else if (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_WAIT)
        b->then = BARRIER_THEN_FAIL;
    else if (!is_in(b, OUT | BIT(BARRIER_QUITTING)))
        fail(b, out);
}

/* The own node has gone with its session. Who was leaving waits for the others still. */
static void on_replaced(struct barrier *b, const struct barrier_event *ev,
                        struct barrier_actions *out)
{
    b->own = false;
    if (is_in(b, OUT | BIT(BARRIER_INSIDE)))
        return; /* LEAVE tells */
    if (b->stopped || (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_FAIL))
        end(b, out, BARRIER_FAILED);
    else if (b->state == BARRIER_QUITTING && b->then == BARRIER_THEN_DONE)
        end(b, out, BARRIER_DONE);
    else if (b->leaving)
        count(b, out, BARRIER_LEAVING);
    else if (b->state == BARRIER_JOINING && ev->unsent)
        join(b, out);
    else
        end(b, out, BARRIER_LOST);
}

/* ---- steps ---- */

static void on_fired(struct barrier *b, struct barrier_actions *out)
{
    if (b->state == BARRIER_WAITING)
        look(b, out);
    else
        b->fired = true;
}

static void on_members(struct barrier *b, const struct barrier_event *ev,
                       struct barrier_actions *out)
{
    if (b->state == BARRIER_COUNTING)
        on_counted(b, ev, out);
    else if (b->state == BARRIER_WAITING)
        look(b, out);
    else if (ev->kind == BARRIER_EV_GONE)
        count(b, out, BARRIER_LEAVING); /* mostly nobody is there any more */
    else
        leave(b, &ev->members, out);
}

/* To what was asked last. */
static void on_answer(struct barrier *b, const struct barrier_event *ev,
                      struct barrier_actions *out)
{
    switch (ev->kind) {
    case BARRIER_EV_JOINED:
        on_joined(b, ev, out);
        break;
    case BARRIER_EV_LOOKED:
        on_looked(b, ev, out);
        break;
    case BARRIER_EV_COUNTED:
    case BARRIER_EV_GONE:
        on_members(b, ev, out);
        break;
    case BARRIER_EV_OPENED:
        on_opened(b, out);
        break;
    case BARRIER_EV_OVERTAKEN:
        look(b, out);
        break;
    case BARRIER_EV_QUIT:
        on_quit(b, ev, out);
        break;
    default:
        fail(b, out);
        break;
    }
}

void barrier_step(struct barrier *b, const struct barrier_event *ev, struct barrier_actions *out)
{
    out->count = 0;
    switch (ev->kind) {
    case BARRIER_EV_ENTER:
        join(b, out);
        break;
    case BARRIER_EV_LEAVE:
        on_leave(b, out);
        break;
    case BARRIER_EV_FIRED:
        on_fired(b, out);
        break;
    case BARRIER_EV_STOP:
        on_stop(b, out);
        break;
    case BARRIER_EV_REPLACED:
        on_replaced(b, ev, out);
        break;
    case BARRIER_EV_OVER:
        if (b->state != BARRIER_OUTSIDE)
            end(b, out, BARRIER_FAILED);
        break;
    default:
        if (ev->tag == b->tag)
            on_answer(b, ev, out);
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
