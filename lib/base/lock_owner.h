/* A blocking lock has an owner: by default the calling thread, under a number never used again. */
#ifndef LIB_LOCK_OWNER_H
#define LIB_LOCK_OWNER_H

#include <stdbool.h>
#include <stdint.h>

/* Prepares lock_owner_count(), before anything is owned. Returns false if the system has no key for
 * threads left. */
bool lock_owner_watch(void);

/* Returns the calling thread's number. */
uint64_t lock_owner_thread(void);

/* Adds change to the number of locks that the calling thread holds. If the thread ends while the
 * count is positive, on_exit is called with the thread's number, and the count is 0 again. What is
 * counted in the last round of the thread's destructors goes unnoticed. */
void lock_owner_count(int change, void (*on_exit)(uint64_t owner));

#endif
