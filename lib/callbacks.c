#include "callbacks.h"

#include <glib.h>
#include <pthread.h>
#include <stdint.h>

#include "thread.h"

struct item {
    void (*fn)(void *data);
    void *data;
};

struct callbacks {
    pthread_mutex_t lock; /* a leaf: nothing is called with it held */
    pthread_cond_t wake, idle;
    GQueue queue; /* of struct item */
    uint64_t pushed, done;
    bool stop;
    pthread_t thread;
};

static _Thread_local bool inside;

bool callbacks_inside(void)
{
    return inside;
}

void callbacks_forked(void)
{
    inside = false;
}

void callbacks_free(struct callbacks *cb)
{
    pthread_mutex_destroy(&cb->lock);
    pthread_cond_destroy(&cb->wake);
    pthread_cond_destroy(&cb->idle);
    g_free(cb);
}

static void *run(void *data)
{
    struct callbacks *cb = data;

    inside = true;
    pthread_mutex_lock(&cb->lock);
    for (;;) {
        struct item *item = g_queue_pop_head(&cb->queue);
        if (item) {
            pthread_mutex_unlock(&cb->lock);
            item->fn(item->data);
            g_free(item);
            pthread_mutex_lock(&cb->lock);
            cb->done++;
            pthread_cond_broadcast(&cb->idle);
        } else if (cb->stop) {
            break;
        } else {
            pthread_cond_wait(&cb->wake, &cb->lock);
        }
    }
    pthread_mutex_unlock(&cb->lock);
    return NULL;
}

struct callbacks *callbacks_new(void)
{
    struct callbacks *cb = g_new0(struct callbacks, 1);

    pthread_mutex_init(&cb->lock, NULL);
    pthread_cond_init(&cb->wake, NULL);
    pthread_cond_init(&cb->idle, NULL);
    g_queue_init(&cb->queue);
    if (thread_start(&cb->thread, "zkl-callbacks", run, cb) == 0)
        return cb;
    callbacks_free(cb);
    return NULL;
}

bool callbacks_push(struct callbacks *cb, void (*fn)(void *data), void *data)
{
    pthread_mutex_lock(&cb->lock);
    bool open = !cb->stop;
    if (open) {
        struct item *item = g_new(struct item, 1);
        *item = (struct item){fn, data};
        cb->pushed++;
        g_queue_push_tail(&cb->queue, item);
        pthread_cond_signal(&cb->wake);
    }
    pthread_mutex_unlock(&cb->lock);
    return open;
}

void callbacks_flush(struct callbacks *cb)
{
    pthread_mutex_lock(&cb->lock);
    for (uint64_t upto = cb->pushed; cb->done < upto;)
        pthread_cond_wait(&cb->idle, &cb->lock);
    pthread_mutex_unlock(&cb->lock);
}

void callbacks_stop(struct callbacks *cb)
{
    pthread_mutex_lock(&cb->lock);
    cb->stop = true;
    pthread_cond_signal(&cb->wake);
    pthread_mutex_unlock(&cb->lock);
    pthread_join(cb->thread, NULL);
}
