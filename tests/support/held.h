/* No lock is held while a thread reads, writes or waits: whoever reads the other end, or never
 * does, would stop all that need the lock. The linker brings lock and unlock here (held_ldflags),
 * of the library and of the test itself. A thread that unlocks what it has not locked, which would
 * be a data race and no more, ends the process. */
#ifndef SUPPORT_HELD_H
#define SUPPORT_HELD_H

/* Ends the process when the calling thread holds more than so many locks. */
void held_at_most(int locks, const char *call);

#endif
