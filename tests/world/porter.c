/* Tells that stores are closed, from a thread of its own: whoever closes waits for it. */
#include <pthread.h>

#include "inside.h"
#include "lib/base/thread.h"

struct porter {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    GQueue sinks; /* of struct store_sink: to be told */
    bool end;
};

/* NULL: all are told, and no more will come. */
static struct store_sink *next(struct porter *porter)
{
    pthread_mutex_lock(&porter->mutex);
    while (g_queue_is_empty(&porter->sinks) && !porter->end)
        pthread_cond_wait(&porter->wake, &porter->mutex);
    struct store_sink *sink = g_queue_pop_head(&porter->sinks);
    pthread_mutex_unlock(&porter->mutex);
    return sink;
}

static void *run(void *data)
{
    struct store_sink *sink;

    while ((sink = next(data)) != NULL) {
        sink->closed(sink->context);
        g_free(sink);
    }
    return NULL;
}

static struct porter *porter_new(void)
{
    struct porter *porter = g_new0(struct porter, 1);

    pthread_mutex_init(&porter->mutex, NULL);
    pthread_cond_init(&porter->wake, NULL);
    if (thread_start(&porter->thread, run, porter) != 0)
        g_error("no thread for the porter");
    return porter;
}

void porter_tell(struct world *w, const struct store_sink *sink)
{
    if (!w->porter)
        w->porter = porter_new();
    pthread_mutex_lock(&w->porter->mutex);
    g_queue_push_tail(&w->porter->sinks, g_memdup2(sink, sizeof *sink));
    pthread_cond_signal(&w->porter->wake);
    pthread_mutex_unlock(&w->porter->mutex);
}

void porter_free(struct porter *porter)
{
    if (!porter)
        return;
    pthread_mutex_lock(&porter->mutex);
    porter->end = true;
    pthread_cond_signal(&porter->wake);
    pthread_mutex_unlock(&porter->mutex);
    pthread_join(porter->thread, NULL);
    pthread_mutex_destroy(&porter->mutex);
    pthread_cond_destroy(&porter->wake);
    g_free(porter);
}
