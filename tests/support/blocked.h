/* Calls that block let a simulated world go on until they have ended. In programs with blocked.c,
 * where the linker puts this before the library's thread_wait() (blocked_ldflags). */
#ifndef SUPPORT_BLOCKED_H
#define SUPPORT_BLOCKED_H

#include <semaphore.h>
#include <stdbool.h>

/* The program's: lets the world go on until the call whose semaphore that is has ended. */
void blocked_go_on(sem_t *done);

bool blocked_has_ended(const void *done);

#endif
