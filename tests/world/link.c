#include "link.h"

#include "inside.h"

static void free_message(struct message *m)
{
    if (m->ask)
        ask_unref(m->ask);
    if (m->txn)
        txn_unref(m->txn);
    if (m->conn)
        conn_unref(m->conn);
    if (m->path)
        g_ref_string_release(m->path);
    for (size_t i = 0; i < G_N_ELEMENTS(m->paths); i++)
        g_clear_pointer(&m->paths[i], g_ptr_array_unref);
    if (m->sessions)
        g_array_unref(m->sessions);
    g_free(m);
}

static struct message *pop(struct link *link)
{
    struct message *m = link->first;

    if (!m)
        return NULL;
    link->first = m->next;
    if (!link->first)
        link->last = NULL;
    return m;
}

static void on_due(void *context);

static void await(struct link *link)
{
    if (link->first && !link->alarm.slot && !link->blocked(link))
        queue_arm(&link->w->queue, &link->alarm, link->first->at, on_due, link);
}

bool link_deliver_next(struct link *link)
{
    struct message *m = pop(link);

    if (!m)
        return false;
    queue_cancel(&link->w->queue, &link->alarm);
    await(link);
    /* Last, as the link may end by it. */
    link->deliver(link, m);
    free_message(m);
    return true;
}

static void on_due(void *context)
{
    struct link *link = context;

    if (!link->blocked(link))
        link_deliver_next(link);
}

int64_t link_latency(struct world *w)
{
    uint64_t spread = (uint64_t)(w->config.latency_max_us - w->config.latency_min_us + 1);

    return (w->config.latency_min_us + (int64_t)chance_below(&w->queue, spread)) * 1000;
}

void link_send(struct link *link, struct message what, int64_t delay_ns)
{
    struct message *m = g_new(struct message, 1);

    *m = what;
    m->next = NULL;
    link->latest = m->at = MAX(link->latest, link->w->queue.now + delay_ns);
    if (link->last)
        link->last->next = m;
    else
        link->first = m;
    link->last = m;
    await(link);
}

void link_kick(struct link *link, int64_t delay_ns)
{
    int64_t soonest = link->w->queue.now + delay_ns;

    for (struct message *m = link->first; m && m->at < soonest; m = m->next)
        m->at = soonest;
    link->latest = MAX(link->latest, soonest);
    queue_cancel(&link->w->queue, &link->alarm);
    await(link);
}

void link_flush(struct link *link)
{
    for (struct message *m; (m = pop(link)) != NULL;)
        free_message(m);
    queue_cancel(&link->w->queue, &link->alarm);
}
