#include "flat.h"

#include <assert.h>
#include <stdbool.h>
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

void flat_rank(const struct flat_numbers *all)
{
    uint64_t ranks[FLAT_NUMBERS];

    for (int i = 0; i < all->count; i++) {
        ranks[i] = 1;
        for (int k = 0; k < all->count; k++) {
            bool first = true;
            for (int n = 0; n < k; n++)
                first &= *all->list[n] != *all->list[k];
            ranks[i] += first && *all->list[k] < *all->list[i];
        }
    }
    for (int i = 0; i < all->count; i++)
        *all->list[i] = ranks[i];
}
