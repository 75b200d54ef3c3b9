#include "multilock.h"

const char *const multilock_broken_texts[MULTILOCK_BROKEN_COUNT] = {
    [MULTILOCK_WHOLE] = "nothing",
    [MULTILOCK_EXCLUSION] = "two hold one path",
    [MULTILOCK_ALL] = "a grant, but not all of its nodes are first",
    [MULTILOCK_ORDER] = "queued or holding behind a path that is waited for",
    [MULTILOCK_LIMIT] = "more permits are held than there are",
    [MULTILOCK_WIRE] = "more is under way than there is room for",
    [MULTILOCK_STUCK] = "nothing can happen, but somebody waits",
    [MULTILOCK_LEFT] = "a node is left that nobody wants",
    [MULTILOCK_NONE] = "of all that tried none was granted",
};

void multilock_require(struct multilock_state *st, bool holds, enum multilock_broken broken)
{
    if (!holds && !st->broken)
        st->broken = (uint8_t)broken;
}

int multilock_nodes(const struct multilock_state *st, uint8_t client, uint8_t place)
{
    int nodes = 0;

    for (uint8_t i = 0; i < st->queue[place].count; i++)
        nodes += st->queue[place].owner[i] == client;
    return nodes;
}

bool multilock_is_few(const struct multilock_state *st, uint8_t place)
{
    return st->queue[place].count <= (multilock_is_counted(place) ? multilock_config.limit : 1);
}

/* With the node of its present attempt: what an earlier one left goes first, or counts. */
bool multilock_is_head(const struct multilock_state *st, uint8_t client, uint32_t path)
{
    const uint8_t place = multilock_place(client, path);

    if (multilock_is_counted(place))
        return multilock_nodes(st, client, place) > 0 && multilock_is_few(st, place);
    return st->queue[place].count > 0 && st->queue[place].owner[0] == client &&
           multilock_nodes(st, client, place) == 1;
}

/* How often; several leases are at one place. That its lock is lost, one who takes leases may not
 * have heard yet. */
static int holds_place(const struct multilock_state *st, uint8_t client, uint8_t place)
{
    const struct multilock_client *c = &st->c[client];
    int held = 0;

    if (multilock_takes_leases(client) && multilock_nodes(st, client, place) == 0)
        return 0;
    for (uint32_t i = 0; i < c->machine.count; i++)
        held += multilock_place(client, i) == place && c->paths[i].place == MULTI_LOCK_HELD;
    return held;
}

static void check_exclusion(struct multilock_state *st)
{
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        int holders = 0;
        for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++)
            holders += holds_place(st, i, place);
        if (multilock_is_counted(place))
            multilock_require(st, holders <= multilock_config.limit, MULTILOCK_LIMIT);
        else
            multilock_require(st, holders <= 1, MULTILOCK_EXCLUSION);
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
        const bool there = multilock_nodes(st, client, multilock_place(client, i)) > 0;
        multilock_require(st, !there || !waits, MULTILOCK_ORDER);
        waits = waits || (there && !multilock_is_head(st, client, i));
    }
}

/* Whether the client has a node for what it was granted at the path. A client with permits has
 * given the lock back. */
static bool has_node(const struct multilock_state *st, uint8_t client, uint32_t path)
{
    const uint8_t place = multilock_place(client, path);

    if (multilock_takes_leases(client))
        return !multilock_is_counted(place) ||
               multilock_nodes(st, client, place) >= (int)st->c[client].machine.count - 1;
    return multilock_is_head(st, client, path);
}

void multilock_check(struct multilock_state *st)
{
    check_exclusion(st);
    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        for (uint32_t k = 0; k < c->machine.count && c->machine.state == MULTI_LOCK_HOLDING; k++)
            multilock_require(st, has_node(st, i, k), MULTILOCK_ALL);
        if (!multilock_takes_leases(i))
            check_order(st, i);
    }
}

/* For ever. */
static bool keeps(const struct multilock_state *st, uint8_t client)
{
    return multilock_config.client[client].keeps &&
           st->c[client].machine.state == MULTI_LOCK_HOLDING;
}

int multilock_check_end(const void *state)
{
    const struct multilock_state *st = state;
    int kept[MULTILOCK_PLACES] = {0};
    bool none = st->faults == multilock_config.faults;

    for (uint8_t i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        if (!keeps(st, i) && (c->rounds > 0 || (c->machine.state != MULTI_LOCK_IDLE &&
                                                c->machine.state != MULTI_LOCK_DONE)))
            return MULTILOCK_STUCK;
        for (uint8_t place = 0; place < MULTILOCK_PLACES; place++)
            kept[place] += keeps(st, i) ? holds_place(st, i, place) : 0;
        none = none && !keeps(st, i) && (multilock_config.client[i].tries || c->machine.count == 0);
    }
    for (uint8_t place = 0; place < MULTILOCK_PLACES; place++) {
        if (st->queue[place].count > kept[place])
            return MULTILOCK_LEFT;
    }
    return none ? MULTILOCK_NONE : MULTILOCK_WHOLE;
}
