#include "order.h"

#include "client.h"
#include "lib/session/core.h"
#include "nodes.h"

/* All that it has asked for is answered, and it has done what follows from that. */
static bool is_at_rest(zkl_session *s)
{
    session_lock(s);
    const bool rests = s->up && s->under_way == 0 && g_queue_is_empty(&s->parked) &&
                       g_queue_is_empty(&s->refusals) && s->orphans == 0;
    session_unlock(s);
    return rests;
}

/* The grant may be lost, and its nodes wait for a callback that hangs. */
static bool was_granted(const struct stage *stage, const struct contender_node *n)
{
    for (guint i = 0; i < stage->acquisitions->len; i++) {
        const struct acquisition *a = stage->acquisitions->pdata[i];
        if (acquisition_has_node(a, n->path))
            return true;
    }
    return false;
}

/* NULL: of what it is acquiring now it has none there. */
static const struct contender_node *node_at(const struct stage *stage, const struct client *p,
                                            int path)
{
    for (guint i = 0; i < stage->oracle.standing->len; i++) {
        const struct contender_node *n = stage->oracle.standing->pdata[i];
        if (n->line == path && n->session == zkl_session_id(p->session) && !n->undone &&
            !was_granted(stage, n))
            return n;
    }
    return NULL;
}

static void check_process(struct stage *stage, const struct client *p)
{
    const struct contender_node *first = node_at(stage, p, 0), *second = node_at(stage, p, 1);

    if (!first || !second || !nodes_before(&stage->oracle, first) || !is_at_rest(p->session))
        return;
    stage_wrong(stage, "%s stands, though %s of the same lock is waited for", second->path,
                first->path);
}

void order_check(struct stage *stage)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        const struct client *p = stage->processes->pdata[i];
        if (p->locks_both && p->session && client_runs(p))
            check_process(stage, p);
    }
}
