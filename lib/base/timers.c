#include "timers.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "thread.h"

bool timers_by_hand;

struct timers {
    pthread_mutex_t *monitor;
    GSequence *queue;
    int fd;      /* -1: run by hand */
    int64_t set; /* what fd is set to, CLOCK_BOOTTIME ns; INT64_MAX: nothing */
    bool stop;
    pthread_t thread;
};

static int timers_compare(gconstpointer a, gconstpointer b, gpointer unused)
{
    int64_t x = ((const struct timer *)a)->due, y = ((const struct timer *)b)->due;

    (void)unused;
    return (x > y) - (x < y);
}

static void set_fd(struct timers *timers, int64_t due)
{
    struct itimerspec spec = {{0, 0}, {0, 0}};

    timers->set = due;
    if (due == INT64_MAX || timers->fd < 0)
        return; /* a wake-up too many does no harm */
    /* 0 would disarm it; and time_t may have 32 bits. */
    due = CLAMP(due, 1, INT64_C(1000000000) * INT32_MAX);
    spec.it_value.tv_sec = (time_t)(due / 1000000000);
    spec.it_value.tv_nsec = (long)(due % 1000000000);
    if (timerfd_settime(timers->fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
        g_error("zkl: setting a timerfd: %s", g_strerror(errno)); /* losses would not be told */
}

static struct timer *timers_first(const struct timers *timers)
{
    if (g_sequence_is_empty(timers->queue))
        return NULL;
    return g_sequence_get(g_sequence_get_begin_iter(timers->queue));
}

int64_t timers_next(const struct timers *timers)
{
    const struct timer *timer = timers_first(timers);

    return timer ? timer->due : INT64_MAX;
}

void timers_run(struct timers *timers)
{
    int64_t now = clock_now().boot;

    while (timers_next(timers) <= now) {
        struct timer *timer = timers_first(timers);
        timers_cancel(timer);
        timer->fn(timer->data);
    }
    set_fd(timers, timers_next(timers));
}

static void *timers_serve(void *data)
{
    struct timers *timers = data;
    uint64_t expirations;

    thread_name("zkl-timers");
    for (;;) {
        if (read(timers->fd, &expirations, sizeof expirations) < 0 && errno != EINTR &&
            errno != EAGAIN)
            g_error("zkl: reading a timerfd: %s", g_strerror(errno));
        pthread_mutex_lock(timers->monitor);
        if (!timers->stop)
            timers_run(timers);
        bool stop = timers->stop;
        pthread_mutex_unlock(timers->monitor);
        if (stop)
            return NULL;
    }
}

struct timers *timers_new(pthread_mutex_t *monitor)
{
    struct timers *timers = g_new0(struct timers, 1);

    timers->monitor = monitor;
    timers->set = INT64_MAX;
    timers->queue = g_sequence_new(NULL);
    timers->fd = timers_by_hand ? -1 : timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timers_by_hand ||
        (timers->fd >= 0 && thread_start(&timers->thread, timers_serve, timers) == 0))
        return timers;
    if (timers->fd >= 0)
        close(timers->fd);
    g_sequence_free(timers->queue);
    g_free(timers);
    return NULL;
}

void timers_stop(struct timers *timers)
{
    timers->stop = true;
    set_fd(timers, 1);
}

void timers_free(struct timers *timers)
{
    if (timers->fd >= 0) {
        pthread_mutex_lock(timers->monitor);
        timers_stop(timers);
        pthread_mutex_unlock(timers->monitor);
        pthread_join(timers->thread, NULL);
        close(timers->fd);
    }
    g_sequence_free(timers->queue);
    g_free(timers);
}

void timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                void *data)
{
    timers_cancel(timer);
    timer->due = due;
    timer->fn = fn;
    timer->data = data;
    timer->at = g_sequence_insert_sorted(timers->queue, timer, timers_compare, NULL);
    if (due < timers->set)
        set_fd(timers, due);
}

void timers_cancel(struct timer *timer)
{
    if (timer->at)
        g_sequence_remove(timer->at);
    timer->at = NULL;
}
