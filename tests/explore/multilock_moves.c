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
    [MULTILOCK_HEAR] = {"the end of its node is heard by", false},
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
        st->c[i].machine.one_by_one = multilock_config.client[i].tries;
        st->c[i].rounds = paths ? (uint8_t)multilock_config.rounds : 0;
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
    return multilock_takes_leases(client) && !multilock_is_counted(multilock_place(client, path));
}

static void delete_node(struct multilock_state *st, uint8_t client, uint32_t path)
{
    multilock_remove_oldest(st, client, multilock_place(client, path));
    if (!hears_late(client, path))
        multilock_user(client)->lost(st, client, path);
}

/* Each that is lost deletes its own node; the machine may be at it again by then. */
static void lapse(struct multilock_state *st, uint8_t client)
{
    const uint32_t lost = held(&st->c[client]);

    for (uint32_t i = 0; i < st->c[client].machine.count; i++) {
        if (!(lost & 1U << i) || !(held(&st->c[client]) & 1U << i))
            continue;
        multilock_ask(st, client, WIRE_DELETE, i, false);
        multilock_user(client)->lost(st, client, i);
    }
}

/* Attempts enter again by themselves; what was held is lost. */
static void expire(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    const uint32_t lost = held(c);

    multilock_remove_all(st, client);
    c->requests = c->answers = 0;
    memset(c->request, 0, sizeof c->request);
    memset(c->answer, 0, sizeof c->answer);
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (c->paths[i].place == MULTI_LOCK_ENTERING || c->paths[i].place == MULTI_LOCK_WAITING)
            multilock_ask(st, client, WIRE_CREATE, i, true);
    }
    for (uint32_t i = 0; i < c->machine.count; i++) {
        if (lost & 1U << i)
            multilock_user(client)->lost(st, client, i);
    }
}

/* Its node goes, if there is one yet. With a lease that is admitted it is the look at the path that
 * fails. */
static void fail(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (st->c[client].paths[path].place == MULTI_LOCK_HELD) {
        multilock_checked(st, client, true);
        return;
    }
    multilock_remove_oldest(st, client, multilock_place(client, path));
    multilock_user(client)->failed(st, client, path);
}

/* ---- what happens ---- */

/* Heard later: by then there may be more. */
static void become_head(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (multilock_is_counted(multilock_place(client, path)))
        multilock_answer(
            st, client,
            (struct multilock_wire){.what = WIRE_LISTED, .path = (uint8_t)path, .current = true});
    else
        multilock_user(client)->granted(st, client, path);
}

static void begin(struct multilock_state *st, uint8_t client)
{
    if (st->c[client].machine.state != MULTI_LOCK_ACQUIRING)
        st->c[client].rounds--;
    multilock_user(client)->begin(st, client);
}

static void happen(struct multilock_state *st, enum multilock_move kind, uint8_t client,
                   uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (kind == MULTILOCK_SERVE)
        multilock_serve(st, client);
    else if (kind == MULTILOCK_ANSWER)
        multilock_answered(st, client, multilock_take_first(c->answer, &c->answers));
    else if (kind == MULTILOCK_HEAD)
        become_head(st, client, path);
    else if (kind == MULTILOCK_HEAR)
        multilock_user(client)->lost(st, client, path);
    else if (kind == MULTILOCK_BEGIN)
        begin(st, client);
    else if (kind == MULTILOCK_RELEASE)
        multilock_user(client)->release(st, client);
    else if (kind == MULTILOCK_DELETE)
        delete_node(st, client, path);
    else if (kind == MULTILOCK_LAPSE)
        lapse(st, client);
    else if (kind == MULTILOCK_EXPIRE)
        expire(st, client);
    else if (kind == MULTILOCK_FAIL)
        fail(st, client, path);
    else
        multilock_user(client)->abort(st, client);
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
    const struct multilock_client *c = &st->c[client];
    const enum multi_lock_place place = c->paths[path].place;

    if (kind == MULTILOCK_HEAD)
        return place == MULTI_LOCK_WAITING && multilock_is_head(st, client, path) &&
               !multilock_is_unanswered(c, path) && !multilock_is_listed(c, path);
    if (kind == MULTILOCK_HEAR)
        return place == MULTI_LOCK_HELD && hears_late(client, path) &&
               multilock_nodes(st, client, multilock_place(client, path)) == 0;
    if (kind == MULTILOCK_DELETE)
        return place == MULTI_LOCK_HELD &&
               multilock_nodes(st, client, multilock_place(client, path)) > 0;
    return kind == MULTILOCK_FAIL &&
           ((place == MULTI_LOCK_WAITING && !multilock_is_unanswered(c, path)) ||
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
        return c->machine.state == MULTI_LOCK_HOLDING && !multilock_config.client[client].keeps;
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
    return kind == MULTILOCK_HEAD || kind == MULTILOCK_HEAR || kind == MULTILOCK_DELETE ||
           kind == MULTILOCK_FAIL;
}

static int list_client(const struct multilock_state *st, uint8_t client, struct breadth_step *steps)
{
    const bool faults = st->faults > 0 && multilock_user(client)->abort != NULL;
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
