#include "tenure.h"

#include "name.h"

void tenure_see(struct tenure *t, const char *name, size_t length)
{
    t->others = true;
    t->higher |= name_priority(name, length) > t->priority;
}

static bool is_ripe(const struct tenure *t, int64_t age)
{
    return t->most > 0 && age >= t->most;
}

bool tenure_is_over(const struct tenure *t, int64_t age)
{
    return (t->yield && t->higher && age >= t->least) || (t->others && is_ripe(t, age));
}

bool tenure_watches(const struct tenure *t, int64_t age)
{
    return t->yield || is_ripe(t, age);
}

int64_t tenure_next(const struct tenure *t, int64_t age)
{
    int64_t next = INT64_MAX;

    if (t->yield && t->higher && age < t->least)
        next = t->least;
    if (t->most > age && t->most < next)
        next = t->most;
    return next;
}
