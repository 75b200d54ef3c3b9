/* Semaphores of each kind, and who acquires their permits. */
#ifndef LIVE_SEMAPHORE_ACTORS_H
#define LIVE_SEMAPHORE_ACTORS_H

#include "mutex_actors.h"

#include <stdbool.h>
#include <zkl.h>

struct live;

enum semaphore_kind { SEMAPHORE_PLAIN, SEMAPHORE_NUMBERED, SEMAPHORE_LEASES };

/* For zkl_semaphore_free(). */
zkl_semaphore *semaphore_open(zkl_session *s, const char *path, int limit,
                              enum semaphore_kind kind);

zkl_grant *semaphore_acquire(zkl_semaphore *m, int permits);
void semaphore_begin(zkl_semaphore *m, int permits, struct completion *c);

/* So many acquisitions of one permit, from both in turn. */
void semaphore_begin_all(zkl_semaphore *const m[2], struct completion *all, int count);

/* A test: a session ends by force, its holder hears it, and its permit is the next one's.
 * waits: whether the server shows one holder and one that waits. */
void semaphore_loss(enum semaphore_kind kind, bool (*waits)(struct live *t));

#endif
