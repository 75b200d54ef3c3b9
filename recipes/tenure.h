/* When a leader is asked to step down. Times are ns since its term began. */
#ifndef RECIPES_TENURE_H
#define RECIPES_TENURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child.h"

struct tenure {
    bool yield; /* to a candidate of higher priority, but not before least */
    int priority;
    int64_t least;
    int64_t most; /* from then on to any candidate; 0: never */
    /* at the last look: */
    bool higher; /* a candidate of higher priority waits */
    bool others; /* any candidate does */
};

/* Takes in the name of a candidate that is not the leader itself. */
void tenure_see(struct tenure *t, const char *name, size_t length);

/* Whether the leader is to be asked now. */
bool tenure_is_over(const struct tenure *t, int64_t age);

/* Whether those who come and go matter now. */
bool tenure_watches(const struct tenure *t, int64_t age);

/* The age at which any of this may change by itself; INT64_MAX: never. */
int64_t tenure_next(const struct tenure *t, int64_t age);

#endif
