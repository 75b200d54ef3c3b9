/* The callers of one mutex handle that does not retain. One of them contends, the others wait here
 * in the order of their calls. All with the monitor held. docs/design/local-queue.md has the
 * argument. */
#ifndef LIB_LOCAL_QUEUE_H
#define LIB_LOCAL_QUEUE_H

#include "locks.h"

struct contender;

/* Only local_queue*.c look inside. */
struct local_queue {
    unsigned refs;            /* the handle's, and one for each contender that has not left */
    struct contender *inside; /* whose node may stand; NULL: nobody waits either */
    GQueue waiting;           /* of struct contender, by .link */
    struct local_callers callers;
};

struct local_queue *local_queue_new(zkl_session *s);
void local_queue_unref(struct local_queue *q);

/* c has come: it is admitted when nobody is before it. If somebody is and c tries, it has failed
 * with ZKL_EBUSY when this returns. */
void local_queue_arrive(struct local_queue *q, struct contender *c);

/* Who is to be admitted now: the next one, which is inside from here on; NULL: somebody else is, or
 * nobody waits. One that fails at once lets in the next, which the admission then admits behind it
 * and not in the midst of it. */
struct contender *local_queue_next(struct local_queue *q);

/* c's node is gone or going. As local_queue_next(); NULL also if c had left, or has no queue. */
struct contender *local_queue_leave(struct contender *c);

/* Whether others wait behind c. */
bool local_queue_waits(const struct contender *c);

#endif
