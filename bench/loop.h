/* A lock that is taken and given back again and again: what each kind of lock supplies to loop.c.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

struct locker;

/* One contender for the lock called path, which looks like "/bench/lock". All fail by ending the
 * process; acquire blocks until the lock is held. */
struct locker *locker_open(const char *address, const char *path);
void locker_acquire(struct locker *l);
void locker_release(struct locker *l);

#endif
