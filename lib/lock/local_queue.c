/* Threads that share a handle may be thousands. If each had a node, everybody would list and watch
 * among thousands. Who waits here has no node, no request and no watch. */
#include "local_queue.h"

#include "contender_requests.h"
#include "grant.h"
#include "locks.h"

struct local_queue {
    unsigned refs;            /* the handle's, and one for each contender that has not left */
    struct contender *inside; /* whose node may stand; NULL: nobody waits either */
    GQueue waiting;           /* of struct contender, by .link */
    struct locks *all;        /* of the session */
    struct local_callers callers;
};

/* Who is inside hears of the end of the session as every contender does. */
static void end_calls(void *queue, const zkl_error *why)
{
    struct local_queue *q = queue;

    q->refs++;
    while (!g_queue_is_empty(&q->waiting))
        contender_abort(g_queue_peek_head(&q->waiting), why->code, why->text);
    local_queue_unref(q);
}

struct local_queue *local_queue_new(zkl_session *s)
{
    struct local_queue *q = g_new0(struct local_queue, 1);

    q->refs = 1;
    q->all = locks_of(s);
    q->callers = (struct local_callers){.abort = end_calls, .context = q, .link.data = &q->callers};
    g_queue_push_tail_link(&q->all->local_callers, &q->callers.link);
    return q;
}

void local_queue_unref(struct local_queue *q)
{
    if (--q->refs > 0)
        return;
    g_queue_unlink(&q->all->local_callers, &q->callers.link);
    g_free(q);
}

static struct contender *take_first(struct local_queue *q)
{
    struct contender *c = g_queue_peek_head(&q->waiting);

    g_queue_unlink(&q->waiting, &c->link);
    c->link.data = NULL;
    return c;
}

/* One that fails at once lets in the next, which the admission then admits behind it and not in the
 * midst of it. */
static void let_in(struct local_queue *q)
{
    if (q->inside || g_queue_is_empty(&q->waiting))
        return;
    q->inside = take_first(q);
    admission_enter(q->inside);
}

static void wait_behind(struct local_queue *q, struct contender *c)
{
    c->link.data = c;
    g_queue_push_tail_link(&q->waiting, &c->link);
    if (q->inside && q->inside->grant)
        grant_call(q->inside->grant, GRANT_WANTED);
}

void local_queue_arrive(struct local_queue *q, struct contender *c)
{
    if (q->inside && c->machine.try_only) {
        contender_abort(c, ZKL_EBUSY, zkl_strerror(ZKL_EBUSY));
        return;
    }
    q->refs++;
    c->local = q;
    wait_behind(q, c);
    let_in(q);
}

void local_queue_leave(struct contender *c)
{
    struct local_queue *q = c->local;

    if (!q)
        return;
    c->local = NULL;
    if (c != q->inside) {
        g_queue_unlink(&q->waiting, &c->link);
        c->link.data = NULL;
    } else {
        q->inside = NULL;
        let_in(q);
    }
    local_queue_unref(q);
}

bool local_queue_waits(const struct contender *c)
{
    return c->local && !g_queue_is_empty(&c->local->waiting);
}
