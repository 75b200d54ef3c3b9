#include "step_down.h"

#include "name.h"

void step_down_see(struct step_down *d, const char *name, size_t length)
{
    d->others = true;
    d->higher |= name_priority(name, length) > d->priority;
}

static bool is_ripe(const struct step_down *d, int64_t age)
{
    return d->max_term > 0 && age >= d->max_term;
}

bool step_down_is_due(const struct step_down *d, int64_t age)
{
    return (d->yield && d->higher && age >= d->min_term) || (d->others && is_ripe(d, age));
}

bool step_down_watches(const struct step_down *d, int64_t age)
{
    return d->yield || is_ripe(d, age);
}

int64_t step_down_next(const struct step_down *d, int64_t age)
{
    int64_t next = INT64_MAX;

    if (d->yield && d->higher && age < d->min_term)
        next = d->min_term;
    if (d->max_term > age && d->max_term < next)
        next = d->max_term;
    return next;
}
