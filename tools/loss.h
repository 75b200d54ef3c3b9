/* When the command must end because the lock does. */
#ifndef ZKL_TOOLS_LOSS_H
#define ZKL_TOOLS_LOSS_H

#include <pthread.h>

#include "child.h"
#include "hold.h"

enum loss_phase {
    LOSS_NONE,   /* the lock is ours for longer than the grace */
    LOSS_TERMED, /* asked to end: no way back, even if a renewal comes after all */
    LOSS_KILLED
};

struct loss {
    zkl_grant *grant;
    const struct hold_options *options;
    struct events *events;
    enum loss_phase phase;
    int64_t grace_ms;
    int64_t margin_ms;    /* KILL so long before the deadline */
    int64_t kill_at;      /* by now_ms() */
    int64_t give_up_at;   /* by now_ms(): what KILL does not end by then never ends */
    pthread_mutex_t lock; /* of gone */
    pthread_cond_t over;
    bool gone; /* no member of the group lives: the library may delete the node */
};

void loss_init(struct loss *l, const struct hold_options *options, zkl_grant *grant,
               struct events *events);

/* Waits until more than the grace is ahead. GO_ON, or a status: the lock was lost, or a signal
 * came. */
int loss_wait_safe(struct loss *l);

/* The lock is given up, whatever a late renewal brings: TERM now and KILL before the grace is over,
 * or KILL now if the deadline is nearer than that. */
void loss_begin(struct loss *l, const struct child *child);

/* Looks at the deadline, and does what is due. */
void loss_step(struct loss *l, const struct child *child);

/* When to look again. */
int64_t loss_next_ms(const struct loss *l);

/* Whether the group of a lost command is gone, or will never be. */
bool loss_over(const struct loss *l, const struct child *child);

/* Lets the loss callback return, and releases the grant. */
void loss_finish(struct loss *l);

#endif
