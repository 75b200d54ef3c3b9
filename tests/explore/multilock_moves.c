#include <string.h>

#include "flat.h"
#include "multilock.h"

struct multilock_config multilock_config;

static const struct {
    const char *text;
    bool fault;
} moves[MULTILOCK_MOVES] = {
    [MULTILOCK_SERVE] = {"the server has a request of", false},
    [MULTILOCK_ANSWER] = {"an answer comes to", false},
    [MULTILOCK_HEAD] = {"the first in line is", false},
    [MULTILOCK_BEGIN] = {"locks:", false},
    [MULTILOCK_RELEASE] = {"unlocks:", false},
    [MULTILOCK_DELETE] = {"an administrator deletes a node of", true},
    [MULTILOCK_LAPSE] = {"the deadline passes of", true},
    [MULTILOCK_EXPIRE] = {"the session is replaced of", true},
    [MULTILOCK_FAIL] = {"an attempt fails of", true},
    [MULTILOCK_ABORT] = {"gives up:", true},
};

/* .at is the client, and which of its paths. */
static uint8_t client_of(uint8_t at)
{
    return at % MULTILOCK_CLIENTS;
}

static uint32_t path_of(uint8_t at)
{
    return at / MULTILOCK_CLIENTS;
}

const char *multilock_move_text(enum multilock_move kind)
{
    return moves[kind].text;
}

void multilock_init(void *state)
{
    struct multilock_state *st = state;

    memset(st, 0, sizeof *st);
    st->faults = (uint8_t)multilock_config.faults;
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const char *paths = multilock_config.client[i].paths;
        st->c[i].machine.count = paths ? (uint32_t)strlen(paths) : 0;
        st->c[i].rounds = paths ? (uint8_t)multilock_config.rounds : 0;
    }
}

/* ---- the server ---- */

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
        while (multilock_nodes(st, client, place) > 0)
            remove_oldest(st, client, place);
    }
}

static struct multilock_wire take_first(struct multilock_wire *wires, uint8_t *count)
{
    const struct multilock_wire first = wires[0];

    flat_remove(wires, count, sizeof first, 0);
    return first;
}

static void serve(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    struct multilock_wire w = take_first(c->request, &c->requests);
    const uint8_t place = multilock_place(client, w.path);

    if (w.what == WIRE_DELETE) {
        remove_oldest(st, client, place);
        return;
    }
    w.what = WIRE_CREATED;
    w.ahead = st->queue[place].count > 0;
    multilock_require(st, st->queue[place].count < MULTILOCK_NODES, MULTILOCK_WIRE);
    st->queue[place].owner[st->queue[place].count++] = client;
    multilock_require(st, c->answers < MULTILOCK_WIRES, MULTILOCK_WIRE);
    c->answer[c->answers++] = w;
}

/* ---- faults ---- */

static uint32_t held(const struct multilock_client *c)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < c->machine.count; i++)
        held |= (uint32_t)(c->paths[i].place == MULTI_LOCK_HELD) << i;
    return held;
}

static void delete_node(struct multilock_state *st, uint8_t client, uint32_t path)
{
    remove_oldest(st, client, multilock_place(client, path));
    multilock_lost(st, client, path);
}

/* Each that is lost deletes its own node; the machine may be at it again by then. */
static void lapse(struct multilock_state *st, uint8_t client)
{
    const uint32_t lost = held(&st->c[client]);

    for (uint32_t i = 0; i < st->c[client].machine.count; i++) {
        if (!(lost & 1U << i) || !(held(&st->c[client]) & 1U << i))
            continue;
        multilock_ask(st, client, WIRE_DELETE, i, false);
        multilock_lost(st, client, i);
    }
}

/* Attempts enter again by themselves; what was held is lost. */
static void expire(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    const uint32_t lost = held(c);

    remove_all(st, client);
    c->requests = c->answers = 0;
    memset(c->request, 0, sizeof c->request);
    memset(c->answer, 0, sizeof c->answer);
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (c->paths[i].place == MULTI_LOCK_ENTERING || c->paths[i].place == MULTI_LOCK_WAITING)
            multilock_ask(st, client, WIRE_CREATE, i, true);
    }
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (lost & 1U << i)
            multilock_lost(st, client, i);
    }
}

/* Its node goes, if there is one yet. */
static void fail(struct multilock_state *st, uint8_t client, uint32_t path)
{
    remove_oldest(st, client, multilock_place(client, path));
    multilock_step(st, client, (struct multi_lock_event){MULTI_LOCK_EV_FAILED, .path = path});
}

/* ---- what happens ---- */

static void happen(struct multilock_state *st, enum multilock_move kind, uint8_t client,
                   uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (kind == MULTILOCK_SERVE)
        serve(st, client);
    else if (kind == MULTILOCK_ANSWER)
        multilock_created(st, client, take_first(c->answer, &c->answers));
    else if (kind == MULTILOCK_HEAD)
        multilock_granted(st, client, path);
    else if (kind == MULTILOCK_BEGIN)
        multilock_begin(st, client);
    else if (kind == MULTILOCK_RELEASE)
        multilock_release(st, client);
    else if (kind == MULTILOCK_DELETE)
        delete_node(st, client, path);
    else if (kind == MULTILOCK_LAPSE)
        lapse(st, client);
    else if (kind == MULTILOCK_EXPIRE)
        expire(st, client);
    else if (kind == MULTILOCK_FAIL)
        fail(st, client, path);
    else
        multilock_step(st, client, (struct multi_lock_event){.kind = MULTI_LOCK_EV_ABORT});
}

void multilock_take(void *state, struct breadth_step step)
{
    struct multilock_state *st = state;

    st->faults -= moves[step.kind].fault;
    happen(st, (enum multilock_move)step.kind, client_of(step.at), path_of(step.at));
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++)
        multilock_forget(&st->c[i]);
    multilock_check(st);
}

/* ---- which of it ---- */

static bool may_at_path(const struct multilock_state *st, enum multilock_move kind, uint8_t client,
                        uint32_t path)
{
    const enum multi_lock_place place = st->c[client].paths[path].place;

    if (kind == MULTILOCK_HEAD)
        return place == MULTI_LOCK_WAITING && multilock_is_head(st, client, path) &&
               !multilock_is_unanswered(&st->c[client], path);
    if (kind == MULTILOCK_DELETE)
        return place == MULTI_LOCK_HELD;
    return kind == MULTILOCK_FAIL && place == MULTI_LOCK_WAITING &&
           !multilock_is_unanswered(&st->c[client], path);
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
        return c->rounds > 0 &&
               (c->machine.state == MULTI_LOCK_IDLE || c->machine.state == MULTI_LOCK_DONE);
    case MULTILOCK_RELEASE:
        return c->machine.state == MULTI_LOCK_HOLDING;
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

static bool is_of_path(enum multilock_move kind)
{
    return kind == MULTILOCK_HEAD || kind == MULTILOCK_DELETE || kind == MULTILOCK_FAIL;
}

static int list_client(const struct multilock_state *st, uint8_t client, struct breadth_step *steps)
{
    const bool faults = st->faults > 0 && !multilock_config.client[client].nested;
    int n = 0;

    for (uint8_t kind = 0; kind < MULTILOCK_MOVES; kind++) {
        const uint32_t paths =
            is_of_path((enum multilock_move)kind) ? st->c[client].machine.count : 0;
        if (moves[kind].fault && !faults)
            continue;
        for (uint8_t i = 0; i < paths; i++) {
            if (may_at_path(st, (enum multilock_move)kind, client, i))
                steps[n++] = (struct breadth_step){kind, (uint8_t)(client + i * MULTILOCK_CLIENTS)};
        }
        if (paths == 0 && may_happen(st, (enum multilock_move)kind, client))
            steps[n++] = (struct breadth_step){kind, client};
    }
    return n;
}

int multilock_list(const void *state, struct breadth_step *steps)
{
    const struct multilock_state *st = state;
    int n = 0;

    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        if (multilock_config.client[i].paths)
            n += list_client(st, i, steps + n);
    }
    return n;
}
