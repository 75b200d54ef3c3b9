/* The functions of the header take the lock, and so does reader_run(), but for the time of a
 * reading. */
#include "reader.h"
#include "worker.h"

/* The pause from the end of one reading to the next. */
#define PAUSE_MS 200

static void reading_clear(void *data)
{
    struct reading *r = data;

    zkl_queue_free(r->queue);
}

void reading_unref(struct reading *r)
{
    if (r)
        g_atomic_rc_box_release_full(r, reading_clear);
}

static void *reader_run(void *data)
{
    struct reader *r = data;

    pthread_mutex_lock(&r->lock);
    while (!r->over) {
        const size_t most = r->most;

        if (!r->wanted) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        r->wanted = false;
        pthread_mutex_unlock(&r->lock);
        struct reading *reading = g_atomic_rc_box_new0(struct reading);
        if (r->read(&reading->queue, r, most) != 0)
            zkl_last_error(&reading->error);
        reading->time_ms = g_get_real_time() / 1000;
        pthread_mutex_lock(&r->lock);
        reading_unref(r->newest);
        r->newest = g_atomic_rc_box_acquire(reading);
        reading_unref(r->previous);
        r->previous = reading;
        events_wake(r->events);
        const struct timespec until = worker_after_ms(PAUSE_MS);
        while (!r->over && worker_await(&r->changed, &r->lock, &until))
            continue;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

int reader_start(struct reader *r)
{
    pthread_mutex_init(&r->lock, NULL);
    worker_condition_init(&r->changed);
    const int err = worker_start(&r->thread, reader_run, r);
    return err == 0 ? GO_ON : fail(STATUS_INTERNAL, "cannot start a thread: %s", g_strerror(err));
}

/* Wakes the thread for another reading. The caller holds the lock. */
static void reader_wake(struct reader *r)
{
    r->wanted = true;
    pthread_cond_signal(&r->changed);
}

void reader_want(struct reader *r, size_t most)
{
    pthread_mutex_lock(&r->lock);
    r->most = most;
    reader_wake(r);
    pthread_mutex_unlock(&r->lock);
}

void reader_want_again(void *data)
{
    struct reader *r = data;

    pthread_mutex_lock(&r->lock);
    reader_wake(r);
    pthread_mutex_unlock(&r->lock);
}

struct reading *reader_take(struct reader *r)
{
    pthread_mutex_lock(&r->lock);
    struct reading *newest = g_steal_pointer(&r->newest);
    pthread_mutex_unlock(&r->lock);
    return newest;
}

void reader_stop(struct reader *r)
{
    pthread_mutex_lock(&r->lock);
    r->over = true;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void reader_join(struct reader *r)
{
    pthread_join(r->thread, NULL);
    reading_unref(r->newest);
    reading_unref(r->previous);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}
