/* After fork() no handle works in the child: its threads do not exist and its locks may be held for
 * ever. Every handle remembers the generation it was made in. New ones can be made: the few locks
 * of the whole process are free there. */
#ifndef LIB_FORK_H
#define LIB_FORK_H

#include <stdbool.h>

extern unsigned fork_generation; /* written only in a child that has a single thread */

/* Registers the handlers for the log and the callbacks, once. */
void fork_watch(void);

/* Registers further handlers. A fork takes the locks in the reverse order: so those of a lock that
 * is taken before the log's are registered after fork_watch(). */
void fork_handle(void (*before_fork)(void), void (*after_fork)(void), void (*after_in_child)(void));

static inline bool fork_is_child(unsigned generation)
{
    return generation != fork_generation;
}

#endif
