/* After fork() no handle works in the child: its threads do not exist and its locks may be held for
 * ever. Every handle remembers the generation it was made in. New ones can be made: the few locks
 * of the whole process are free there. */
#ifndef LIB_FORK_H
#define LIB_FORK_H

#include <stdbool.h>

extern unsigned fork_generation; /* written only in a child that has a single thread */

/* Registers the handlers of what is below a session, once. */
void fork_watch(void);

/* Registers the handlers of what is above that, after them: a fork takes the locks above first. */
void fork_handle(void (*before_fork)(void), void (*behind)(void), void (*behind_in_child)(void));

static inline bool fork_is_child(unsigned generation)
{
    return generation != fork_generation;
}

#endif
