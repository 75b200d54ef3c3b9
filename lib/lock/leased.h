/* An acquisition of permits in the layout of Curator's InterProcessSemaphoreV2: a contender for
 * the lock below the path, and one for each permit, whose node is the lease; recipes/leasing.h
 * decides. All with the monitor held. docs/design/leases.md has the argument. */
#ifndef LIB_LEASED_H
#define LIB_LEASED_H

#include "lib/contender/contender.h"

struct leased;

/* Enters, like contender_enter(). spec->directory is the semaphore's path, spec->leases its limit,
 * and spec->rank the number of permits: at most MULTI_LOCK_PATHS. The grant is the lease's, or that
 * of all leases. */
void leased_enter(struct leased **ret, zkl_session *s, const struct contender_spec *spec,
                  grant_decided decided, void *context);

/* As contender_abort(). */
void leased_abort(struct leased *l, int code, const char *text);

#endif
