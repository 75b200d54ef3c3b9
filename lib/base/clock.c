#include "clock.h"

/* 31 years: added to the time since the machine was started, the seconds still fit into 32 bits. */
#define LONG_MS INT64_C(1000000000000)

/* Returns the time of a clock in ns. */
static int64_t read_clock(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads BOOTTIME first: instant_sure() rests on that order. */
static struct instant read_both(void)
{
    int64_t boot = read_clock(CLOCK_BOOTTIME);

    return (struct instant){boot, read_clock(CLOCK_MONOTONIC_RAW)};
}

int64_t clock_boot(void)
{
    return clock_now == read_both ? read_clock(CLOCK_BOOTTIME) : clock_now().boot;
}

int64_t clock_end(int64_t timeout_ms)
{
    const int64_t now = clock_now().boot;

    if (timeout_ms > (INT64_MAX - now) / CLOCK_MS)
        return INT64_MAX;
    return timeout_ms > 0 ? now + timeout_ms * CLOCK_MS : now;
}

struct timespec clock_after_ms(int64_t ms)
{
    struct timespec t;

    ms = ms > LONG_MS ? LONG_MS : ms > 0 ? ms : 0; /* no overflow */
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

struct instant (*clock_now)(void) = read_both;
