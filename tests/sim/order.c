#include "order.h"

#include <inttypes.h>

#include "client.h"
#include "lib/contender/contender.h"
#include "lib/lock/mutex.h"
#include "lib/session/core.h"
#include "nodes.h"

enum { GRACE_NS = 100000000 };

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

/* ---- idle tenures ---- */

/* The token of another session's contender that waits behind the one with that token; 0: there is
 * none. */
static uint64_t rival_of(const struct stage *stage, uint64_t token)
{
    const GPtrArray *standing = stage->oracle.standing;
    const struct contender_node *own = NULL, *n;

    for (guint i = 0; i < standing->len; i++) {
        n = standing->pdata[i];
        if (n->zxid == token && !n->older)
            own = n;
        else if (own && n->line == own->line && n->session != own->session && !n->undone &&
                 n->number > own->number)
            return n->zxid;
    }
    return 0;
}

/* The first of its idle tenures that another waits for, or none. */
static struct kept_out find_kept_out(const struct stage *stage, zkl_session *s)
{
    struct kept_out found = {.rival = 0};

    session_lock(s);
    for (const GList *l = contenders_of(s)->idle.head; l && found.rival == 0; l = l->next) {
        found.tenure = turns_tenure(l->data)->token;
        found.rival = rival_of(stage, found.tenure);
    }
    session_unlock(s);
    return found;
}

static void check_idle(struct stage *stage, struct client *p)
{
    const struct kept_out now = find_kept_out(stage, p->session);
    const struct kept_out *before = &p->kept_out;

    if (now.rival == 0 || now.tenure != before->tenure || now.rival != before->rival)
        p->kept_out = now;
    else if (before->known_in != 0 && before->known_in < stage->tally.steps)
        stage_wrong(stage, "the tenure %" PRIu64 " of %s is idle, though %" PRIu64 " waits",
                    now.tenure, host_name(p->host), now.rival);
}

/* Requests are parked behind a create that an old server is asked about again, but proofs are not.
 * So such a write may be sent before the look of the tenure. */
static void hear_write(const struct stage *stage, const struct note *note, struct client *p)
{
    struct kept_out *k = &p->kept_out;

    if (note->kind == NOTE_SENT && k->proof == 0 && g_queue_is_empty(&p->session->parked))
        k->proof = note->sequence;
    else if (note->kind == NOTE_ANSWERED && k->proof != 0 && note->sequence >= k->proof &&
             (note->rc == STORE_OK || note->rc == STORE_BADVERSION))
        k->known_in = stage->tally.steps;
}

void order_note(struct stage *stage, const struct note *note)
{
    for (guint i = 0; client_retaining && note->host && i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        if (p->host != note->host || p->kept_out.rival == 0)
            continue;
        if (note->kind == NOTE_EVENT)
            p->kept_out.rival = 0;
        else if (note->request == STORE_SET)
            hear_write(stage, note, p);
    }
}

/* ---- those who cannot be granted ---- */

static struct unproved find_unproved(zkl_session *s)
{
    struct unproved found = {.token = 0};

    session_lock(s);
    for (const GList *l = contenders_of(s)->list.head; s->up && l && found.token == 0;
         l = l->next) {
        const struct attempt *m = &((const struct contender *)l->data)->machine;
        if (m->state == ST_CLAIMING || (m->state == ST_PROVING && m->awaits))
            found.token = m->token;
    }
    found.connection = s->connection;
    session_unlock(s);
    return found;
}

/* For so long, by the slowest clock, others may have to wait for it. */
static int64_t patience(const struct client *p)
{
    return p->options.session_timeout_ms * INT64_C(1150000) + GRACE_NS;
}

static void check_unproved(struct stage *stage, struct client *p)
{
    struct unproved now = find_unproved(p->session);
    const struct unproved *before = &p->unproved;

    now.since = before->token == now.token && before->connection == now.connection
                    ? MAX(before->since, p->running_since)
                    : stage_now(stage);
    if (now.token != 0 && stage_now(stage) - now.since > patience(p))
        stage_wrong(stage, "the contender %" PRIu64 " of %s is first, but cannot be granted",
                    now.token, host_name(p->host));
    p->unproved = now;
}

void order_check(struct stage *stage)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        struct client *p = stage->processes->pdata[i];
        if (!p->session || !client_runs(p))
            continue;
        check_unproved(stage, p);
        if (p->locks_both)
            check_process(stage, p);
        else if (client_retaining)
            check_idle(stage, p);
    }
}
