/* Every interleaving of locks at several paths with one another, with somebody who takes the same
 * paths one by one, and with a few faults, breadth first. An attempt is as much of
 * lib/contender/contender.c as matters here: it creates, hears whether others are ahead, waits, and
 * its node goes when it is left. A client that takes permits in Curator's layout is of this kind,
 * too: it has a lock at its first path, and a lease at each other one, where all nodes are counted.
 * usage: multilocks [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/leasing.h"
#include "recipes/multi_lock.h"

enum {
    MULTILOCK_CLIENTS = 3,
    MULTILOCK_PLACES = 3,
    MULTILOCK_PATHS = MULTILOCK_CLIENTS * MULTILOCK_PLACES,
    MULTILOCK_NODES = 8,
    MULTILOCK_WIRES = 12
};

enum multilock_move {
    MULTILOCK_SERVE,
    MULTILOCK_ANSWER,
    MULTILOCK_HEAD, /* heard, or will be heard as that there are few enough; .at: a path, too */
    MULTILOCK_HEAR, /* .at: a path, too */
    MULTILOCK_BEGIN,
    MULTILOCK_RELEASE,
    MULTILOCK_DELETE, /* .at: a path, too */
    MULTILOCK_LAPSE,
    MULTILOCK_EXPIRE,
    MULTILOCK_FAIL, /* .at: a path, too */
    MULTILOCK_ABORT,
    MULTILOCK_MOVES
};

enum multilock_what {
    WIRE_CREATE = 1,
    WIRE_DELETE,
    WIRE_CREATED,
    WIRE_LISTED, /* few enough nodes */
    WIRE_CHECK,  /* of another layout there are none */
    WIRE_CHECKED
};

struct multilock_wire {
    uint8_t what, path; /* of the client's, from 0 */
    bool current;       /* of the attempt that is at the path now */
    bool ahead;         /* CREATED: others are */
};

/* A client that does not lock all at once uses the machine only to say how far it is. */
struct multilock_client {
    struct multi_lock machine;
    struct multi_lock_path paths[MULTILOCK_PLACES];
    struct leasing leasing;
    uint8_t requests, answers;
    uint8_t rounds; /* left */
    struct multilock_wire request[MULTILOCK_WIRES], answer[MULTILOCK_WIRES];
};

struct multilock_state {
    struct multilock_client c[MULTILOCK_CLIENTS];
    struct {
        uint8_t count, owner[MULTILOCK_NODES]; /* in order */
    } queue[MULTILOCK_PLACES];
    uint8_t faults; /* left */
    bool struck;    /* by one */
};

enum multilock_how { AT_ONCE, NESTED = 1, LEASES = 2, KEEPS = 4, TRIES = 8 };

struct multilock_config {
    struct {
        const char *paths; /* digits, in order; NULL: no such client */
        uint8_t how;       /* bits of enum multilock_how: keeps what it is granted, tries */
    } client[MULTILOCK_CLIENTS];
    int rounds;
    uint8_t limit; /* of leases, which are at place 1 then; 0: there are none */
};

static const struct breadth_kind moves[MULTILOCK_MOVES] = {
    [MULTILOCK_SERVE] = {"the server has a request of", FAIR, MULTILOCK_CLIENTS},
    [MULTILOCK_ANSWER] = {"an answer comes to", FAIR, MULTILOCK_CLIENTS},
    [MULTILOCK_HEAD] = {"the first in line is", FAIR, MULTILOCK_PATHS},
    [MULTILOCK_HEAR] = {"the end of its node is heard by", FAIR, MULTILOCK_PATHS},
    [MULTILOCK_BEGIN] = {"locks:", FAIR, MULTILOCK_CLIENTS},
    [MULTILOCK_RELEASE] = {"unlocks:", FAIR, MULTILOCK_CLIENTS},
    [MULTILOCK_DELETE] = {"an administrator deletes a node of", FAULT, MULTILOCK_PATHS},
    [MULTILOCK_LAPSE] = {"the deadline passes of", FAULT, MULTILOCK_CLIENTS},
    [MULTILOCK_EXPIRE] = {"the session is replaced of", FAULT, MULTILOCK_CLIENTS},
    [MULTILOCK_FAIL] = {"an attempt fails of", FAULT, MULTILOCK_PATHS},
    [MULTILOCK_ABORT] = {"gives up:", FAULT, MULTILOCK_CLIENTS},
};

static const struct multilock_config *config;

/* ---- places ---- */

/* Where the queue of a client's path is. */
static uint8_t place_of(uint8_t client, uint32_t path)
{
    return (uint8_t)(config->client[client].paths[path] - '0');
}

/* All nodes there are, as of leases. */
static bool is_counted(uint8_t place)
{
    return config->limit > 0 && place == 1;
}

static bool is_a(uint8_t client, enum multilock_how how)
{
    return config->client[client].how & how;
}

static int count_nodes(const struct multilock_state *st, uint8_t client, uint8_t place)
{
    int nodes = 0;

    for (uint8_t i = 0; i < st->queue[place].count; i++)
        nodes += st->queue[place].owner[i] == client;
    return nodes;
}

/* Few enough to be granted with. */
static bool is_few(const struct multilock_state *st, uint8_t place)
{
    return st->queue[place].count <= (is_counted(place) ? config->limit : 1);
}

/* With the node of its present attempt: what an earlier one left goes first, or counts. */
static bool is_head(const struct multilock_state *st, uint8_t client, uint32_t path)
{
    const uint8_t place = place_of(client, path);

    if (is_counted(place))
        return count_nodes(st, client, place) > 0 && is_few(st, place);
    return st->queue[place].count > 0 && st->queue[place].owner[0] == client &&
           count_nodes(st, client, place) == 1;
}

/* ---- the queues at the server, and what it answers ---- */

/* Deletes come in the order of creates. */
static void remove_oldest(struct multilock_state *st, uint8_t client, uint8_t place)
{
    for (uint8_t i = 0; i < st->queue[place].count; i++) {
        if (st->queue[place].owner[i] == client) {
            flat_remove(st->queue[place].owner, &st->queue[place].count, 1, i);
            return;
        }
    }
}

static void remove_all(struct multilock_state *st, uint8_t client)
{
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        while (count_nodes(st, client, place) > 0)
            remove_oldest(st, client, place);
    }
}

static struct multilock_wire take_first(struct multilock_wire *wires, uint8_t *count)
{
    const struct multilock_wire first = wires[0];

    flat_remove(wires, count, sizeof first, 0);
    return first;
}

static void put_answer(struct multilock_client *c, struct multilock_wire w)
{
    flat_push(c->answer, &c->answers, MULTILOCK_WIRES, sizeof w, &w);
}

static void serve(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    struct multilock_wire w = take_first(c->request, &c->requests);
    const uint8_t place = place_of(client, w.path);

    if (w.what == WIRE_DELETE) {
        remove_oldest(st, client, place);
        return;
    }
    if (w.what == WIRE_CHECK) {
        w.what = WIRE_CHECKED;
        put_answer(c, w);
        return;
    }
    w.what = WIRE_CREATED;
    flat_push(st->queue[place].owner, &st->queue[place].count, MULTILOCK_NODES, 1, &client);
    w.ahead = !is_few(st, place);
    put_answer(c, w);
}

/* ---- attempts ---- */

static void ask(struct multilock_state *st, uint8_t client, enum multilock_what what, uint32_t path,
                bool current)
{
    struct multilock_client *c = &st->c[client];
    const struct multilock_wire w = {
        .what = (uint8_t)what, .path = (uint8_t)path, .current = current};

    flat_push(c->request, &c->requests, MULTILOCK_WIRES, sizeof w, &w);
}

/* What is under way for the attempt at the path is of no interest from here on. */
static void outdate(struct multilock_client *c, uint32_t path)
{
    for (uint8_t i = 0; i < c->requests; i++)
        c->request[i].current = c->request[i].current && c->request[i].path != path;
    for (uint8_t i = 0; i < c->answers; i++)
        c->answer[i].current = c->answer[i].current && c->answer[i].path != path;
}

static bool is_under_way(const struct multilock_wire *wires, uint8_t count, uint32_t path,
                         enum multilock_what what)
{
    for (uint8_t i = 0; i < count; i++) {
        if (wires[i].current && wires[i].path == path && wires[i].what == what)
            return true;
    }
    return false;
}

static bool is_unanswered(const struct multilock_client *c, uint32_t path)
{
    return is_under_way(c->request, c->requests, path, WIRE_CREATE) ||
           is_under_way(c->answer, c->answers, path, WIRE_CREATED);
}

static bool is_listed(const struct multilock_client *c, uint32_t path)
{
    return is_under_way(c->answer, c->answers, path, WIRE_LISTED);
}

/* A node whose create is not answered yet goes with the answer. */
static void leave_path(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (!is_unanswered(&st->c[client], path))
        ask(st, client, WIRE_DELETE, path, false);
    outdate(&st->c[client], path);
}

static void enter_path(struct multilock_state *st, uint8_t client, uint32_t path)
{
    outdate(&st->c[client], path);
    ask(st, client, WIRE_CREATE, path, true);
}

/* ---- one who takes all at once ---- */

static void perform(struct multilock_state *st, uint8_t client, const struct multi_lock_action *a)
{
    if (a->kind == MULTI_LOCK_ACT_ENTER)
        enter_path(st, client, a->path);
    else if (a->kind == MULTI_LOCK_ACT_LEAVE)
        leave_path(st, client, a->path);
}

/* What is still held goes when the caller was told. */
static void lose(struct multilock_state *st, uint8_t client, uint32_t held)
{
    for (uint32_t i = st->c[client].machine.count; i-- > 0;) {
        if (held & 1U << i)
            leave_path(st, client, i);
    }
}

static void hear_at_once(struct multilock_state *st, uint8_t client,
                         enum multi_lock_event_kind what, uint32_t path)
{
    struct multilock_client *c = &st->c[client];
    const struct multi_lock_event ev = {.kind = what, .path = path, .entry = c->paths[path].entry};
    struct multi_lock_actions actions;
    uint32_t held = 0;

    if (what == MULTI_LOCK_EV_BEGIN)
        multi_lock_init(&c->machine, c->paths);
    for (uint32_t i = 0; i < c->machine.count; i++)
        held |= (uint32_t)(c->paths[i].place == MULTI_LOCK_HELD && i != path) << i;
    multi_lock_step(&c->machine, c->paths, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        perform(st, client, &actions.list[i]);
        if (actions.list[i].kind == MULTI_LOCK_ACT_LOSE)
            lose(st, client, held);
    }
}

/* ---- one who takes the same paths one by one ---- */

static void enter_next(struct multilock_state *st, uint8_t client, uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (path == c->machine.count) {
        c->machine.state = MULTI_LOCK_HOLDING;
        return;
    }
    c->paths[path].place = MULTI_LOCK_ENTERING;
    enter_path(st, client, path);
}

static void release_nested(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    c->machine.state = MULTI_LOCK_DONE;
    for (uint32_t i = c->machine.count; i-- > 0;) {
        c->paths[i].place = MULTI_LOCK_OUT;
        leave_path(st, client, i);
    }
}

static void hear_nested(struct multilock_state *st, uint8_t client, enum multi_lock_event_kind what,
                        uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (what == MULTI_LOCK_EV_BEGIN) {
        multi_lock_init(&c->machine, c->paths);
        c->machine.state = MULTI_LOCK_ACQUIRING;
        enter_next(st, client, 0);
    } else if (what == MULTI_LOCK_EV_RELEASE) {
        release_nested(st, client);
    } else if (what == MULTI_LOCK_EV_WAITS) {
        c->paths[path].place = MULTI_LOCK_WAITING;
    } else {
        c->paths[path].place = MULTI_LOCK_HELD;
        enter_next(st, client, path + 1);
    }
}

/* ---- one who takes permits in Curator's layout, as lib/lock/semaphore.c ---- */

enum { LOCK, LEASE };

static void lease_enter(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_ENTERING;
    enter_path(st, client, path);
}

static void lease_leave(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_OUT;
    leave_path(st, client, path);
}

static void enter_from(struct multilock_state *st, uint8_t client, uint32_t path)
{
    for (; path < st->c[client].machine.count; path++)
        lease_enter(st, client, path);
}

static void leave_from(struct multilock_state *st, uint8_t client, uint32_t path)
{
    for (uint32_t i = st->c[client].machine.count; i-- > path;)
        if (st->c[client].paths[i].place != MULTI_LOCK_OUT)
            lease_leave(st, client, i);
}

static bool has_all(const struct multilock_client *c)
{
    for (uint32_t i = LEASE; i < c->machine.count; i++)
        if (c->paths[i].place != MULTI_LOCK_HELD)
            return false;
    return true;
}

static void lease_tell(struct multilock_state *st, uint8_t client, enum leasing_verdict verdict)
{
    switch (verdict) {
    case LEASING_LOCK:
        lease_enter(st, client, LOCK);
        break;
    case LEASING_UNLOCK:
        lease_leave(st, client, LOCK);
        break;
    case LEASING_LEASE:
        enter_from(st, client, LEASE);
        break;
    case LEASING_LEAVE:
        leave_from(st, client, LEASE);
        break;
    case LEASING_GRANT:
        st->c[client].machine.state = MULTI_LOCK_HOLDING;
        break;
    case LEASING_FAIL:
        st->c[client].machine.state = MULTI_LOCK_DONE;
        break;
    }
}

/* The timer is MULTILOCK_BEGIN, too. */
static void lease_perform(struct multilock_state *st, uint8_t client,
                          const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_REQUEST)
        ask(st, client, WIRE_CHECK, LEASE, true);
    else if (a->kind == MACHINE_ACT_TELL)
        lease_tell(st, client, (enum leasing_verdict)a->verdict);
}

static void step_leasing(struct multilock_state *st, uint8_t client, struct machine_event ev,
                         struct leasing_moment m)
{
    struct machine_actions actions = {.count = 0};

    leasing_step(&st->c[client].leasing, &ev, &m, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        lease_perform(st, client, &actions.list[i]);
}

static void lease_step(struct multilock_state *st, uint8_t client, unsigned kind)
{
    step_leasing(st, client, (struct machine_event){.kind = kind},
                 (struct leasing_moment){.now = 0});
}

static void begin_leases(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    const bool again = c->leasing.state == LEASING_RESTARTING;

    if (!again)
        c->leasing = (struct leasing){.state = LEASING_IDLE};
    c->machine.state = MULTI_LOCK_ACQUIRING;
    lease_step(st, client, again ? MACHINE_EV_TIMER : MACHINE_EV_BEGIN);
}

static void be_granted(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_HELD;
    if (path == LOCK)
        lease_step(st, client, LEASING_EV_LOCKED);
    else if (has_all(&st->c[client]))
        lease_step(st, client, LEASING_EV_LEASED);
}

/* If leases are not admitted yet, the client leaves those behind the lost one, and makes all of
 * them anew, the lost one too. What was granted to the user is the grant's business, and all of it
 * is lost. */
static void be_lost(struct multilock_state *st, uint8_t client, uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    c->paths[path].place = MULTI_LOCK_OUT;
    if (path == LOCK) {
        lease_step(st, client, LEASING_EV_LOCK_LOST);
        return;
    }
    if (c->leasing.state == LEASING_LEASING) {
        leave_from(st, client, path + 1);
        enter_from(st, client, path);
        return;
    }
    leave_from(st, client, LEASE);
    if (c->machine.state == MULTI_LOCK_HOLDING)
        c->machine.state = MULTI_LOCK_DONE;
    else
        lease_step(st, client, LEASING_EV_LEASE_LOST);
}

static void be_refused(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_OUT;
    if (path > LOCK)
        leave_from(st, client, LEASE);
    lease_step(st, client, path == LOCK ? LEASING_EV_LOCK_FAILED : LEASING_EV_LEASE_FAILED);
}

static void hear_checked(struct multilock_state *st, uint8_t client, bool mixed)
{
    step_leasing(st, client, (struct machine_event){.kind = MACHINE_EV_ANSWER, .verb = STORE_LIST},
                 (struct leasing_moment){.mixed = mixed});
}

static void hear_leases(struct multilock_state *st, uint8_t client, enum multi_lock_event_kind what,
                        uint32_t path)
{
    switch (what) {
    case MULTI_LOCK_EV_BEGIN:
        begin_leases(st, client);
        break;
    case MULTI_LOCK_EV_RELEASE:
        st->c[client].machine.state = MULTI_LOCK_DONE;
        leave_from(st, client, LEASE);
        break;
    case MULTI_LOCK_EV_WAITS:
        st->c[client].paths[path].place = MULTI_LOCK_WAITING;
        break;
    case MULTI_LOCK_EV_GRANTED:
        be_granted(st, client, path);
        break;
    case MULTI_LOCK_EV_LOST:
        be_lost(st, client, path);
        break;
    case MULTI_LOCK_EV_FAILED:
        be_refused(st, client, path);
        break;
    case MULTI_LOCK_EV_ABORT:
        lease_step(st, client, MACHINE_EV_STOP);
        break;
    }
}

/* ---- answers ---- */

static void hear(struct multilock_state *st, uint8_t client, enum multi_lock_event_kind what,
                 uint32_t path)
{
    if (is_a(client, LEASES))
        hear_leases(st, client, what, path);
    else if (is_a(client, NESTED))
        hear_nested(st, client, what, path);
    else
        hear_at_once(st, client, what, path);
}

static void refuse(struct multilock_state *st, uint8_t client, uint32_t path)
{
    ask(st, client, WIRE_DELETE, path, false);
    hear(st, client, MULTI_LOCK_EV_FAILED, path);
}

static void created(struct multilock_state *st, uint8_t client, struct multilock_wire answer)
{
    if (!answer.current)
        ask(st, client, WIRE_DELETE, answer.path, false);
    else if (answer.ahead && is_a(client, TRIES))
        refuse(st, client, answer.path);
    else if (answer.ahead)
        hear(st, client, MULTI_LOCK_EV_WAITS, answer.path);
    else
        hear(st, client, MULTI_LOCK_EV_GRANTED, answer.path);
}

static void hear_answer(struct multilock_state *st, uint8_t client, struct multilock_wire answer)
{
    if (answer.what == WIRE_CREATED)
        created(st, client, answer);
    else if (answer.current && answer.what == WIRE_LISTED)
        hear(st, client, MULTI_LOCK_EV_GRANTED, answer.path);
    else if (answer.current)
        hear_checked(st, client, false);
}

/* ---- what must hold ---- */

/* How often; several leases are at one place. That its lock is lost, one who takes leases may not
 * have heard yet. */
static int holds_place(const struct multilock_state *st, uint8_t client, uint8_t place)
{
    const struct multilock_client *c = &st->c[client];
    int held = 0;

    if (is_a(client, LEASES) && count_nodes(st, client, place) == 0)
        return 0;
    for (uint32_t i = 0; i < c->machine.count; i++)
        held += place_of(client, i) == place && c->paths[i].place == MULTI_LOCK_HELD;
    return held;
}

static void check_exclusion(struct multilock_state *st)
{
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        int holders = 0;
        for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++)
            holders += holds_place(st, i, place);
        if (is_counted(place))
            breadth_require(holders <= config->limit, "more permits are held than there are");
        else
            breadth_require(holders <= 1, "two hold one path");
    }
}

/* What the server sees of a client that has nothing under way: behind the first node that is not
 * at the head it has none. */
static void check_order(struct multilock_state *st, uint8_t client)
{
    const struct multilock_client *c = &st->c[client];
    bool waits = false;

    if (c->requests > 0 || c->answers > 0)
        return;
    for (uint32_t i = 0; i < c->machine.count; i++) {
        const bool there = count_nodes(st, client, place_of(client, i)) > 0;
        breadth_require(!there || !waits, "queued or holding behind a path that is waited for");
        waits = waits || (there && !is_head(st, client, i));
    }
}

/* Whether the client has a node for what it was granted at the path. A client with permits has
 * given the lock back. */
static bool has_node(const struct multilock_state *st, uint8_t client, uint32_t path)
{
    const uint8_t place = place_of(client, path);

    if (is_a(client, LEASES))
        return !is_counted(place) ||
               count_nodes(st, client, place) >= (int)st->c[client].machine.count - 1;
    return is_head(st, client, path);
}

static void check(struct multilock_state *st)
{
    check_exclusion(st);
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        for (uint32_t k = 0; k < c->machine.count && c->machine.state == MULTI_LOCK_HOLDING; k++)
            breadth_require(has_node(st, i, k), "a grant, but not all of its nodes are first");
        if (!is_a(i, LEASES))
            check_order(st, i);
    }
}

/* For ever. */
static bool keeps(const struct multilock_state *st, uint8_t client)
{
    return is_a(client, KEEPS) && st->c[client].machine.state == MULTI_LOCK_HOLDING;
}

static const char *check_end(const void *state)
{
    const struct multilock_state *st = state;
    int kept[MULTILOCK_PLACES] = {0};
    bool none = !st->struck;

    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        if (!keeps(st, i) && (c->rounds > 0 || (c->machine.state != MULTI_LOCK_IDLE &&
                                                c->machine.state != MULTI_LOCK_DONE)))
            return "nothing can happen, but somebody waits";
        for (uint8_t place = 0; place < MULTILOCK_PLACES; place++)
            kept[place] += keeps(st, i) ? holds_place(st, i, place) : 0;
        none = none && !keeps(st, i) && (is_a(i, TRIES) || c->machine.count == 0);
    }
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        if (st->queue[place].count > kept[place])
            return "a node is left that nobody wants";
    }
    return none ? "of all that tried none was granted" : NULL;
}

/* What is reached. Numbers that make no difference are no part of the state. */
static void note(struct multilock_client *c)
{
    breadth_reached(config->limit > 0 ? 1U << ((int)MULTI_LOCK_STATES + (int)c->leasing.state)
                                      : 1U << c->machine.state);
    c->machine.entries = 0;
    for (uint32_t i = 0; i < MULTILOCK_PLACES; i++)
        c->paths[i].entry = 0;
}

/* .at is the client, and which of its paths. */
static uint8_t client_of(uint8_t at)
{
    return at % MULTILOCK_CLIENTS;
}

static uint32_t path_of(uint8_t at)
{
    return at / MULTILOCK_CLIENTS;
}

static void init(void *state, const void *data)
{
    struct multilock_state *st = state;

    config = data;
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const char *paths = config->client[i].paths;
        st->c[i].machine.count = paths ? (uint32_t)strlen(paths) : 0;
        st->c[i].machine.one_by_one = is_a(i, TRIES);
        st->c[i].rounds = paths ? (uint8_t)config->rounds : 0;
        note(&st->c[i]);
    }
}

/* ---- faults ---- */

static uint32_t held(const struct multilock_client *c)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < c->machine.count; i++)
        held |= (uint32_t)(c->paths[i].place == MULTI_LOCK_HELD) << i;
    return held;
}

/* The end of a lock's node that is heard late does no harm; that of what is granted is heard at
 * once, as whoever deletes it must know. */
static bool hears_late(uint8_t client, uint32_t path)
{
    return is_a(client, LEASES) && !is_counted(place_of(client, path));
}

static void delete_node(struct multilock_state *st, uint8_t client, uint32_t path)
{
    remove_oldest(st, client, place_of(client, path));
    if (!hears_late(client, path))
        hear(st, client, MULTI_LOCK_EV_LOST, path);
}

/* Each that is lost deletes its own node; the machine may be at it again by then. */
static void lapse(struct multilock_state *st, uint8_t client)
{
    const uint32_t lost = held(&st->c[client]);

    for (uint32_t i = 0; i < st->c[client].machine.count; i++) {
        if (!(lost & 1U << i) || !(held(&st->c[client]) & 1U << i))
            continue;
        ask(st, client, WIRE_DELETE, i, false);
        hear(st, client, MULTI_LOCK_EV_LOST, i);
    }
}

/* Attempts enter again by themselves; what was held is lost. */
static void expire_session(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    const uint32_t lost = held(c);

    remove_all(st, client);
    c->requests = c->answers = 0;
    memset(c->request, 0, sizeof c->request);
    memset(c->answer, 0, sizeof c->answer);
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (c->paths[i].place == MULTI_LOCK_ENTERING || c->paths[i].place == MULTI_LOCK_WAITING)
            ask(st, client, WIRE_CREATE, i, true);
    }
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (lost & 1U << i)
            hear(st, client, MULTI_LOCK_EV_LOST, i);
    }
}

/* Its node goes, if there is one yet. With a lease that is admitted it is the look at the path that
 * fails. */
static void fail_attempt(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (st->c[client].paths[path].place == MULTI_LOCK_HELD) {
        hear_checked(st, client, true);
        return;
    }
    remove_oldest(st, client, place_of(client, path));
    hear(st, client, MULTI_LOCK_EV_FAILED, path);
}

/* ---- what happens ---- */

/* Heard later: by then there may be more. */
static void become_head(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (is_counted(place_of(client, path)))
        put_answer(
            &st->c[client],
            (struct multilock_wire){.what = WIRE_LISTED, .path = (uint8_t)path, .current = true});
    else
        hear(st, client, MULTI_LOCK_EV_GRANTED, path);
}

static void begin(struct multilock_state *st, uint8_t client)
{
    if (st->c[client].machine.state != MULTI_LOCK_ACQUIRING)
        st->c[client].rounds--;
    hear(st, client, MULTI_LOCK_EV_BEGIN, 0);
}

static void happen(struct multilock_state *st, enum multilock_move kind, uint8_t client,
                   uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (kind == MULTILOCK_SERVE)
        serve(st, client);
    else if (kind == MULTILOCK_ANSWER)
        hear_answer(st, client, take_first(c->answer, &c->answers));
    else if (kind == MULTILOCK_HEAD)
        become_head(st, client, path);
    else if (kind == MULTILOCK_HEAR)
        hear(st, client, MULTI_LOCK_EV_LOST, path);
    else if (kind == MULTILOCK_BEGIN)
        begin(st, client);
    else if (kind == MULTILOCK_RELEASE)
        hear(st, client, MULTI_LOCK_EV_RELEASE, 0);
    else if (kind == MULTILOCK_DELETE)
        delete_node(st, client, path);
    else if (kind == MULTILOCK_LAPSE)
        lapse(st, client);
    else if (kind == MULTILOCK_EXPIRE)
        expire_session(st, client);
    else if (kind == MULTILOCK_FAIL)
        fail_attempt(st, client, path);
    else
        hear(st, client, MULTI_LOCK_EV_ABORT, 0);
}

static void take(void *state, struct move move)
{
    struct multilock_state *st = state;

    st->struck = st->struck || moves[move.kind].when == FAULT;
    happen(st, (enum multilock_move)move.kind, client_of(move.at), path_of(move.at));
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++)
        note(&st->c[i]);
    check(st);
}

/* ---- which of it ---- */

static bool may_at_path(const struct multilock_state *st, enum multilock_move kind, uint8_t client,
                        uint32_t path)
{
    const struct multilock_client *c = &st->c[client];
    const enum multi_lock_place place = c->paths[path].place;

    if (kind == MULTILOCK_HEAD)
        return place == MULTI_LOCK_WAITING && is_head(st, client, path) &&
               !is_unanswered(c, path) && !is_listed(c, path);
    if (kind == MULTILOCK_HEAR)
        return place == MULTI_LOCK_HELD && hears_late(client, path) &&
               count_nodes(st, client, place_of(client, path)) == 0;
    if (kind == MULTILOCK_DELETE)
        return place == MULTI_LOCK_HELD && count_nodes(st, client, place_of(client, path)) > 0;
    return kind == MULTILOCK_FAIL &&
           ((place == MULTI_LOCK_WAITING && !is_unanswered(c, path)) ||
            (place == MULTI_LOCK_HELD && c->leasing.state == LEASING_CHECKING));
}

static bool may_happen(const struct multilock_state *st, enum multilock_move kind, uint8_t client)
{
    const struct multilock_client *c = &st->c[client];
    const bool acquires = c->machine.state == MULTI_LOCK_ACQUIRING;

    switch (kind) {
    case MULTILOCK_SERVE:
        return c->requests > 0;
    case MULTILOCK_ANSWER:
        return c->answers > 0;
    case MULTILOCK_BEGIN:
        return c->leasing.state == LEASING_RESTARTING ||
               (c->rounds > 0 &&
                (c->machine.state == MULTI_LOCK_IDLE || c->machine.state == MULTI_LOCK_DONE));
    case MULTILOCK_RELEASE:
        return c->machine.state == MULTI_LOCK_HOLDING && !is_a(client, KEEPS);
    case MULTILOCK_LAPSE:
        return held(c) > 0;
    case MULTILOCK_EXPIRE:
        return acquires || c->machine.state == MULTI_LOCK_HOLDING;
    case MULTILOCK_ABORT:
        return acquires;
    default:
        return false;
    }
}

/* One who takes them one by one suffers no faults. */
static bool may(const void *state, struct move move)
{
    const struct multilock_state *st = state;
    const enum multilock_move kind = (enum multilock_move)move.kind;
    const uint8_t client = client_of(move.at);

    if (moves[kind].when == FAULT && is_a(client, NESTED))
        return false;
    if (moves[kind].ats == MULTILOCK_CLIENTS)
        return may_happen(st, kind, client);
    return path_of(move.at) < st->c[client].machine.count &&
           may_at_path(st, kind, client, path_of(move.at));
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(multilock_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"two locks", ALWAYS, 2, CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}}, .rounds = 1)},
    {"two locks again", ALWAYS, 1,
     CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}}, .rounds = 2)},
    {"two locks of three", ALWAYS, 1,
     CONFIG(.client = {{"012", AT_ONCE}, {"012", AT_ONCE}}, .rounds = 1)},
    {"and one by one", ALWAYS, 1,
     CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}, {"01", NESTED}}, .rounds = 1)},
    {"and one by one again", ALWAYS, 0,
     CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}, {"01", NESTED}}, .rounds = 2)},
    {"in a ring", ALWAYS, 1,
     CONFIG(.client = {{"01", AT_ONCE}, {"12", AT_ONCE}, {"02", AT_ONCE}}, .rounds = 1)},
    {"two tries", ALWAYS, 2,
     CONFIG(.client = {{"01", TRIES | KEEPS}, {"01", TRIES | KEEPS}}, .rounds = 1)},
    {"three tries", ALWAYS, 1,
     CONFIG(.client = {{"01", TRIES | KEEPS}, {"01", TRIES | KEEPS}, {"01", TRIES | KEEPS}},
            .rounds = 1)},
    {"three tries of three", ALWAYS, 0,
     CONFIG(.client = {{"012", TRIES | KEEPS}, {"012", TRIES | KEEPS}, {"012", TRIES | KEEPS}},
            .rounds = 1)},
    {"a try beside locks", ALWAYS, 1,
     CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}, {"01", TRIES}}, .rounds = 1)},
    {"tries in a ring", ALWAYS, 1,
     CONFIG(.client = {{"01", TRIES | KEEPS}, {"12", TRIES | KEEPS}, {"02", TRIES | KEEPS}},
            .rounds = 1)},
    {"a permit for two", ALWAYS, 2,
     CONFIG(.client = {{"01", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 1)},
    {"a permit for three", ALWAYS, 1,
     CONFIG(.client = {{"01", LEASES}, {"01", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 1)},
    {"two permits, one kept", ALWAYS, 1,
     CONFIG(.client = {{"01", LEASES | KEEPS}, {"01", LEASES}, {"01", LEASES}}, .rounds = 1,
            .limit = 2)},
    {"two permits at once for two", ALWAYS, 1,
     CONFIG(.client = {{"011", LEASES}, {"011", LEASES}}, .rounds = 1, .limit = 2)},
    {"three permits, two at once", ALWAYS, 0,
     CONFIG(.client = {{"011", LEASES}, {"011", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 3)},
    {"two locks again", SOAK, 2, CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}}, .rounds = 2)},
    {"two locks of three", SOAK, 2,
     CONFIG(.client = {{"012", AT_ONCE}, {"012", AT_ONCE}}, .rounds = 1)},
    {"and one by one", SOAK, 2,
     CONFIG(.client = {{"01", AT_ONCE}, {"01", AT_ONCE}, {"01", NESTED}}, .rounds = 1)},
    {"in a ring", SOAK, 2,
     CONFIG(.client = {{"01", AT_ONCE}, {"12", AT_ONCE}, {"02", AT_ONCE}}, .rounds = 1)},
    {"a permit for three", SOAK, 2,
     CONFIG(.client = {{"01", LEASES}, {"01", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 1)},
    {"two permits for three", SOAK, 2,
     CONFIG(.client = {{"01", LEASES}, {"01", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 2)},
    {"two permits, one kept", SOAK, 2,
     CONFIG(.client = {{"01", LEASES | KEEPS}, {"01", LEASES}, {"01", LEASES}}, .rounds = 1,
            .limit = 2)},
    {"two permits at once for two", SOAK, 2,
     CONFIG(.client = {{"011", LEASES}, {"011", LEASES}}, .rounds = 1, .limit = 2)},
    {"three permits, two at once", SOAK, 1,
     CONFIG(.client = {{"011", LEASES}, {"011", LEASES}, {"01", LEASES}}, .rounds = 1, .limit = 3)},
};

static void print(const void *state)
{
    const struct multilock_state *st = state;

    for (int i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        printf(" %s ", config->limit > 0 ? leasing_state_name(c->leasing.state)
                                         : multi_lock_state_name(c->machine.state));
        for (uint32_t k = 0; k < c->machine.count; k++)
            putchar("-ewh"[c->paths[k].place]);
        printf(" %d/%d,", c->requests, c->answers);
    }
    for (int i = 0; i < MULTILOCK_PLACES; i++) {
        printf(" [");
        for (uint8_t k = 0; k < st->queue[i].count; k++)
            printf("%d", st->queue[i].owner[k]);
        printf("]");
    }
}

static const char *state_name(int state)
{
    return state < MULTI_LOCK_STATES
               ? multi_lock_state_name((enum multi_lock_state)state)
               : leasing_state_name((enum leasing_state)(state - MULTI_LOCK_STATES));
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {BREADTH_WORLD(struct multilock_state),
                                               .states =
                                                   (int)MULTI_LOCK_STATES + (int)LEASING_STATES};

    return breadth_main(&world, argc, argv);
}
