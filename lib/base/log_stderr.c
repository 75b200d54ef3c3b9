#include "log_stderr.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clean.h"
#include "clock.h"
#include "thread.h"

enum { WAITING_BYTES_MAX = 65536, FLUSH_MS = 500 };

struct line {
    unsigned long dropped; /* right before it */
    size_t size;
    char text[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_cond_t ended;        /* writing, no more; prepared: it can be waited for */
static GQueue lines = G_QUEUE_INIT; /* of struct line, without the one that is being written */
static size_t waiting_bytes;
static unsigned long dropped; /* behind the last of them */
static bool prepared;
static bool writing; /* there is a writer: as long as there are lines */
static bool stuck;   /* somebody has waited for it in vain */

/* It may name nodes, and quote what is in them. */
static struct line *line_new(const char *raw)
{
    char *text = clean_text(raw, -1);
    size_t length = strlen(text), size = length + strlen("zkl: \n");
    struct line *line = g_malloc(sizeof *line + size + 1);

    line->size = size;
    memcpy(line->text, "zkl: ", 5);
    memcpy(line->text + 5, text, length);
    memcpy(line->text + 5 + length, "\n", 2);
    g_free(text);
    return line;
}

/* One write(2) for a line, unless less is taken. SIGPIPE is blocked, as in all threads of ours. */
static bool log_stderr_write_all(const char *text, size_t size)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, text, size);
        if (written < 0 && errno == EAGAIN)
            poll(&out, 1, -1);
        else if (written < 0 && errno != EINTR)
            return false;
        else if (written > 0) {
            text += written;
            size -= (size_t)written;
        }
    }
    return true;
}

static bool write_dropped(unsigned long count)
{
    char text[80];
    int size = snprintf(text, sizeof text, "zkl: %lu line%s dropped: stderr did not accept them\n",
                        count, count == 1 ? " was" : "s were");

    return log_stderr_write_all(text, (size_t)size);
}

/* How many lines are lost then, with those lost before; line NULL: only these are to be told. */
static unsigned long write_next(const struct line *line, unsigned long lost)
{
    unsigned long itself = line ? 1 : 0;

    if (lost > 0 && !write_dropped(lost))
        return lost + itself;
    return !line || log_stderr_write_all(line->text, line->size) ? 0 : itself;
}

/* Until there is nothing left to write, nor to tell that was not tried. */
static void *write_lines(void *unused)
{
    unsigned long lost = 0;
    struct line *line;

    thread_name("zkl-stderr");
    pthread_mutex_lock(&lock);
    while ((line = g_queue_pop_head(&lines)) || dropped > 0) {
        if (line)
            waiting_bytes -= line->size;
        lost += line ? line->dropped : dropped;
        dropped = line ? dropped : 0;
        pthread_mutex_unlock(&lock);
        lost = write_next(line, lost);
        g_free(line);
        pthread_mutex_lock(&lock);
        stuck = false;
    }
    dropped = lost;
    writing = false;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* With the lock held; false: the system refuses a thread. */
static bool log_stderr_start(void)
{
    if (!prepared)
        thread_cond_init(&ended);
    prepared = true;
    if (!writing)
        writing = thread_start_detached(write_lines, NULL) == 0;
    return writing;
}

void log_stderr(const char *text)
{
    struct line *line = line_new(text);

    pthread_mutex_lock(&lock);
    if (waiting_bytes + line->size <= WAITING_BYTES_MAX && log_stderr_start()) {
        line->dropped = dropped;
        dropped = 0;
        waiting_bytes += line->size;
        g_queue_push_tail(&lines, line);
        line = NULL;
    } else {
        dropped++;
    }
    pthread_mutex_unlock(&lock);
    g_free(line);
}

void log_stderr_flush(void)
{
    struct timespec until = clock_after_ms(FLUSH_MS);
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&lock);
    while (writing && !stuck && pthread_cond_timedwait(&ended, &lock, &until) == 0)
        continue;
    stuck = writing;
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(before, NULL);
}

/* The process exits. */
static __attribute__((destructor)) void flush_at_exit(void)
{
    log_stderr_flush();
}

void log_stderr_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void log_stderr_after_fork(bool child)
{
    if (child) {
        g_queue_init(&lines);
        waiting_bytes = dropped = 0;
        prepared = writing = stuck = false;
    }
    pthread_mutex_unlock(&lock);
}
