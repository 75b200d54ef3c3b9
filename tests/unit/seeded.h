/* A small random source that gives the same numbers everywhere, so that a seed is a test case. */
#ifndef UNIT_SEEDED_H
#define UNIT_SEEDED_H

#include <stdint.h>

static inline uint64_t seeded_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From 0 to below - 1. */
static inline uint32_t seeded_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)((seeded_next(state) >> 32) * below >> 32);
}

#endif
