/* Every interleaving of the members of a double barrier and a few faults, breadth first: each asks
 * and hears in its own time, is stopped, loses its connection or session or crashes. A change that
 * was lost with its connection may be done later, behind its repetition and all that was asked
 * since (docs/design/late.md). usage: rounds [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/barrier.h"
#include "recipes/machine.h"

/* STRAY: where requests come late, a node that its member has done with has the place of a third
 * member. */
enum { ROUND_MEMBERS = 3, ROUND_ASKED = 6, ROUND_HEARD = 8, ROUND_LATE = 4, ROUND_STRAY = 2 };
enum { ROUND_WRITES = ROUND_MEMBERS * ROUND_LATE };

enum round_move {
    ROUND_SERVE,
    ROUND_DELIVER,
    ROUND_ENTER,
    ROUND_LEAVE,
    ROUND_STOP,
    ROUND_EXPIRE,
    ROUND_CRASH,
    ROUND_FOREIGN,
    ROUND_BREAK,
    ROUND_ARRIVE,
    ROUND_NEVER,
    ROUND_TIMER,
    ROUND_MOVES
};

struct round_ask {
    uint8_t verb, node;
    bool replace, last; /* MULTI: as it opens, or quits */
    uint8_t more, version;
    uint8_t name; /* of the own node */
    uint8_t lost; /* with the connection of that number, the last time; 0: never */
    struct exchange_request number;
    uint64_t bound;
};

struct round_heard {
    uint8_t kind; /* enum machine_event_kind */
    uint8_t node, rc, version, unused[4];
    struct round_ask to; /* an answer to that */
    uint64_t zxid, bound, counted[ROUND_MEMBERS];
};

struct round_member {
    struct barrier machine;
    struct exchange exchange;
    uint8_t asked, heard, late;
    uint8_t name;   /* of its node; 0 where no name comes again */
    uint8_t broken; /* connections */
    bool armed;
    uint8_t unused[2];
    struct round_ask ask[ROUND_ASKED], writes[ROUND_LATE]; /* .writes: may still be done */
    struct round_heard hear[ROUND_HEARD];
    uint64_t members[ROUND_MEMBERS]; /* what is known of those listed */
    uint64_t names[ROUND_MEMBERS];   /* what they were when listed */
    bool calls;                      /* the user waits */
    bool crashed;
    bool watches_ready;
    uint8_t watches; /* a member's place and 1; 0: none */
    uint8_t enters;  /* left */
    bool seen;       /* since it joined: enough members at once, none of whom had entered */
    bool entered;    /* with the present node */
};

struct round_state {
    struct round_member m[ROUND_MEMBERS];
    uint64_t zxid, node[ROUND_MEMBERS], ready, bound;
    uint8_t version, faults;
    uint8_t stray, stray_name; /* whose it is, and 1; 0: there is none */
};

struct round_config {
    int members, wanted, enters;
    bool foreign; /* the ready of another library may be there */
    bool late;    /* connections break; of two members at most */
};

static const struct round_config *config;

static const struct breadth_kind moves[ROUND_MOVES] = {
    [ROUND_SERVE] = {"the server takes up a request of", FAIR, ROUND_MEMBERS},
    [ROUND_DELIVER] = {"an answer or event reaches", FAIR, ROUND_MEMBERS},
    [ROUND_ENTER] = {"enters", FAIR, ROUND_MEMBERS},
    [ROUND_LEAVE] = {"leaves", FAIR, ROUND_MEMBERS},
    [ROUND_STOP] = {"the time is over of", FAULT, ROUND_MEMBERS},
    [ROUND_EXPIRE] = {"the session ends of", FAULT, ROUND_MEMBERS},
    [ROUND_CRASH] = {"crashes", FAULT, ROUND_MEMBERS},
    [ROUND_FOREIGN] = {"another library makes ready, which is not ours and older", FAULT, 1},
    [ROUND_BREAK] = {"the connection breaks of", FAULT, ROUND_MEMBERS},
    [ROUND_ARRIVE] = {"late comes what was not answered:", PERHAPS, ROUND_WRITES},
    [ROUND_NEVER] = {"the first that was not answered never comes of", FAIR, ROUND_MEMBERS},
    [ROUND_TIMER] = {"no create of its node can come any more:", FAIR, ROUND_MEMBERS},
};

static void init(void *state, const void *data)
{
    struct round_state *st = state;

    config = data;
    for (int i = 0; i < config->members; i++) {
        st->m[i].machine.wanted = (size_t)config->wanted;
        st->m[i].enters = (uint8_t)config->enters;
        exchange_plain(&st->m[i].exchange);
    }
}

/* ---- what is on its way ---- */

static void hear(struct round_member *m, struct round_heard what)
{
    flat_push(m->hear, &m->heard, ROUND_HEARD, sizeof what, &what);
}

/* A subscription that was dropped does not fire, whatever is on its way. */
static void unwatch(struct round_member *m, uint32_t node)
{
    if (node == BARRIER_READY)
        m->watches_ready = false;
    else
        m->watches = 0;
    for (int i = m->heard; i-- > 0;) {
        if (m->hear[i].kind == MACHINE_EV_FIRED && m->hear[i].node == node)
            flat_remove(m->hear, &m->heard, sizeof m->hear[0], i);
    }
}

/* ---- the server ---- */

static void fire_ready(struct round_state *st)
{
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        struct round_member *m = &st->m[i];
        if (m->watches_ready)
            hear(m, (struct round_heard){.kind = MACHINE_EV_FIRED, .node = BARRIER_READY});
        m->watches_ready = false;
    }
}

/* There are enough who have not entered yet: from here on they may. A stray is no member. */
static void note_enough(struct round_state *st)
{
    int count = 0;

    for (int i = 0; i < config->members; i++)
        count += st->node[i] && !st->m[i].entered;
    for (int i = 0; i < config->members && count >= config->wanted; i++)
        st->m[i].seen |= st->node[i] != 0;
}

static void delete_node(struct round_state *st, int at)
{
    if (!st->node[at])
        return;
    st->node[at] = 0;
    if (config->late && at == ROUND_STRAY)
        st->stray = st->stray_name = 0;
    st->m[at].seen = st->m[at].entered = false;
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        struct round_member *m = &st->m[i];
        if (m->watches != at + 1)
            continue;
        hear(m, (struct round_heard){.kind = MACHINE_EV_FIRED, .node = BARRIER_AWAITED});
        m->watches = 0;
    }
}

static void write_ready(struct round_state *st, uint64_t bound)
{
    st->ready = ++st->zxid;
    st->bound = bound;
    fire_ready(st);
}

/* Where the member's node of that name stands; ROUND_MEMBERS: nowhere. */
static int place_of(const struct round_state *st, int at, uint8_t name)
{
    if (st->node[at] && st->m[at].name == name)
        return at;
    return st->stray == at + 1 && st->stray_name == name ? ROUND_STRAY : ROUND_MEMBERS;
}

/* A node that its member does not ask for any more is a stray. */
static void serve_create(struct round_state *st, int at, uint8_t name, struct round_heard *reply)
{
    const bool wanted = st->m[at].name == name && st->m[at].machine.state == BARRIER_JOINING;

    if (place_of(st, at, name) != ROUND_MEMBERS) {
        reply->rc = STORE_EXISTS;
        return;
    }
    st->node[wanted ? at : ROUND_STRAY] = reply->zxid = ++st->zxid;
    if (!wanted) {
        st->stray = (uint8_t)(at + 1);
        st->stray_name = name;
    }
    note_enough(st);
}

static void serve_delete(struct round_state *st, int at, uint8_t name, struct round_heard *reply)
{
    const int place = place_of(st, at, name);

    if (place == ROUND_MEMBERS)
        reply->rc = STORE_NONODE;
    else
        delete_node(st, place);
}

static void serve_list(const struct round_state *st, struct round_heard *reply)
{
    reply->zxid = st->zxid;
    memcpy(reply->counted, st->node, sizeof reply->counted);
}

/* All at once. */
static void serve_read(const struct round_state *st, const struct round_member *m,
                       struct round_heard *reply)
{
    const int first = reply->node - BARRIER_MEMBER;

    memcpy(reply->counted, m->members, sizeof reply->counted);
    for (int i = first; i <= first + reply->to.more; i++)
        reply->counted[i] = m->names[i] == st->node[i] ? st->node[i] : 0;
}

static void serve_open(struct round_state *st, const struct round_ask *a, struct round_heard *reply)
{
    if (a->replace == (st->ready != 0) && a->version == st->version) {
        st->version++;
        write_ready(st, a->bound);
    } else {
        reply->rc = STORE_BADVERSION;
    }
}

/* Both or none. */
static void serve_quit_last(struct round_state *st, int at, uint8_t name, struct round_heard *reply)
{
    const int place = place_of(st, at, name);

    if (!st->ready || place == ROUND_MEMBERS) {
        reply->rc = STORE_NONODE;
        return;
    }
    delete_node(st, place);
    st->ready = st->bound = 0;
    fire_ready(st);
}

static void serve_ready(const struct round_state *st, struct round_member *m,
                        struct round_heard *reply)
{
    m->watches_ready |= reply->to.verb == STORE_STAT;
    reply->rc = st->ready ? STORE_OK : STORE_NONODE;
    if (reply->to.verb == STORE_STAT)
        return;
    reply->zxid = st->ready;
    reply->bound = st->bound;
}

static void serve_await(const struct round_state *st, struct round_member *m,
                        struct round_heard *reply)
{
    const size_t awaited = m->machine.awaited;

    if (!st->node[awaited] || st->node[awaited] != m->names[awaited])
        reply->rc = STORE_NONODE;
    else
        m->watches = (uint8_t)(awaited + 1);
}

static void read_own(const struct round_state *st, int at, struct round_heard *reply)
{
    reply->zxid = st->node[at];
    reply->rc = st->node[at] ? STORE_OK : STORE_NONODE;
}

static void read_one(const struct round_state *st, struct round_member *m,
                     struct round_heard *reply)
{
    const int at = (int)(m - st->m);

    if (reply->node == BARRIER_DIRECTORY)
        reply->version = st->version;
    else if (reply->node == BARRIER_OWN)
        read_own(st, at, reply);
    else if (reply->node == BARRIER_READY)
        serve_ready(st, m, reply);
    else if (reply->node == BARRIER_AWAITED)
        serve_await(st, m, reply);
    else
        serve_read(st, m, reply);
}

static void answer(struct round_state *st, int at, const struct round_ask *a,
                   struct round_heard *reply)
{
    switch (a->verb) {
    case STORE_CREATE:
        serve_create(st, at, a->name, reply);
        break;
    case STORE_LIST:
        serve_list(st, reply);
        break;
    case STORE_GET:
    case STORE_STAT:
        read_one(st, &st->m[at], reply);
        break;
    case STORE_DELETE:
        serve_delete(st, at, a->name, reply);
        break;
    default:
        if (a->last)
            serve_quit_last(st, at, a->name, reply);
        else
            serve_open(st, a, reply);
        break;
    }
}

/* The request for a member's end tells nothing where it only leaves a watch. */
static void serve(struct round_state *st, int at)
{
    struct round_member *m = &st->m[at];
    const struct round_ask a = m->ask[0];
    struct round_heard reply = {.kind = MACHINE_EV_ANSWER, .node = a.node, .to = a};

    flat_remove(m->ask, &m->asked, sizeof m->ask[0], 0);
    if (exchange_is_stale(&m->exchange, a.number) && a.node == BARRIER_AWAITED)
        return;
    answer(st, at, &a, &reply);
    if (!config->late) { /* it is not asked again */
        reply.to.replace = reply.to.last = false;
        reply.to.version = 0;
        reply.to.bound = 0;
    }
    if (a.node != BARRIER_AWAITED || reply.rc != STORE_OK)
        hear(m, reply);
}

/* ---- connections ---- */

static bool is_write(const struct round_ask *a)
{
    return a->verb == STORE_CREATE || a->verb == STORE_DELETE || a->verb == STORE_MULTI;
}

static void ask_again(struct round_member *m, struct round_ask a)
{
    if (is_write(&a))
        a.lost = m->broken;
    flat_push(m->ask, &m->asked, ROUND_ASKED, sizeof a, &a);
}

/* What was not answered is asked again, in order; what the server had not taken up may be done
 * later. Events stay: the watches are set again, and tell what was missed. */
static void break_connection(struct round_member *m)
{
    const struct round_member was = *m;

    memset(m->ask, 0, sizeof m->ask);
    memset(m->hear, 0, sizeof m->hear);
    m->asked = m->heard = 0;
    m->broken++;
    for (int i = 0; i < was.heard; i++) {
        if (was.hear[i].kind == MACHINE_EV_ANSWER)
            ask_again(m, was.hear[i].to);
        else
            hear(m, was.hear[i]);
    }
    for (int i = 0; i < was.asked; i++) {
        struct round_ask a = was.ask[i];
        ask_again(m, a);
        if (!is_write(&a))
            continue;
        a.lost = m->broken;
        a.number = (struct exchange_request){0};
        flat_push(m->writes, &m->late, ROUND_LATE, sizeof a, &a);
    }
}

/* Those of one connection come in order. There is one stray at a time. */
static bool may_arrive(const struct round_state *st, const struct round_member *m, int which)
{
    for (int i = 0; i < which; i++)
        if (m->writes[i].lost == m->writes[which].lost)
            return false;
    return which < m->late && (m->writes[which].verb != STORE_CREATE || !st->stray);
}

static void arrive(struct round_state *st, int at, int which)
{
    struct round_member *m = &st->m[at];
    const struct round_ask a = m->writes[which];
    struct round_heard unheard = {.to = a};

    flat_remove(m->writes, &m->late, sizeof a, which);
    answer(st, at, &a, &unheard);
}

static bool awaits_create(const struct round_member *m)
{
    for (int i = 0; i < m->late; i++)
        if (m->writes[i].verb == STORE_CREATE)
            return true;
    return false;
}

/* ---- the driver ---- */

static void check_entered(struct round_state *st, int at)
{
    int inside = 0;

    breadth_require(st->m[at].seen || config->foreign, "entered, and there were never enough");
    st->m[at].entered = st->node[at] != 0;
    for (int i = 0; i < ROUND_MEMBERS; i++)
        inside += st->node[i] && st->m[i].entered;
    breadth_require(inside <= config->wanted || config->foreign, "more are inside than asked for");
}

static void check_left(struct round_state *st, int at)
{
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        if (i != at && st->m[i].entered && st->node[i] && st->node[i] <= st->m[at].machine.bound)
            breadth_require(false, "left, and another of the round is still there");
    }
}

static void told(struct round_state *st, int at, enum barrier_verdict verdict)
{
    struct round_member *m = &st->m[at];

    breadth_require(m->calls, "told what was not asked");
    m->calls = false;
    if (m->machine.state == BARRIER_INSIDE)
        check_entered(st, at);
    else if (st->node[at])
        breadth_require(false, "outside, and its node stands");
    else if (verdict == BARRIER_DONE)
        check_left(st, at);
}

static void ask(struct round_member *m, const struct machine_action *a)
{
    const bool writes = a->verb == STORE_MULTI;
    const struct exchange_request number = exchange_ask(&m->exchange, a);

    const struct round_ask what = {.verb = (uint8_t)a->verb,
                                   .node = (uint8_t)a->node,
                                   .replace = writes && a->parts[1].verb == STORE_SET,
                                   .last = writes && a->parts[0].verb == STORE_DELETE,
                                   .more = (uint8_t)a->more,
                                   .version = writes ? (uint8_t)a->parts[0].version : 0,
                                   .name = m->name,
                                   .number = number,
                                   .bound = writes ? m->machine.bound : 0};

    flat_push(m->ask, &m->asked, ROUND_ASKED, sizeof what, &what);
}

static void perform(struct round_state *st, int at, const struct machine_action *a)
{
    struct round_member *m = &st->m[at];

    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        ask(m, a);
        break;
    case MACHINE_ACT_UNWATCH:
        unwatch(m, a->node);
        break;
    case MACHINE_ACT_FORGET:
        exchange_forget(&m->exchange, a->slot);
        break;
    case MACHINE_ACT_ARM:
    case MACHINE_ACT_DISARM:
        m->armed = a->kind == MACHINE_ACT_ARM;
        break;
    case MACHINE_ACT_END:
        m->armed = false;
        exchange_end(&m->exchange);
        unwatch(m, BARRIER_READY);
        unwatch(m, BARRIER_AWAITED);
        break;
    case MACHINE_ACT_TELL:
        told(st, at, (enum barrier_verdict)a->verdict);
        break;
    case MACHINE_ACT_NAME: /* otherwise names are places */
        m->name = (uint8_t)(m->name + config->late);
        break;
    default:
        break;
    }
}

static void step(struct round_state *st, int at, struct machine_event ev)
{
    struct round_member *m = &st->m[at];
    const struct barrier_members members = {m->members, ROUND_MEMBERS, (size_t)at};
    struct machine_actions actions = {.count = 0};

    barrier_step(&m->machine, &ev, &members, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(st, at, &actions.list[i]);
}

static void take_members(struct round_member *m, const struct round_heard *h)
{
    memcpy(m->members, h->counted, sizeof m->members);
    if (h->to.verb != STORE_LIST)
        return;
    memcpy(m->names, h->counted, sizeof m->names);
    for (int i = 0; i < ROUND_MEMBERS; i++)
        m->members[i] = m->names[i] ? BARRIER_UNREAD : 0;
}

/* One answer reaches the machine for each node, if several were read at once. */
static void deliver(struct round_state *st, int at)
{
    struct round_member *m = &st->m[at];
    const struct round_heard h = m->hear[0];
    char data[sizeof BARRIER_WORDS + 20] = "";
    struct machine_event ev = {.kind = h.kind,
                               .verb = (enum store_kind)h.to.verb,
                               .rc = (enum store_rc)h.rc,
                               .gone = true,
                               .version = h.version,
                               .czxid = h.zxid,
                               .mzxid = h.zxid,
                               .pzxid = h.zxid,
                               .late_until = h.to.lost != 0,
                               .data = data};

    flat_remove(m->hear, &m->heard, sizeof h, 0);
    if (h.kind == MACHINE_EV_ANSWER &&
        exchange_answered(&m->exchange, h.to.number, &ev) != EXCHANGE_HEARD)
        return;
    if (h.bound)
        ev.length = (size_t)snprintf(data, sizeof data, BARRIER_WORDS "%d", (int)h.bound);
    if (h.to.verb == STORE_LIST || (h.to.verb == STORE_STAT && h.node >= BARRIER_MEMBER))
        take_members(m, &h);
    for (uint8_t i = 0; i <= h.to.more; i++) {
        ev.node = (uint32_t)(h.node + i);
        step(st, at, ev);
    }
}

/* ---- moves ---- */

static void forget(struct round_state *st, int at)
{
    struct round_member *m = &st->m[at];

    delete_node(st, at);
    memset(m->ask, 0, sizeof m->ask);
    memset(m->hear, 0, sizeof m->hear);
    m->asked = m->heard = 0;
    m->watches_ready = false;
    m->watches = 0;
    memset(m->writes, 0, sizeof m->writes);
    m->late = 0;
    if (st->stray == at + 1)
        delete_node(st, ROUND_STRAY);
}

static int member_of(struct move move)
{
    return move.kind == ROUND_ARRIVE ? move.at / ROUND_LATE : move.at;
}

static void happen(struct round_state *st, struct move move)
{
    struct round_member *m = &st->m[member_of(move)];
    bool unsent;

    switch (move.kind) {
    case ROUND_SERVE:
        serve(st, move.at);
        break;
    case ROUND_DELIVER:
        deliver(st, move.at);
        break;
    case ROUND_ENTER:
        m->enters--;
        m->calls = true;
        step(st, move.at, (struct machine_event){.kind = BARRIER_EV_ENTER});
        break;
    case ROUND_LEAVE:
        m->calls = true;
        step(st, move.at, (struct machine_event){.kind = BARRIER_EV_LEAVE});
        break;
    case ROUND_STOP:
        step(st, move.at, (struct machine_event){.kind = MACHINE_EV_STOP});
        break;
    case ROUND_EXPIRE:
        unsent = !st->node[move.at] && m->heard == 0 && m->ask[0].lost == 0;
        forget(st, move.at);
        step(st, move.at, (struct machine_event){.kind = MACHINE_EV_SESSION, .unsent = unsent});
        break;
    case ROUND_CRASH:
        forget(st, move.at);
        memset(m, 0, sizeof *m);
        m->crashed = true;
        break;
    case ROUND_BREAK:
        break_connection(m);
        break;
    case ROUND_ARRIVE:
        arrive(st, member_of(move), move.at % ROUND_LATE);
        break;
    case ROUND_NEVER:
        flat_remove(m->writes, &m->late, sizeof m->writes[0], 0);
        break;
    case ROUND_TIMER:
        m->armed = false;
        step(st, move.at, (struct machine_event){.kind = MACHINE_EV_TIMER});
        break;
    default:
        write_ready(st, 0);
        break;
    }
}

static bool hears_answer(const struct round_member *m)
{
    for (int i = 0; i < m->heard; i++)
        if (m->hear[i].kind == MACHINE_EV_ANSWER)
            return true;
    return false;
}

static bool may(const void *state, struct move move)
{
    const struct round_state *st = state;
    const struct round_member *m = &st->m[member_of(move)];
    const enum barrier_state is = m->machine.state;

    if (m->crashed)
        return false;
    switch (move.kind) {
    case ROUND_SERVE:
        return m->asked > 0;
    case ROUND_DELIVER:
        return m->heard > 0;
    case ROUND_ENTER:
        return !m->calls && is == BARRIER_OUTSIDE && m->enters > 0;
    case ROUND_LEAVE:
        return !m->calls && is == BARRIER_INSIDE;
    case ROUND_STOP:
        return m->calls && !m->machine.stopped;
    case ROUND_EXPIRE:
    case ROUND_CRASH:
        return is != BARRIER_OUTSIDE;
    case ROUND_BREAK:
        return config->late && (m->asked > 0 || hears_answer(m));
    case ROUND_ARRIVE:
        return may_arrive(st, m, move.at % ROUND_LATE);
    case ROUND_NEVER:
        return m->late > 0;
    case ROUND_TIMER:
        return m->armed && !awaits_create(m);
    default:
        return config->foreign && st->ready == 0;
    }
}

/* ---- numbers: only their order matters, and of tags, whether they are the present one ---- */

static void add_czxid(struct flat_numbers *all, uint64_t *czxid)
{
    if (*czxid != BARRIER_UNREAD)
        flat_add(all, czxid);
}

static void collect(struct round_state *st, struct flat_numbers *all)
{
    flat_add(all, &st->zxid);
    flat_add(all, &st->ready);
    flat_add(all, &st->bound);
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        struct round_member *m = &st->m[i];
        flat_add(all, &st->node[i]);
        flat_add(all, &m->machine.czxid);
        flat_add(all, &m->machine.before);
        flat_add(all, &m->machine.bound);
        for (int k = 0; k < ROUND_MEMBERS; k++) {
            add_czxid(all, &m->members[k]);
            flat_add(all, &m->names[k]);
        }
        for (int k = 0; k < m->asked; k++)
            flat_add(all, &m->ask[k].bound);
        for (int k = 0; k < m->late; k++)
            flat_add(all, &m->writes[k].bound);
        for (int k = 0; k < m->heard; k++) {
            flat_add(all, &m->hear[k].zxid);
            flat_add(all, &m->hear[k].bound);
            flat_add(all, &m->hear[k].to.bound);
            for (int n = 0; n < ROUND_MEMBERS; n++)
                add_czxid(all, &m->hear[k].counted[n]);
        }
    }
}

/* What the machine will not look at again is the same in all states. */
static void forget_past(struct round_member *m)
{
    struct barrier *b = &m->machine;
    const bool counts = b->state == BARRIER_COUNTING || b->state == BARRIER_OPENING;
    const bool walks = b->state == BARRIER_WAITING || b->leaving;

    if (b->state != BARRIER_QUITTING)
        b->then = 0;
    if (!counts) {
        b->before = 0;
        b->ready = false;
    }
    if (!counts && b->state != BARRIER_LOOKING)
        b->version = 0;
    if (b->state != BARRIER_OPENING && b->state != BARRIER_INSIDE && !b->leaving)
        b->bound = 0;
    if (!b->own && b->state != BARRIER_INSIDE)
        b->czxid = 0;
    if (b->state != BARRIER_LOOKING && b->state != BARRIER_COUNTING)
        b->fired = false;
    if (!b->awaits)
        b->awaited = 0;
    if (!counts && !b->leaving)
        b->unread = 0;
    if (!walks && !counts) {
        memset(m->members, 0, sizeof m->members);
        memset(m->names, 0, sizeof m->names);
    }
}

static void renumber(struct round_member *m)
{
    for (int i = 0; i < m->asked; i++)
        m->ask[i].number = exchange_plain_request(&m->exchange, m->ask[i].number);
    for (int i = 0; i < m->heard; i++)
        m->hear[i].to.number = exchange_plain_request(&m->exchange, m->hear[i].to.number);
    exchange_plain(&m->exchange);
}

/* Forgets the past of versions, too: the present one is 1, each earlier one 0. */
static void age(struct round_state *st)
{
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        struct round_member *m = &st->m[i];
        m->machine.version = m->machine.version == st->version;
        for (int k = 0; k < m->asked; k++)
            m->ask[k].version = m->ask[k].version == st->version;
        for (int k = 0; k < m->late; k++)
            m->writes[k].version = m->writes[k].version == st->version;
        for (int k = 0; k < m->heard; k++) {
            m->hear[k].version = m->hear[k].version == st->version;
            m->hear[k].to.version = m->hear[k].to.version == st->version;
        }
    }
    st->version = 1;
}

static void take(void *state, struct move move)
{
    struct round_state *st = state;
    struct flat_numbers all = {.count = 0};

    happen(st, move);
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        if (st->m[i].crashed || i >= config->members)
            continue;
        forget_past(&st->m[i]);
        renumber(&st->m[i]);
    }
    collect(st, &all);
    flat_rank(&all);
    age(st);
}

static const char *check_end(const void *state)
{
    const struct round_state *st = state;
    int entering = 0;

    for (int i = 0; i < config->members; i++) {
        const struct round_member *m = &st->m[i];
        if (st->node[i] && m->machine.state == BARRIER_OUTSIDE)
            return "outside, and its node stands";
        if (m->calls && (m->machine.leaving || m->machine.state != BARRIER_WAITING))
            return "nothing can happen, but somebody waits";
        entering += m->calls;
    }
    if (st->stray)
        return "a node stands that its member has done with";
    return entering >= config->wanted ? "nothing can happen, but somebody waits" : NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(round_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"two of two", ALWAYS, 2, CONFIG(.members = 2, .wanted = 2, .enters = 3)},
    {"two of three", ALWAYS, 0, CONFIG(.members = 3, .wanted = 2, .enters = 1)},
    {"three of three", ALWAYS, 0, CONFIG(.members = 3, .wanted = 3, .enters = 1)},
    {"behind another's ready", ALWAYS, 2,
     CONFIG(.members = 2, .wanted = 2, .enters = 1, .foreign = true)},
    {"two of two, late", ALWAYS, 2, CONFIG(.members = 2, .wanted = 2, .enters = 2, .late = true)},
    {"three of three", SOAK, 1, CONFIG(.members = 3, .wanted = 3, .enters = 1)},
    {"two of three", SOAK, 1, CONFIG(.members = 3, .wanted = 2, .enters = 1)},
    {"two of three", SOAK, 2, CONFIG(.members = 3, .wanted = 2, .enters = 1)},
    {"three of three", SOAK, 2, CONFIG(.members = 3, .wanted = 3, .enters = 1)},
};

static void print(const void *state)
{
    const struct round_state *st = state;

    for (int i = 0; i < config->members; i++)
        printf(" %s%s, node %d;", barrier_state_name(st->m[i].machine.state),
               st->m[i].crashed ? " (crashed)" : "", (int)st->node[i]);
    printf(" ready %d for %d", (int)st->ready, (int)st->bound);
}

static const char *state_name(int state)
{
    return barrier_state_name((enum barrier_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct round_state),
        .machine = offsetof(struct round_state, m[0].machine.state),
        .stride = sizeof(struct round_member), .machines = ROUND_MEMBERS, .states = BARRIER_STATES};

    return breadth_main(&world, argc, argv);
}
