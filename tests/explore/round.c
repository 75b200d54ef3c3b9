#include "round.h"

#include <stdio.h>
#include <string.h>

#include "flat.h"

struct round_config round_config;

static const struct {
    const char *text;
    bool fault;
} moves[ROUND_MOVES] = {
    [ROUND_SERVE] = {"the server takes up a request of", false},
    [ROUND_DELIVER] = {"an answer or event reaches", false},
    [ROUND_ENTER] = {"enters", false},
    [ROUND_LEAVE] = {"leaves", false},
    [ROUND_STOP] = {"the time is over of", true},
    [ROUND_EXPIRE] = {"the session ends of", true},
    [ROUND_CRASH] = {"crashes", true},
    [ROUND_FOREIGN] = {"another library makes ready", true},
};

const char *const round_broken_texts[ROUND_BROKEN_COUNT] = {
    [ROUND_WHOLE] = "nothing",
    [ROUND_FEW] = "entered, and there were never enough",
    [ROUND_MANY] = "more are inside than asked for",
    [ROUND_EARLY] = "left, and another of the round is still there",
    [ROUND_REMAINS] = "outside, and its node stands",
    [ROUND_TOLD] = "told what was not asked",
    [ROUND_STUCK] = "nothing can happen, but somebody waits",
};

const char *round_move_text(enum round_move kind)
{
    return moves[kind].text;
}

static void fail(struct round_state *st, enum round_broken broken)
{
    if (!st->broken)
        st->broken = (uint8_t)broken;
}

void round_init(void *state)
{
    struct round_state *st = state;

    memset(st, 0, sizeof *st);
    st->faults = (uint8_t)round_config.faults;
    for (int i = 0; i < round_config.members; i++) {
        st->m[i].machine.wanted = (size_t)round_config.wanted;
        st->m[i].enters = (uint8_t)round_config.enters;
        exchange_plain(&st->m[i].exchange);
    }
}

/* ---- what is on its way ---- */

static void hear(struct round_member *m, struct round_heard what)
{
    if (m->heard < ROUND_HEARD)
        m->hear[m->heard++] = what;
}

/* A subscription that was dropped does not fire, whatever is on its way. */
static void unwatch(struct round_member *m, uint32_t node)
{
    uint8_t kept = 0;

    if (node == BARRIER_READY)
        m->watches_ready = false;
    else
        m->watches = 0;
    for (uint8_t i = 0; i < m->heard; i++) {
        if (m->hear[i].kind != MACHINE_EV_FIRED || m->hear[i].node != node)
            m->hear[kept++] = m->hear[i];
    }
    memset(&m->hear[kept], 0, sizeof m->hear[0] * (size_t)(m->heard - kept));
    m->heard = kept;
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

/* There are enough who have not entered yet: from here on they may. */
static void note_enough(struct round_state *st)
{
    int count = 0;

    for (int i = 0; i < ROUND_MEMBERS; i++)
        count += st->node[i] && !st->m[i].entered;
    for (int i = 0; i < ROUND_MEMBERS && count >= round_config.wanted; i++)
        st->m[i].seen |= st->node[i] != 0;
}

static void delete_node(struct round_state *st, int at)
{
    if (!st->node[at])
        return;
    st->node[at] = 0;
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
    for (int i = first; i <= first + reply->more; i++)
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
static void serve_quit_last(struct round_state *st, int at, struct round_heard *reply)
{
    if (!st->ready || !st->node[at]) {
        reply->rc = STORE_NONODE;
        return;
    }
    delete_node(st, at);
    st->ready = st->bound = 0;
    fire_ready(st);
}

static void serve_ready(const struct round_state *st, struct round_member *m,
                        struct round_heard *reply)
{
    m->watches_ready |= reply->verb == STORE_STAT;
    reply->rc = st->ready ? STORE_OK : STORE_NONODE;
    if (reply->verb == STORE_STAT)
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

static void answer(struct round_state *st, int at, const struct round_ask *a,
                   struct round_heard *reply)
{
    struct round_member *m = &st->m[at];

    switch (a->verb) {
    case STORE_CREATE:
        st->node[at] = reply->zxid = ++st->zxid;
        note_enough(st);
        break;
    case STORE_LIST:
        serve_list(st, reply);
        break;
    case STORE_GET:
    case STORE_STAT:
        if (a->node == BARRIER_DIRECTORY)
            reply->version = st->version;
        else if (a->node == BARRIER_READY)
            serve_ready(st, m, reply);
        else if (a->node == BARRIER_AWAITED)
            serve_await(st, m, reply);
        else
            serve_read(st, m, reply);
        break;
    case STORE_DELETE:
        delete_node(st, at);
        break;
    default:
        if (a->last)
            serve_quit_last(st, at, reply);
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
    struct round_heard reply = {.kind = MACHINE_EV_ANSWER,
                                .verb = a.verb,
                                .node = a.node,
                                .more = a.more,
                                .number = a.number};

    flat_remove(m->ask, &m->asked, sizeof m->ask[0], 0);
    if (exchange_is_stale(&m->exchange, a.number) && a.node == BARRIER_AWAITED)
        return;
    answer(st, at, &a, &reply);
    if (a.node != BARRIER_AWAITED || reply.rc != STORE_OK)
        hear(m, reply);
}

/* ---- the driver ---- */

static void check_entered(struct round_state *st, int at)
{
    int inside = 0;

    if (!st->m[at].seen && !round_config.foreign)
        fail(st, ROUND_FEW);
    st->m[at].entered = st->node[at] != 0;
    for (int i = 0; i < ROUND_MEMBERS; i++)
        inside += st->node[i] && st->m[i].entered;
    if (inside > round_config.wanted && !round_config.foreign)
        fail(st, ROUND_MANY);
}

static void check_left(struct round_state *st, int at)
{
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        if (i != at && st->m[i].entered && st->node[i] && st->node[i] <= st->m[at].machine.bound)
            fail(st, ROUND_EARLY);
    }
}

static void told(struct round_state *st, int at, enum barrier_verdict verdict)
{
    struct round_member *m = &st->m[at];

    if (!m->calls)
        fail(st, ROUND_TOLD);
    m->calls = false;
    if (m->machine.state == BARRIER_INSIDE)
        check_entered(st, at);
    else if (st->node[at])
        fail(st, ROUND_REMAINS);
    else if (verdict == BARRIER_DONE)
        check_left(st, at);
}

static void ask(struct round_member *m, const struct machine_action *a)
{
    const bool writes = a->verb == STORE_MULTI;
    const struct exchange_request number = exchange_ask(&m->exchange, a);

    m->ask[m->asked++] = (struct round_ask){.verb = (uint8_t)a->verb,
                                            .node = (uint8_t)a->node,
                                            .replace = writes && a->parts[1].verb == STORE_SET,
                                            .last = writes && a->parts[0].verb == STORE_DELETE,
                                            .more = (uint8_t)a->more,
                                            .version = writes ? (uint8_t)a->parts[0].version : 0,
                                            .number = number,
                                            .bound = writes ? m->machine.bound : 0};
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
    case MACHINE_ACT_END:
        exchange_end(&m->exchange);
        unwatch(m, BARRIER_READY);
        unwatch(m, BARRIER_AWAITED);
        break;
    case MACHINE_ACT_TELL:
        told(st, at, (enum barrier_verdict)a->verdict);
        break;
    default: /* names are places */
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
    if (h->verb != STORE_LIST)
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
                               .verb = (enum store_kind)h.verb,
                               .rc = (enum store_rc)h.rc,
                               .gone = true,
                               .version = h.version,
                               .czxid = h.zxid,
                               .mzxid = h.zxid,
                               .pzxid = h.zxid,
                               .data = data};

    flat_remove(m->hear, &m->heard, sizeof h, 0);
    if (h.kind == MACHINE_EV_ANSWER &&
        exchange_answered(&m->exchange, h.number, &ev) != EXCHANGE_HEARD)
        return;
    if (h.bound)
        ev.length = (size_t)snprintf(data, sizeof data, BARRIER_WORDS "%d", (int)h.bound);
    if (h.verb == STORE_LIST || (h.verb == STORE_STAT && h.node >= BARRIER_MEMBER))
        take_members(m, &h);
    for (uint8_t i = 0; i <= h.more; i++) {
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
}

static void take(struct round_state *st, struct breadth_step by)
{
    struct round_member *m = &st->m[by.at];
    bool unsent;

    switch (by.kind) {
    case ROUND_SERVE:
        serve(st, by.at);
        break;
    case ROUND_DELIVER:
        deliver(st, by.at);
        break;
    case ROUND_ENTER:
        m->enters--;
        m->calls = true;
        step(st, by.at, (struct machine_event){.kind = BARRIER_EV_ENTER});
        break;
    case ROUND_LEAVE:
        m->calls = true;
        step(st, by.at, (struct machine_event){.kind = BARRIER_EV_LEAVE});
        break;
    case ROUND_STOP:
        step(st, by.at, (struct machine_event){.kind = MACHINE_EV_STOP});
        break;
    case ROUND_EXPIRE:
        unsent = !st->node[by.at] && m->heard == 0;
        forget(st, by.at);
        step(st, by.at, (struct machine_event){.kind = MACHINE_EV_SESSION, .unsent = unsent});
        break;
    case ROUND_CRASH:
        forget(st, by.at);
        memset(m, 0, sizeof *m);
        m->crashed = true;
        break;
    default:
        write_ready(st, 0);
        break;
    }
}

static bool is_possible(const struct round_state *st, enum round_move kind, int at)
{
    const struct round_member *m = &st->m[at];
    const enum barrier_state state = m->machine.state;

    if (m->crashed || (moves[kind].fault && st->faults == 0))
        return false;
    switch (kind) {
    case ROUND_SERVE:
        return m->asked > 0;
    case ROUND_DELIVER:
        return m->heard > 0;
    case ROUND_ENTER:
        return !m->calls && state == BARRIER_OUTSIDE && m->enters > 0;
    case ROUND_LEAVE:
        return !m->calls && state == BARRIER_INSIDE;
    case ROUND_STOP:
        return m->calls && !m->machine.stopped;
    case ROUND_EXPIRE:
    case ROUND_CRASH:
        return state != BARRIER_OUTSIDE;
    default:
        return round_config.foreign && at == 0 && st->ready == 0;
    }
}

int round_list(const void *state, struct breadth_step *steps)
{
    const struct round_state *st = state;
    int count = 0;

    for (uint8_t kind = 0; kind < ROUND_MOVES; kind++) {
        for (uint8_t at = 0; at < round_config.members; at++) {
            if (is_possible(st, kind, at))
                steps[count++] = (struct breadth_step){kind, at};
        }
    }
    return count;
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
        for (int k = 0; k < m->heard; k++) {
            flat_add(all, &m->hear[k].zxid);
            flat_add(all, &m->hear[k].bound);
            for (int n = 0; n < ROUND_MEMBERS; n++)
                add_czxid(all, &m->hear[k].counted[n]);
        }
    }
}

static void rank(struct round_state *st)
{
    struct flat_numbers all = {.count = 0};

    collect(st, &all);
    flat_rank(&all);
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
        m->hear[i].number = exchange_plain_request(&m->exchange, m->hear[i].number);
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
        for (int k = 0; k < m->heard; k++)
            m->hear[k].version = m->hear[k].version == st->version;
    }
    st->version = 1;
}

void round_do(void *state, struct breadth_step by)
{
    struct round_state *st = state;

    if (moves[by.kind].fault)
        st->faults--;
    take(st, by);
    for (int i = 0; i < ROUND_MEMBERS; i++) {
        if (st->m[i].crashed || i >= round_config.members)
            continue;
        forget_past(&st->m[i]);
        renumber(&st->m[i]);
    }
    rank(st);
    age(st);
}

int round_check_end(const void *state)
{
    const struct round_state *st = state;
    int entering = 0;

    for (int i = 0; i < round_config.members; i++) {
        const struct round_member *m = &st->m[i];
        if (st->node[i] && m->machine.state == BARRIER_OUTSIDE)
            return ROUND_REMAINS;
        if (m->calls && (m->machine.leaving || m->machine.state != BARRIER_WAITING))
            return ROUND_STUCK;
        entering += m->calls;
    }
    return entering >= round_config.wanted ? ROUND_STUCK : ROUND_WHOLE;
}
