/* The steps of a machine that has no driver (docs/design/driver.md). An event that comes in the
 * midst of a step waits for the end of that step. The caller holds the lock that guards the
 * machine. */
#ifndef LIB_STEPS_H
#define LIB_STEPS_H

#include <glib.h>
#include <stdbool.h>

/* The events that wait. The struct is on the stack of the function that steps. The machine's owner
 * has a pointer to it during the steps, and otherwise NULL. */
struct steps {
    GQueue waiting; /* copies of events */
};

/* Adds a copy of the event, which waits. */
void steps_put_off(struct steps *s, const void *event, gsize size);

/* Removes the first event that waits, and stores it. */
void steps_take(struct steps *s, void *event, gsize size);

/* Begins a step. Returns false if the machine is in one already: then the event waits. Otherwise
 * the caller steps the machine with this event, and then with each that steps_next() stores. It is
 * inline, so that it costs a retained lock no call. */
static inline bool steps_begin(struct steps **in, struct steps *here, const void *event, gsize size)
{
    if (*in) {
        steps_put_off(*in, event, size);
        return false;
    }
    here->waiting = (GQueue)G_QUEUE_INIT;
    *in = here;
    return true;
}

/* Stores the next event. Returns false if none waits: then the machine is in no step. */
static inline bool steps_next(struct steps **in, void *event, gsize size)
{
    if ((*in)->waiting.length > 0) {
        steps_take(*in, event, size);
        return true;
    }
    *in = NULL;
    return false;
}

#endif
