#include "steps.h"

#include <string.h>

void steps_put_off(struct steps *s, const void *event, gsize size)
{
    g_queue_push_tail(&s->waiting, g_memdup2(event, size));
}

void steps_take(struct steps *s, void *event, gsize size)
{
    void *first = g_queue_pop_head(&s->waiting);

    memcpy(event, first, size);
    g_free(first);
}
