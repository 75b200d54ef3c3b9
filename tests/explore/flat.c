#include "flat.h"

#include <assert.h>
#include <string.h>

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
