#include "standing.h"

#include "lib/base/clock.h"

static struct standing *loadable(const struct standing *s)
{
    return (struct standing *)(uintptr_t)s;
}

void standing_set(struct standing *s, zkl_state state, struct instant deadline)
{
    const bool in = state == ZKL_HELD || state == ZKL_SUSPECT;
    const uint64_t boot_us = in ? (uint64_t)(deadline.boot / 1000) : 0;

    if (in)
        atomic_store(&s->raw, deadline.raw);
    atomic_store(&s->word, boot_us << 2 | (uint64_t)state);
}

/* A raw deadline of a later word comes with a reading of that word, which is another one: or it is
 * the same word again, and then so far its own deadline. */
zkl_state standing_get(const struct standing *s, struct instant *ret_deadline, int64_t *ret_left)
{
    for (;;) {
        const uint64_t word = atomic_load(&loadable(s)->word);
        const zkl_state state = (zkl_state)(word & 3);

        *ret_deadline = (struct instant){.boot = 0};
        *ret_left = 0;
        if (state == ZKL_LOST || state == ZKL_RELEASED)
            return state;
        struct instant deadline = {(int64_t)(word >> 2) * 1000, atomic_load(&loadable(s)->raw)};
        int64_t left = instant_left(clock_now(), deadline);
        if (atomic_load(&loadable(s)->word) != word)
            continue;
        if (left == 0)
            return ZKL_LOST;
        *ret_deadline = deadline;
        *ret_left = left;
        return state;
    }
}
