/* All members of a session that are not over: what they hear of it, who has the same node. */
#include "member_session.h"

#include "lib/session/participant.h"
#include "member.h"

/* By which part of a session timeout the deadlines of many may be early. */
enum { EARLY_PART = 64 };

unsigned members_many = MEMBERS_MANY;

struct members {
    struct participant participant;
    GQueue list;       /* of zkl_member */
    GHashTable *nodes; /* node -> the first that has it, and others behind that one; no parties' */
    bool suspect;      /* some are, until there is a proof */
    int64_t shown;     /* all that are in show that deadline, or a later one; CLOCK_BOOTTIME ns */
};

static bool is_busy(const struct participant *p)
{
    return ((const struct members *)p)->list.length > 0;
}

/* Without a deadline ahead others may see it gone already: nothing keeps the session then. */
static bool holds(const struct participant *p)
{
    if (proofs_deadline(&p->session->proofs, clock_now()) == DEADLINE_NONE)
        return false;
    for (const GList *l = ((const struct members *)p)->list.head; l; l = l->next) {
        const enum member_state state = ((const zkl_member *)l->data)->machine.state;
        if (state == MEMBER_IN || state == MEMBER_CREATING)
            return true;
    }
    return false;
}

/* Stepping one may end others: each is held until its turn. */
static void step_all(struct participant *p, unsigned kind)
{
    const GQueue *list = &((struct members *)p)->list;
    guint n = 0, count = list->length;
    zkl_member **all = g_new(zkl_member *, count);

    ((struct members *)p)->shown = p->session->proofs.deadline.boot;
    for (GList *l = list->head; l; l = l->next) {
        all[n] = l->data;
        member_ref(all[n++]);
    }
    for (n = 0; n < count; n++) {
        member_happens(all[n], kind);
        member_unref(all[n]);
    }
    g_free(all);
}

static void set_suspect(struct participant *p, bool suspect)
{
    for (GList *l = ((struct members *)p)->list.head; l; l = l->next)
        ((zkl_member *)l->data)->suspect = suspect;
}

static void on_deadline(struct participant *p)
{
    step_all(p, MEMBER_EV_STANDING);
}

/* Where a server stands alone each write that it answers is a proof, and a thousand members that
 * join would each be stepped a thousand times. So many show a deadline that is a little too early,
 * until it has moved by more. */
static bool is_worth_showing(const struct members *all)
{
    const zkl_session *s = all->participant.session;

    return all->suspect || all->list.length < members_many ||
           s->proofs.deadline.boot - all->shown >= s->timeout_ms * CLOCK_MS / EARLY_PART;
}

static void on_proved(struct participant *p)
{
    struct members *all = (struct members *)p;

    if (!is_worth_showing(all))
        return;
    all->suspect = false;
    set_suspect(p, false);
    step_all(p, MEMBER_EV_STANDING);
}

static void on_suspect(struct participant *p)
{
    set_suspect(p, true);
    step_all(p, MEMBER_EV_STANDING);
    ((struct members *)p)->suspect = true;
}

static void on_replaced(struct participant *p)
{
    set_suspect(p, false);
    for (GList *l = ((struct members *)p)->list.head; l; l = l->next)
        ((zkl_member *)l->data)->renames = true;
    step_all(p, MACHINE_EV_SESSION);
}

static void on_over(struct participant *p)
{
    step_all(p, MACHINE_EV_OVER);
}

static void free_members(struct participant *p)
{
    g_hash_table_unref(((struct members *)p)->nodes);
    g_free((struct members *)p);
}

static const struct participant_ops participant = {.is_busy = is_busy,
                                                   .holds = holds,
                                                   .on = {[NEWS_PROVED] = on_proved,
                                                          [NEWS_DEADLINE] = on_deadline,
                                                          [NEWS_SUSPECT] = on_suspect,
                                                          [NEWS_LAPSED] = on_deadline,
                                                          [NEWS_REPLACED] = on_replaced,
                                                          [NEWS_REFUSED] = on_over,
                                                          [NEWS_CLOSED] = on_over},
                                                   .free = free_members};

static struct members *members_of(zkl_session *s)
{
    struct members *all = (struct members *)participant_of(s, &participant, sizeof(struct members));

    if (!all->nodes) {
        all->nodes = g_hash_table_new(g_str_hash, g_str_equal);
        all->shown = s->proofs.deadline.boot;
    }
    return all;
}

/* ---- who has a node ---- */

zkl_member *members_find(zkl_session *s, const char *node)
{
    return g_hash_table_lookup(members_of(s)->nodes, node);
}

void members_add(zkl_member *m)
{
    struct members *all = members_of(m->session);
    zkl_member *last = members_find(m->session, m->node);

    g_queue_push_tail_link(&all->list, &m->link);
    while (last && last->behind)
        last = last->behind;
    if (last)
        last->behind = m;
    else if (m->options.layout == ZKL_MEMBER_GROUP)
        g_hash_table_insert(all->nodes, m->node, m);
}

void members_remove(zkl_member *m)
{
    struct members *all = members_of(m->session);
    zkl_member *before = members_find(m->session, m->node);

    g_queue_unlink(&all->list, &m->link);
    if (before == m) {
        g_hash_table_remove(all->nodes, m->node);
        if (m->behind)
            g_hash_table_insert(all->nodes, m->behind->node, m->behind);
        return;
    }
    while (before && before->behind != m)
        before = before->behind;
    if (before)
        before->behind = m->behind;
}
