/* The queues at the server, and what it answers. */
#include "flat.h"
#include "multilock.h"

/* Deletes come in the order of creates. */
void multilock_remove_oldest(struct multilock_state *st, uint8_t client, uint8_t place)
{
    for (uint8_t i = 0; i < st->queue[place].count; i++) {
        if (st->queue[place].owner[i] == client) {
            flat_remove(st->queue[place].owner, &st->queue[place].count, 1, i);
            return;
        }
    }
}

void multilock_remove_all(struct multilock_state *st, uint8_t client)
{
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        while (multilock_nodes(st, client, place) > 0)
            multilock_remove_oldest(st, client, place);
    }
}

struct multilock_wire multilock_take_first(struct multilock_wire *wires, uint8_t *count)
{
    const struct multilock_wire first = wires[0];

    flat_remove(wires, count, sizeof first, 0);
    return first;
}

void multilock_answer(struct multilock_state *st, uint8_t client, struct multilock_wire w)
{
    struct multilock_client *c = &st->c[client];

    multilock_require(st, c->answers < MULTILOCK_WIRES, MULTILOCK_WIRE);
    if (c->answers < MULTILOCK_WIRES)
        c->answer[c->answers++] = w;
}

void multilock_serve(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];
    struct multilock_wire w = multilock_take_first(c->request, &c->requests);
    const uint8_t place = multilock_place(client, w.path);

    if (w.what == WIRE_DELETE) {
        multilock_remove_oldest(st, client, place);
        return;
    }
    if (w.what == WIRE_CHECK) {
        w.what = WIRE_CHECKED;
        multilock_answer(st, client, w);
        return;
    }
    w.what = WIRE_CREATED;
    multilock_require(st, st->queue[place].count < MULTILOCK_NODES, MULTILOCK_WIRE);
    st->queue[place].owner[st->queue[place].count++] = client;
    w.ahead = !multilock_is_few(st, place);
    multilock_answer(st, client, w);
}
