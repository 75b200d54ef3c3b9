/* Checks that no lock is held while a thread reads, writes or waits: the other end may never
 * answer, and all that need the lock would stop. The linker directs lock and unlock of the library
 * and of the test here (held_ldflags). A thread that unlocks what it has not locked, which would be
 * a mere data race, ends the process. */
#ifndef SUPPORT_HELD_H
#define SUPPORT_HELD_H

#include <stddef.h>

/* Ends the process when the calling thread holds more than so many locks. */
void held_at_most(int locks, const char *call);

/* How many threads wait for a semaphore, as a call does for its answer. In programs with
 * held_calls.c. */
int held_waiting(void);

/* From now on each send() of the calling thread takes so many bytes at most; 0: as many as the
 * kernel takes. In programs with held_calls.c. */
void held_limit_send(size_t bytes);

#endif
