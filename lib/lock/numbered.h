/* An acquisition of numbered permits: a contender is admitted, and then gets its numbers. If it
 * loses its node before it has them, it begins again. The caller holds the monitor. */
#ifndef LIB_NUMBERED_H
#define LIB_NUMBERED_H

#include "lib/contender/contender.h"

struct numbered;

/* As contender_enter(); the grant has its numbers. */
void numbered_enter(struct numbered **ret, zkl_session *s, const struct contender_spec *spec,
                    grant_decided decided, void *context);

/* NULL: it has been admitted, or is to begin again. */
const struct contender *numbered_waiting(const struct numbered *n);

/* As contender_abort(). */
void numbered_abort(struct numbered *n, int code, const char *text);

#endif
