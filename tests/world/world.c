#include <string.h>

#include "inside.h"

void note(struct world *w, struct note what)
{
    if (w->config.note)
        w->config.note(&what, w->config.note_data);
}

static void clear_refusal(void *data)
{
    g_free(((struct refusal *)data)->path);
}

static void use_defaults(struct world_config *c)
{
    if (c->tick_ms == 0)
        c->tick_ms = 2000;
    if (c->sync_limit == 0)
        c->sync_limit = 5;
    if (c->latency_max_us == 0) {
        c->latency_min_us = 100;
        c->latency_max_us = 500;
    }
}

static void on_reaping(void *context)
{
    struct world *w = context;

    world_reap(w);
    queue_arm(&w->queue, &w->reaping, w->queue.now + w->config.reap_ms * MS, on_reaping, w);
}

void world_random(void *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += sizeof(guint32)) {
        guint32 drawn = g_random_int();
        memcpy((char *)bytes + done, &drawn, MIN(sizeof drawn, size - done));
    }
}

struct world *world_new(const struct world_config *config)
{
    struct world *w = g_new0(struct world, 1);

    host_count_worlds(1);
    w->config = *config;
    use_defaults(&w->config);
    w->tick = w->config.tick_ms * MS;
    queue_init(&w->queue, config->seed);
    w->count = (unsigned)CLAMP(config->servers, 1, WORLD_SERVERS_MAX);
    w->hosts = g_ptr_array_new();
    w->history = g_ptr_array_new_with_free_func((GDestroyNotify)txn_unref);
    w->late = g_ptr_array_new_with_free_func(late_free);
    w->refusals = g_array_new(FALSE, FALSE, sizeof(struct refusal));
    g_array_set_clear_func(w->refusals, clear_refusal);
    for (unsigned i = 0; i < w->count; i++)
        server_init(w, i);
    ensemble_start(w);
    if (w->config.reap_ms > 0)
        queue_arm(&w->queue, &w->reaping, w->config.reap_ms * MS, on_reaping, w);
    return w;
}

static void free_host(struct host *h)
{
    if (h->stores->len > 0)
        g_error("%s has stores that are not closed", h->name);
    g_ptr_array_unref(h->stores);
    g_free(h->name);
    g_free(h);
}

void world_free(struct world *w)
{
    porter_free(w->porter);
    if (w->kept)
        tree_free(w->kept);
    for (unsigned i = 0; i < w->count; i++)
        server_clear(&w->servers[i]);
    for (guint i = 0; i < w->hosts->len; i++)
        free_host(w->hosts->pdata[i]);
    g_ptr_array_unref(w->hosts);
    g_ptr_array_unref(w->history);
    g_array_unref(w->refusals);
    g_ptr_array_unref(w->late);
    queue_clear(&w->queue);
    g_free(w);
    host_count_worlds(-1);
}

int64_t world_now(const struct world *w)
{
    return w->queue.now;
}

int64_t world_next(const struct world *w)
{
    return queue_next(&w->queue);
}

bool world_run_next(struct world *w, int64_t until)
{
    return queue_run_next(&w->queue, until);
}

void world_run(struct world *w, int64_t until)
{
    while (world_run_next(w, until))
        continue;
}
