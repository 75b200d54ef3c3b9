/* The steps of a machine that has no driver (docs/design/driver.md): what it hears in the midst of
 * a step waits for the end of that step. */
#ifndef LIB_STEPS_H
#define LIB_STEPS_H

#include <glib.h>
#include <stdbool.h>

/* Lives on the stack of the function that steps. Until that is through, the machine's owner has a
 * pointer to it, and otherwise NULL. */
struct steps {
    GQueue waiting; /* copies of events */
};

/* A copy of the event waits. */
void steps_put_off(struct steps *s, const void *event, gsize size);

/* Stores the first event that has waited. */
void steps_take(struct steps *s, void *event, gsize size);

/* False: the machine is in a step, and the event waits. True: the caller steps the machine by this
 * event, and then by each that steps_next() stores. A retained lock begins so: it costs no call. */
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

/* False: no event waits, and the machine is in no step. */
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
