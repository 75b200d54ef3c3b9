#include "visited.h"

#include <glib.h>
#include <string.h>

enum { SLOTS_FIRST = 1 << 16 };

/* Room for more is made in small steps, and the table is filled by three quarters. */
struct visited {
    struct fingerprint *prints;
    uint32_t *parents;
    struct move *moves;
    uint32_t count, room;
    uint32_t *slots; /* state + 1, 0: free; open addressing */
    size_t size;     /* a power of two */
};

struct visited *visited_new(void)
{
    struct visited *v = g_new0(struct visited, 1);

    v->size = SLOTS_FIRST;
    v->slots = g_new0(uint32_t, v->size);
    return v;
}

void visited_free(struct visited *v)
{
    g_free(v->prints);
    g_free(v->parents);
    g_free(v->moves);
    g_free(v->slots);
    g_free(v);
}

uint32_t visited_count(const struct visited *v)
{
    return v->count;
}

const struct fingerprint *visited_print(const struct visited *v, uint32_t state)
{
    return &v->prints[state];
}

uint32_t visited_parent(const struct visited *v, uint32_t state)
{
    return v->parents[state];
}

struct move visited_move(const struct visited *v, uint32_t state)
{
    return v->moves[state];
}

static size_t first_slot(const struct visited *v, const struct fingerprint *print)
{
    return print->words[0] & (v->size - 1);
}

void visited_prefetch_slot(const struct visited *v, const struct fingerprint *print)
{
    __builtin_prefetch(&v->slots[first_slot(v, print)]);
}

void visited_prefetch(const struct visited *v, const struct fingerprint *print)
{
    uint32_t slot = v->slots[first_slot(v, print)];

    if (slot)
        __builtin_prefetch(visited_print(v, slot - 1));
}

/* Where it is, or belongs. */
static size_t find(const struct visited *v, const struct fingerprint *print)
{
    size_t at = first_slot(v, print);

    for (; v->slots[at]; at = (at + 1) & (v->size - 1)) {
        if (memcmp(visited_print(v, v->slots[at] - 1), print, sizeof *print) == 0)
            break;
    }
    return at;
}

static void grow(struct visited *v)
{
    g_free(v->slots);
    v->size *= 2;
    v->slots = g_new0(uint32_t, v->size);
    for (uint32_t state = 0; state < v->count; state++)
        v->slots[find(v, &v->prints[state])] = state + 1;
}

static void make_room(struct visited *v)
{
    v->room += v->room / 8 + SLOTS_FIRST;
    v->prints = g_renew(struct fingerprint, v->prints, v->room);
    v->parents = g_renew(uint32_t, v->parents, v->room);
    v->moves = g_renew(struct move, v->moves, v->room);
}

uint32_t visited_add(struct visited *v, const struct fingerprint *print, uint32_t parent,
                     struct move move, bool *ret_new)
{
    size_t at = find(v, print);

    *ret_new = v->slots[at] == 0;
    if (!*ret_new)
        return v->slots[at] - 1;
    if (v->count == v->room)
        make_room(v);
    v->prints[v->count] = *print;
    v->parents[v->count] = parent;
    v->moves[v->count] = move;
    v->slots[at] = ++v->count;
    if (v->count > v->size / 4 * 3)
        grow(v);
    return v->count - 1;
}
