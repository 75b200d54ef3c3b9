#include "visited.h"

#include <glib.h>
#include <string.h>

enum { SLOTS_FIRST = 1 << 16 };

struct visited {
    GArray *prints;  /* of struct fingerprint */
    GArray *parents; /* of uint32_t */
    GArray *moves;   /* of struct move */
    uint32_t *slots; /* state + 1, 0: free; open addressing */
    size_t size;     /* a power of two, at least twice the count */
};

struct visited *visited_new(void)
{
    struct visited *v = g_new(struct visited, 1);

    v->prints = g_array_new(FALSE, FALSE, sizeof(struct fingerprint));
    v->parents = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    v->moves = g_array_new(FALSE, FALSE, sizeof(struct move));
    v->size = SLOTS_FIRST;
    v->slots = g_new0(uint32_t, v->size);
    return v;
}

void visited_free(struct visited *v)
{
    g_array_unref(v->prints);
    g_array_unref(v->parents);
    g_array_unref(v->moves);
    g_free(v->slots);
    g_free(v);
}

uint32_t visited_count(const struct visited *v)
{
    return v->prints->len;
}

const struct fingerprint *visited_print(const struct visited *v, uint32_t state)
{
    return &g_array_index(v->prints, struct fingerprint, state);
}

uint32_t visited_parent(const struct visited *v, uint32_t state)
{
    return g_array_index(v->parents, uint32_t, state);
}

struct move visited_move(const struct visited *v, uint32_t state)
{
    return g_array_index(v->moves, struct move, state);
}

void visited_prefetch_slot(const struct visited *v, const struct fingerprint *print)
{
    __builtin_prefetch(&v->slots[print->a & (v->size - 1)]);
}

void visited_prefetch(const struct visited *v, const struct fingerprint *print)
{
    uint32_t slot = v->slots[print->a & (v->size - 1)];

    if (slot)
        __builtin_prefetch(visited_print(v, slot - 1));
}

/* Where it is, or belongs. */
static size_t find(const struct visited *v, const struct fingerprint *print)
{
    size_t at = print->a & (v->size - 1);

    for (; v->slots[at]; at = (at + 1) & (v->size - 1)) {
        const struct fingerprint *other = visited_print(v, v->slots[at] - 1);
        if (other->a == print->a && other->b == print->b)
            break;
    }
    return at;
}

static void grow(struct visited *v)
{
    g_free(v->slots);
    v->size *= 2;
    v->slots = g_new0(uint32_t, v->size);
    for (uint32_t state = 0; state < v->prints->len; state++)
        v->slots[find(v, visited_print(v, state))] = state + 1;
}

uint32_t visited_add(struct visited *v, const struct fingerprint *print, uint32_t parent,
                     struct move move, bool *ret_new)
{
    size_t at = find(v, print);

    *ret_new = v->slots[at] == 0;
    if (!*ret_new)
        return v->slots[at] - 1;
    g_array_append_val(v->prints, *print);
    g_array_append_val(v->parents, parent);
    g_array_append_val(v->moves, move);
    v->slots[at] = v->prints->len;
    if (v->prints->len * 2UL > v->size)
        grow(v);
    return v->prints->len - 1;
}
