#include "clock.h"

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

struct timespec clock_after_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

struct instant (*clock_source)(void) = read_both;
