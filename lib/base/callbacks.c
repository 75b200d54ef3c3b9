#include "callbacks.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "thread.h"

struct item {
    void (*fn)(void *data);
    void *data;
};

struct callbacks {
    pthread_mutex_t lock; /* a leaf: nothing that takes a lock is called with it held */
    pthread_cond_t wake, idle;
    GQueue queue;          /* of struct item */
    uint64_t pushed, done; /* how many functions were */
    bool stop, busy;       /* busy: a function runs */
    int fd;                /* of an eventfd; -1: there is a thread */
    bool readable;         /* that eventfd was written to since it was last read */
    pthread_t thread;
    sigset_t mask; /* of the thread that made this. The queue's thread has it during callbacks,
                      since the threads and programs that a callback starts inherit it */
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
    if (cb->fd >= 0)
        close(cb->fd);
    g_free(cb);
}

/* Calls the next function. The caller holds the lock, which is given up during the call. */
static void call_next(struct callbacks *cb)
{
    struct item *item = g_queue_pop_head(&cb->queue);
    sigset_t before;

    cb->busy = true;
    pthread_mutex_unlock(&cb->lock);
    if (cb->fd < 0)
        pthread_sigmask(SIG_SETMASK, &cb->mask, &before);
    inside = true;
    item->fn(item->data);
    inside = false;
    if (cb->fd < 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    g_free(item);
    pthread_mutex_lock(&cb->lock);
    cb->busy = false;
    cb->done++;
    pthread_cond_broadcast(&cb->idle);
}

static void *callbacks_run(void *data)
{
    struct callbacks *cb = data;

    thread_name("zkl-callbacks");
    pthread_mutex_lock(&cb->lock);
    for (;;) {
        if (!g_queue_is_empty(&cb->queue))
            call_next(cb);
        else if (cb->stop)
            break;
        else
            pthread_cond_wait(&cb->wake, &cb->lock);
    }
    pthread_mutex_unlock(&cb->lock);
    return NULL;
}

struct callbacks *callbacks_new(bool by_user)
{
    struct callbacks *cb = g_new0(struct callbacks, 1);

    pthread_mutex_init(&cb->lock, NULL);
    pthread_cond_init(&cb->wake, NULL);
    pthread_cond_init(&cb->idle, NULL);
    g_queue_init(&cb->queue);
    pthread_sigmask(SIG_SETMASK, NULL, &cb->mask);
    cb->fd = by_user ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (by_user ? cb->fd >= 0 : thread_start(&cb->thread, callbacks_run, cb) == 0)
        return cb;
    callbacks_free(cb);
    return NULL;
}

int callbacks_fd(const struct callbacks *cb)
{
    return cb->fd;
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
        if (cb->fd >= 0)
            eventfd_write(cb->fd, 1);
        else
            pthread_cond_signal(&cb->wake);
        cb->readable = cb->fd >= 0;
    }
    pthread_mutex_unlock(&cb->lock);
    return open;
}

unsigned callbacks_queued(struct callbacks *cb)
{
    pthread_mutex_lock(&cb->lock);
    const unsigned queued = cb->queue.length;
    pthread_mutex_unlock(&cb->lock);
    return queued;
}

/* Waits until the first upto functions have returned. If by_user, this thread calls them, unless
 * another thread does. The caller holds the lock. */
static void call_upto(struct callbacks *cb, uint64_t upto)
{
    eventfd_t count;

    while (cb->done < upto) {
        if (cb->fd >= 0 && !cb->busy)
            call_next(cb);
        else
            pthread_cond_wait(&cb->idle, &cb->lock);
    }
    if (cb->readable && g_queue_is_empty(&cb->queue))
        cb->readable = eventfd_read(cb->fd, &count) != 0;
}

/* The thread cannot be cancelled here, nor in the callbacks that it calls: it would leave the queue
 * locked, or busy for ever. */
void callbacks_flush(struct callbacks *cb)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&cb->lock);
    call_upto(cb, cb->pushed);
    pthread_mutex_unlock(&cb->lock);
    pthread_setcancelstate(before, NULL);
}

void callbacks_stop(struct callbacks *cb)
{
    pthread_mutex_lock(&cb->lock);
    cb->stop = true;
    pthread_cond_signal(&cb->wake);
    call_upto(cb, cb->pushed);
    pthread_mutex_unlock(&cb->lock);
    if (cb->fd < 0)
        pthread_join(cb->thread, NULL);
}
