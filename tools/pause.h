/* How long whoever has failed waits before it tries again. Pure. */
#ifndef ZKL_TOOLS_PAUSE_H
#define ZKL_TOOLS_PAUSE_H

#include <stdint.h>

#define PAUSE_FIRST_MS 1000
#define PAUSE_LAST_MS 30000

/* before: the pause before that attempt, 0 for none. */
static inline int64_t pause_next_ms(int64_t before)
{
    if (before == 0)
        return PAUSE_FIRST_MS;
    return before * 2 < PAUSE_LAST_MS ? before * 2 : PAUSE_LAST_MS;
}

#endif
