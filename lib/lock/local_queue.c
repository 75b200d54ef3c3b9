/* Threads that share a handle may be thousands. If each had a node, everybody would list and watch
 * among thousands. Who waits here has no node, no request and no watch. */
#include "local_queue.h"

#include "contender.h"

void local_queue_unref(struct local_queue *q)
{
    if (--q->refs > 0)
        return;
    local_callers_remove(&q->callers);
    g_free(q);
}

struct contender *local_queue_next(struct local_queue *q)
{
    struct contender *c = q->inside ? NULL : g_queue_peek_head(&q->waiting);

    if (!c)
        return NULL;
    g_queue_unlink(&q->waiting, &c->link);
    c->link.data = NULL;
    q->inside = c;
    return c;
}

struct contender *local_queue_leave(struct contender *c)
{
    struct local_queue *q = c->local;
    struct contender *next = NULL;

    if (!q)
        return NULL;
    c->local = NULL;
    if (c != q->inside) {
        g_queue_unlink(&q->waiting, &c->link);
        c->link.data = NULL;
    } else {
        q->inside = NULL;
        next = local_queue_next(q);
    }
    local_queue_unref(q);
    return next;
}

bool local_queue_waits(const struct contender *c)
{
    return c->local && !g_queue_is_empty(&c->local->waiting);
}
