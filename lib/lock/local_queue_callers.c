/* The callers of a local queue: how they come, and what becomes of them when the session ends. */
#include "contender.h"
#include "grant.h"
#include "local_queue.h"

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
    local_callers_add(&locks_of(s)->local_callers, &q->callers, end_calls, q);
    return q;
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
    if ((c = local_queue_next(q)))
        admission_enter(c);
}
