#include "multilock.h"

#include <string.h>

uint8_t multilock_place(uint8_t client, uint32_t path)
{
    return (uint8_t)(multilock_config.client[client].paths[path] - '0');
}

bool multilock_is_counted(uint8_t place)
{
    return multilock_config.limit > 0 && place == 1;
}

const struct multilock_user *multilock_user(uint8_t client)
{
    return multilock_config.client[client].user;
}

bool multilock_takes_leases(uint8_t client)
{
    return multilock_user(client) == &multilock_leases;
}

void multilock_ask(struct multilock_state *st, uint8_t client, enum multilock_what what,
                   uint32_t path, bool current)
{
    struct multilock_client *c = &st->c[client];

    multilock_require(st, c->requests < MULTILOCK_WIRES, MULTILOCK_WIRE);
    if (c->requests < MULTILOCK_WIRES)
        c->request[c->requests++] = (struct multilock_wire){
            .what = (uint8_t)what, .path = (uint8_t)path, .current = current};
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

bool multilock_is_unanswered(const struct multilock_client *c, uint32_t path)
{
    return is_under_way(c->request, c->requests, path, WIRE_CREATE) ||
           is_under_way(c->answer, c->answers, path, WIRE_CREATED);
}

bool multilock_is_listed(const struct multilock_client *c, uint32_t path)
{
    return is_under_way(c->answer, c->answers, path, WIRE_LISTED);
}

void multilock_leave(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (!multilock_is_unanswered(&st->c[client], path))
        multilock_ask(st, client, WIRE_DELETE, path, false);
    outdate(&st->c[client], path);
}

void multilock_enter(struct multilock_state *st, uint8_t client, uint32_t path)
{
    outdate(&st->c[client], path);
    multilock_ask(st, client, WIRE_CREATE, path, true);
}

static void refuse(struct multilock_state *st, uint8_t client, uint32_t path)
{
    multilock_ask(st, client, WIRE_DELETE, path, false);
    multilock_user(client)->failed(st, client, path);
}

static void created(struct multilock_state *st, uint8_t client, struct multilock_wire answer)
{
    if (!answer.current)
        multilock_ask(st, client, WIRE_DELETE, answer.path, false);
    else if (answer.ahead && multilock_config.client[client].tries)
        refuse(st, client, answer.path);
    else if (answer.ahead)
        multilock_user(client)->waits(st, client, answer.path);
    else
        multilock_user(client)->granted(st, client, answer.path);
}

void multilock_answered(struct multilock_state *st, uint8_t client, struct multilock_wire answer)
{
    if (answer.what == WIRE_CREATED)
        created(st, client, answer);
    else if (answer.current && answer.what == WIRE_LISTED)
        multilock_user(client)->granted(st, client, answer.path);
    else if (answer.current)
        multilock_checked(st, client, false);
}

/* ---- one who takes all at once ---- */

static void perform(struct multilock_state *st, uint8_t client, const struct multi_lock_action *a)
{
    if (a->kind == MULTI_LOCK_ACT_ENTER)
        multilock_enter(st, client, a->path);
    else if (a->kind == MULTI_LOCK_ACT_LEAVE)
        multilock_leave(st, client, a->path);
}

/* What is still held goes when the caller was told. */
static void lose(struct multilock_state *st, uint8_t client, uint32_t held)
{
    for (uint32_t i = st->c[client].machine.count; i-- > 0;) {
        if (held & 1U << i)
            multilock_leave(st, client, i);
    }
}

static void step(struct multilock_state *st, uint8_t client, enum multi_lock_event_kind kind,
                 uint32_t path)
{
    struct multilock_client *c = &st->c[client];
    const struct multi_lock_event ev = {.kind = kind, .path = path, .entry = c->paths[path].entry};
    struct multi_lock_actions actions;
    uint32_t held = 0;

    for (uint32_t i = 0; i < c->machine.count; i++)
        held |= (uint32_t)(c->paths[i].place == MULTI_LOCK_HELD && i != path) << i;
    multi_lock_step(&c->machine, c->paths, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        perform(st, client, &actions.list[i]);
        if (actions.list[i].kind == MULTI_LOCK_ACT_LOSE)
            lose(st, client, held);
    }
}

static void on_begin(struct multilock_state *st, uint8_t client)
{
    multi_lock_init(&st->c[client].machine, st->c[client].paths);
    step(st, client, MULTI_LOCK_EV_BEGIN, 0);
}

static void on_release(struct multilock_state *st, uint8_t client)
{
    step(st, client, MULTI_LOCK_EV_RELEASE, 0);
}

static void on_waits(struct multilock_state *st, uint8_t client, uint32_t path)
{
    step(st, client, MULTI_LOCK_EV_WAITS, path);
}

static void on_granted(struct multilock_state *st, uint8_t client, uint32_t path)
{
    step(st, client, MULTI_LOCK_EV_GRANTED, path);
}

static void on_lost(struct multilock_state *st, uint8_t client, uint32_t path)
{
    step(st, client, MULTI_LOCK_EV_LOST, path);
}

static void on_failed(struct multilock_state *st, uint8_t client, uint32_t path)
{
    step(st, client, MULTI_LOCK_EV_FAILED, path);
}

static void on_abort(struct multilock_state *st, uint8_t client)
{
    step(st, client, MULTI_LOCK_EV_ABORT, 0);
}

const struct multilock_user multilock_at_once = {.begin = on_begin,
                                                 .release = on_release,
                                                 .waits = on_waits,
                                                 .granted = on_granted,
                                                 .lost = on_lost,
                                                 .failed = on_failed,
                                                 .abort = on_abort};

/* ---- one who takes the same paths one by one ---- */

static void enter_next(struct multilock_state *st, uint8_t client, uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (path == c->machine.count) {
        c->machine.state = MULTI_LOCK_HOLDING;
        return;
    }
    c->paths[path].place = MULTI_LOCK_ENTERING;
    multilock_enter(st, client, path);
}

static void begin_nested(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    multi_lock_init(&c->machine, c->paths);
    c->machine.state = MULTI_LOCK_ACQUIRING;
    enter_next(st, client, 0);
}

static void release_nested(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    c->machine.state = MULTI_LOCK_DONE;
    for (uint32_t i = c->machine.count; i-- > 0;) {
        c->paths[i].place = MULTI_LOCK_OUT;
        multilock_leave(st, client, i);
    }
}

static void nested_waits(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_WAITING;
}

static void nested_granted(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_HELD;
    enter_next(st, client, path + 1);
}

const struct multilock_user multilock_nested = {.begin = begin_nested,
                                                .release = release_nested,
                                                .waits = nested_waits,
                                                .granted = nested_granted};

/* ---- any of them ---- */

void multilock_forget(struct multilock_client *c)
{
    c->machine.entries = 0;
    for (uint32_t i = 0; i < MULTILOCK_PLACES; i++)
        c->paths[i].entry = 0;
}
