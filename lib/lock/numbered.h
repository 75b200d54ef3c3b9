/* An acquisition of numbered permits: a contender that is admitted, and then gets its numbers;
 * again from the beginning where it loses its node before it has them. All with the monitor held.
 */
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
