/* A call that a machine answers. The machine begins with the call, hears of its end by
 * MACHINE_EV_STOP, and goes on in another session. A struct driven is the first member of a larger
 * struct. The caller holds the monitor. */
#ifndef LIB_DRIVEN_H
#define LIB_DRIVEN_H

#include "call.h"
#include "driver.h"

struct driven {
    struct call call;
    struct driver driver;
};

struct driven *driven_of(struct driver *d);

/* A call that needs no more than these: */
extern const struct call_ops driven_call_ops;

/* ---- for a struct call_ops ---- */

void driven_begin(struct call *c);
void driven_stop(struct call *c, const zkl_error *why); /* why is the call's error from here on */
void driven_replaced(struct call *c);
void driven_free(struct call *c);

/* ---- for a struct driver_ops ---- */

char *driven_path(struct driver *d, unsigned node); /* of the call: the only node */
void driven_ref(struct driver *d);
void driven_unref(struct driver *d);

#endif
