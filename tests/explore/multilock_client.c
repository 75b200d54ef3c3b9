#include "multilock.h"

uint8_t multilock_place(uint8_t client, uint32_t path)
{
    return (uint8_t)(multilock_config.client[client].paths[path] - '0');
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

bool multilock_is_unanswered(const struct multilock_client *c, uint32_t path)
{
    for (uint8_t i = 0; i < c->requests; i++) {
        if (c->request[i].current && c->request[i].path == path)
            return true;
    }
    for (uint8_t i = 0; i < c->answers; i++) {
        if (c->answer[i].current && c->answer[i].path == path)
            return true;
    }
    return false;
}

/* A node whose create is not answered yet goes with the answer. */
static void leave(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (!multilock_is_unanswered(&st->c[client], path))
        multilock_ask(st, client, WIRE_DELETE, path, false);
    outdate(&st->c[client], path);
}

static void enter(struct multilock_state *st, uint8_t client, uint32_t path)
{
    outdate(&st->c[client], path);
    multilock_ask(st, client, WIRE_CREATE, path, true);
}

static void perform(struct multilock_state *st, uint8_t client, const struct multi_lock_action *a)
{
    if (a->kind == MULTI_LOCK_ACT_ENTER)
        enter(st, client, a->path);
    else if (a->kind == MULTI_LOCK_ACT_LEAVE)
        leave(st, client, a->path);
}

/* What is still held goes when the caller was told. */
static void lose(struct multilock_state *st, uint8_t client, uint32_t held)
{
    for (uint32_t i = st->c[client].machine.count; i-- > 0;) {
        if (held & 1U << i)
            leave(st, client, i);
    }
}

void multilock_step(struct multilock_state *st, uint8_t client, struct multi_lock_event ev)
{
    struct multilock_client *c = &st->c[client];
    struct multi_lock_actions actions;
    uint32_t held = 0;

    for (uint32_t i = 0; i < c->machine.count; i++)
        held |= (uint32_t)(c->paths[i].place == MULTI_LOCK_HELD && i != ev.path) << i;
    ev.entry = c->paths[ev.path].entry;
    multi_lock_step(&c->machine, c->paths, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        perform(st, client, &actions.list[i]);
        if (actions.list[i].kind == MULTI_LOCK_ACT_LOSE)
            lose(st, client, held);
    }
}

/* ---- one who takes the same paths one by one ---- */

static bool is_nested(uint8_t client)
{
    return multilock_config.client[client].nested;
}

static void enter_next(struct multilock_state *st, uint8_t client, uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    if (path == c->machine.count) {
        c->machine.state = MULTI_LOCK_HOLDING;
        return;
    }
    c->paths[path].place = MULTI_LOCK_ENTERING;
    enter(st, client, path);
}

static void release_nested(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    c->machine.state = MULTI_LOCK_DONE;
    for (uint32_t i = c->machine.count; i-- > 0;) {
        c->paths[i].place = MULTI_LOCK_OUT;
        leave(st, client, i);
    }
}

/* ---- either ---- */

static void tell(struct multilock_state *st, uint8_t client, enum multi_lock_event_kind kind,
                 uint32_t path)
{
    multilock_step(st, client, (struct multi_lock_event){.kind = kind, .path = path});
}

void multilock_created(struct multilock_state *st, uint8_t client, struct multilock_wire answer)
{
    if (!answer.current)
        multilock_ask(st, client, WIRE_DELETE, answer.path, false);
    else if (!answer.ahead)
        multilock_granted(st, client, answer.path);
    else if (is_nested(client))
        st->c[client].paths[answer.path].place = MULTI_LOCK_WAITING;
    else
        tell(st, client, MULTI_LOCK_EV_WAITS, answer.path);
}

void multilock_granted(struct multilock_state *st, uint8_t client, uint32_t path)
{
    if (!is_nested(client)) {
        tell(st, client, MULTI_LOCK_EV_GRANTED, path);
        return;
    }
    st->c[client].paths[path].place = MULTI_LOCK_HELD;
    enter_next(st, client, path + 1);
}

void multilock_lost(struct multilock_state *st, uint8_t client, uint32_t path)
{
    tell(st, client, MULTI_LOCK_EV_LOST, path);
}

void multilock_begin(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    c->rounds--;
    multi_lock_init(&c->machine, c->paths);
    if (!is_nested(client)) {
        tell(st, client, MULTI_LOCK_EV_BEGIN, 0);
        return;
    }
    c->machine.state = MULTI_LOCK_ACQUIRING;
    enter_next(st, client, 0);
}

void multilock_release(struct multilock_state *st, uint8_t client)
{
    if (is_nested(client))
        release_nested(st, client);
    else
        tell(st, client, MULTI_LOCK_EV_RELEASE, 0);
}

void multilock_forget(struct multilock_client *c)
{
    c->machine.entries = 0;
    for (uint32_t i = 0; i < MULTILOCK_PLACES; i++)
        c->paths[i].entry = 0;
}
