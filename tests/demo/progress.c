#include "progress.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    REDRAW_MS = 100,
    REMIND_S = 10, /* without a terminal: how often to say that it still goes on */
    BAR = 24,
    LINE = 79
};

static struct {
    pthread_mutex_t guard;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, stopping, live, colour;
    int64_t begun, said; /* monotonic microseconds */
    int done, of;
    char text[128];
} p = {.guard = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static double seconds(void)
{
    return (double)(g_get_monotonic_time() - p.begun) / 1e6;
}

static void draw_live(void)
{
    static const char spin[] = "|/-\\";
    char bar[BAR + 1], line[256];
    int full = p.of > 0 ? p.done * BAR / p.of : 0;

    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    if (p.of > 0)
        snprintf(line, sizeof line, "[%s] %3d/%d  %4.1f s  %s", bar, p.done, p.of, seconds(),
                 p.text);
    else
        snprintf(line, sizeof line, "%4.1f s  %s", seconds(), p.text);
    printf("\r%s%c%s %-*.*s", p.colour ? "\033[36m" : "", spin[(int)(seconds() * 8) % 4],
           p.colour ? "\033[0m" : "", LINE - 3, LINE - 3, line);
    fflush(stdout);
}

static void draw_plain(const char *before)
{
    p.said = g_get_monotonic_time();
    if (p.of > 0)
        printf("%5.1f s  %s%s (%d of %d increments)\n", seconds(), before, p.text, p.done, p.of);
    else
        printf("%5.1f s  %s%s\n", seconds(), before, p.text);
    fflush(stdout);
}

static void *redraw(void *unused)
{
    pthread_mutex_lock(&p.guard);
    while (!p.stopping) {
        struct timespec until;

        if (p.live)
            draw_live();
        else if (g_get_monotonic_time() - p.said > (int64_t)REMIND_S * 1000000)
            draw_plain("still ");
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)REDRAW_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p.changed, &p.guard, &until);
    }
    pthread_mutex_unlock(&p.guard);
    return unused;
}

void progress_start(bool quiet, bool colour)
{
    p.begun = p.said = g_get_monotonic_time();
    p.live = isatty(STDOUT_FILENO);
    p.colour = colour;
    p.running = !quiet && pthread_create(&p.thread, NULL, redraw, NULL) == 0;
}

void progress_say(const char *format, ...)
{
    va_list ap;

    pthread_mutex_lock(&p.guard);
    va_start(ap, format);
    vsnprintf(p.text, sizeof p.text, format, ap);
    va_end(ap);
    if (p.running && !p.live)
        draw_plain("");
    pthread_mutex_unlock(&p.guard);
}

void progress_count(int done, int of)
{
    pthread_mutex_lock(&p.guard);
    p.done = done;
    p.of = of;
    pthread_mutex_unlock(&p.guard);
}

void progress_stop(void)
{
    if (!p.running)
        return;
    pthread_mutex_lock(&p.guard);
    p.stopping = true;
    pthread_cond_broadcast(&p.changed);
    pthread_mutex_unlock(&p.guard);
    pthread_join(p.thread, NULL);
    p.running = false;
    if (p.live)
        printf("\r%*s\r", LINE, "");
}
