#include "flat.h"

#include <assert.h>
#include <string.h>

#include "breadth.h"

void flat_push(void *list, uint8_t *count, int room, size_t size, const void *element)
{
    breadth_require(*count < room, "the world is too small");
    if (*count < room)
        memcpy((uint8_t *)list + size * (*count)++, element, size);
}

void flat_remove(void *list, uint8_t *count, size_t size, int at)
{
    uint8_t *element = (uint8_t *)list + size * (size_t)at;

    assert(at < *count);
    --*count;
    memmove(element, element + size, size * (size_t)(*count - at));
    memset((uint8_t *)list + size * *count, 0, size);
}

void flat_add(struct flat_numbers *all, uint64_t *number)
{
    assert(all->count < FLAT_NUMBERS);
    if (*number)
        all->list[all->count++] = number;
}

/* How many of these are lower. */
static int place_of(const uint64_t *sorted, int count, uint64_t number)
{
    while (count > 0 && sorted[count - 1] >= number)
        count--;
    return count;
}

void flat_rank(const struct flat_numbers *all)
{
    uint64_t sorted[FLAT_NUMBERS];
    int count = 0;

    for (int i = 0; i < all->count; i++) {
        const uint64_t number = *all->list[i];
        const int at = place_of(sorted, count, number);
        if (at < count && sorted[at] == number)
            continue;
        memmove(&sorted[at + 1], &sorted[at], sizeof sorted[0] * (size_t)(count - at));
        sorted[at] = number;
        count++;
    }
    for (int i = 0; i < all->count; i++)
        *all->list[i] = 1 + (uint64_t)place_of(sorted, count, *all->list[i]);
}

struct flat_places flat_keep(uint16_t nodes, void *array, uint8_t *made, size_t size)
{
    struct flat_places places = {{0}};
    uint8_t *node = array, kept = 0;

    for (uint8_t n = 0; n < *made; n++) {
        if (!(nodes & flat_bit(n)))
            continue;
        places.to[n] = kept;
        memmove(node + size * kept++, node + size * n, size);
    }
    memset(node + size * kept, 0, size * (size_t)(*made - kept));
    *made = kept;
    return places;
}

uint16_t flat_bit(uint8_t node)
{
    return (uint16_t)(node == FLAT_NO_NODE ? 0 : 1U << node);
}

void flat_move(const struct flat_places *p, uint8_t *node)
{
    if (*node != FLAT_NO_NODE)
        *node = p->to[*node];
}

void flat_move_all(const struct flat_places *p, uint16_t *nodes)
{
    uint16_t moved = 0;

    for (uint8_t n = 0; *nodes >> n; n++)
        if (*nodes >> n & 1)
            moved |= flat_bit(p->to[n]);
    *nodes = moved;
}
