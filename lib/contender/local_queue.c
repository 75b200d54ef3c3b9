/* Threads that share a handle may be thousands. If each had a node, everybody would list and watch
 * among thousands. One that waits here has no node, no request and no watch. */
#include "local_queue.h"

#include "contender.h"

struct local_queue {
    unsigned refs;            /* the handle's, and one for each contender that has not left */
    struct contender *inside; /* whose node may stand; NULL: nobody waits either */
    GQueue waiting;           /* of struct contender, by .link */
};

void local_queue_unref(struct local_queue *q)
{
    if (--q->refs > 0)
        return;
    g_free(q);
}

struct local_queue *local_queue_new(void)
{
    struct local_queue *q = g_new0(struct local_queue, 1);

    q->refs = 1;
    return q;
}

/* The contender to be admitted now: the next one, which is inside from here on; NULL: another is,
 * or nobody waits. One that fails at once lets in the next, which the admission then admits behind
 * it and not in the midst of it. */
static struct contender *local_queue_next(struct local_queue *q)
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

static void local_queue_wait_behind(struct local_queue *q, struct contender *c)
{
    c->link.data = c;
    g_queue_push_tail_link(&q->waiting, &c->link);
    if (q->inside && q->inside->tenure)
        grant_call(q->inside->tenure, TENURE_WANTED);
}

void local_queue_arrive(struct local_queue *q, struct contender *c)
{
    if (q->inside && c->machine.try_only) {
        contender_abort(c, ZKL_EBUSY, zkl_strerror(ZKL_EBUSY));
        return;
    }
    q->refs++;
    c->local = q;
    local_queue_wait_behind(q, c);
    if ((c = local_queue_next(q)))
        admission_enter(c);
}
