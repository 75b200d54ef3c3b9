/* The callers of one mutex handle that does not retain. One of them contends, the others wait here
 * in the order of their calls. All with the monitor held. docs/design/local-queue.md has the
 * argument. */
#ifndef LIB_LOCAL_QUEUE_H
#define LIB_LOCAL_QUEUE_H

#include <stdbool.h>
#include <zkl.h>

struct contender;
struct local_queue;

struct local_queue *local_queue_new(void);
void local_queue_unref(struct local_queue *q);

/* c has come: it is admitted when nobody is before it. If somebody is and c tries, it has failed
 * with ZKL_EBUSY when this returns. */
void local_queue_arrive(struct local_queue *q, struct contender *c);

/* c's node is gone or going. Returns the next contender, which is to be admitted now; NULL: there
 * is none, c had left before, or it has no queue. */
struct contender *local_queue_leave(struct contender *c);

/* Whether others wait behind c. */
bool local_queue_waits(const struct contender *c);

#endif
