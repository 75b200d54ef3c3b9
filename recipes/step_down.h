/* When a leader is asked to step down. Times are ns since its term began. */
#ifndef RECIPES_STEP_DOWN_H
#define RECIPES_STEP_DOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child.h"

struct step_down {
    bool yield; /* to a candidate of higher priority, but not before min_term */
    int priority;
    int64_t min_term;
    int64_t max_term; /* from then on to any candidate; 0: never */
    /* in the last list: */
    bool higher; /* a candidate of higher priority waits */
    bool others; /* any candidate does */
};

/* Takes in the name of a candidate that is not the leader itself. */
void step_down_see(struct step_down *d, const char *name, size_t length);

/* Whether the leader is to be asked now. */
bool step_down_is_due(const struct step_down *d, int64_t age);

/* Whether those who come and go matter now. */
bool step_down_watches(const struct step_down *d, int64_t age);

/* The age at which any of this may change by itself; INT64_MAX: never. */
int64_t step_down_next(const struct step_down *d, int64_t age);

#endif
