#include "clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct instant read_both(void)
{
    return (struct instant){read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_MONOTONIC_RAW)};
}

struct instant (*clock_source)(void) = read_both;
