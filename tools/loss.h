/* Passes on to the guard what the grant says while the command runs: how long it is valid, and its
 * loss. */
#ifndef ZKL_TOOLS_LOSS_H
#define ZKL_TOOLS_LOSS_H

#include <pthread.h>

#include "guard/guard.h"

struct loss {
    const zkl_grant *grant;
    struct guard *guard;
    struct events *events;
    pthread_mutex_t lock; /* guards .gone and .telling; two threads publish the deadline with it */
    pthread_cond_t over;
    bool gone;        /* no member of the group lives: the library may delete the node */
    bool telling;     /* the library's thread uses .guard */
    int64_t patience; /* by now_ms(): how long the guard has to see the end; 0: no end yet */
};

/* Begins to pass on what the grant says. */
void loss_init(struct loss *l, struct guard *guard, const zkl_grant *grant, struct events *events);

/* Returns how long the grant is still valid. */
int64_t loss_remaining_ms(const struct loss *l);

/* Whether the command may begin: more time than the grace is left, and the lock is not in doubt,
 * unless --on-suspect ignores that. */
bool loss_is_safe(const struct loss *l);

/* Whether the lock was lost before the command began. If so, decides that as the cause, and says
 * it. */
bool loss_before_beginning(struct loss *l);

/* Waits until the command may begin. Returns GO_ON, or a status if the lock was lost or a signal
 * came. */
int loss_wait_safe(struct loss *l);

/* Tells the guard until when the lock is ours. If this is called seldom, the guard's deadline is
 * too early, but never too late. */
void loss_publish(struct loss *l);

/* Ends the command for a guard that is late or dead. */
void loss_stand_in(struct loss *l);

/* Looks at the guard, publishes the deadline, and stands in if that is needed. */
void loss_look(struct loss *l);

/* Returns in how many ms loss_look() is to be called again. */
int64_t loss_due_ms(const struct loss *l);

/* Lets the library's callback of the loss return: then the library may delete the node. After that
 * no thread of the library uses the guard. */
void loss_finish(struct loss *l);

#endif
