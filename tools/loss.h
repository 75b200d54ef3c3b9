/* The grant's side of holding: until when, and what the library says of it. */
#ifndef ZKL_TOOLS_LOSS_H
#define ZKL_TOOLS_LOSS_H

#include <pthread.h>

#include "guard/guard.h"

struct loss {
    const zkl_grant *grant;
    struct guard *guard;
    struct events *events;
    pthread_mutex_t lock; /* of the deadline told, and of gone */
    pthread_cond_t over;
    bool gone;        /* no member of the group lives: the library may delete the node */
    int64_t patience; /* by now_ms(): the guard sees the end first, if it is awake; 0: no end yet */
};

void loss_init(struct loss *l, struct guard *guard, const zkl_grant *grant, struct events *events);

int64_t loss_remaining_ms(const struct loss *l);

/* Whether the command may begin: more time than the grace is left, and nothing is in doubt, if that
 * matters. */
bool loss_is_safe(const struct loss *l);

/* Whether the lock was lost before; then that is decided, and said. */
bool loss_before_beginning(struct loss *l);

/* Waits until the command may begin. GO_ON, or a status: the lock was lost, or a signal came. */
int loss_wait_safe(struct loss *l);

/* Tells the guard until when the lock is ours. A deadline seldom told is early, never wrong. */
void loss_publish(struct loss *l);

/* Ends the command for a guard that is late or dead. */
void loss_stand_in(struct loss *l);

/* Looks at the guard, publishes the deadline, and stands in if that is needed. */
void loss_look(struct loss *l);

/* When it is to be looked again. */
int64_t loss_due_ms(const struct loss *l);

/* Lets the loss callback return: the node may go. */
void loss_finish(struct loss *l);

#endif
