#include "log.h"

#include <glib.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "callbacks.h"
#include "log_stderr.h"

struct log {
    zkl_log_fn fn;
    void *data;
    zkl_log_level level;
    struct callbacks *callbacks;
    GList link; /* in the list of all logs */
    bool retired;
};

struct line {
    zkl_log_fn fn;
    void *data;
    zkl_log_level level;
    char text[];
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* before the callback queue's and that of the lines for stderr */
static GQueue logs = G_QUEUE_INIT;

struct log *log_new(zkl_log_fn fn, void *data, zkl_log_level level, struct callbacks *callbacks)
{
    struct log *log = g_new0(struct log, 1);

    *log = (struct log){.fn = fn, .data = data, .level = level, .callbacks = callbacks};
    log->link.data = log;
    pthread_mutex_lock(&lock);
    g_queue_push_tail_link(&logs, &log->link);
    pthread_mutex_unlock(&lock);
    return log;
}

void log_retire(struct log *log)
{
    pthread_mutex_lock(&lock);
    if (!log->retired)
        g_queue_unlink(&logs, &log->link);
    log->retired = true;
    pthread_mutex_unlock(&lock);
}

void log_free(struct log *log)
{
    log_retire(log);
    g_free(log);
}

void log_flush(const struct log *log)
{
    if (!log->fn)
        log_stderr_flush();
}

void log_before_fork(void)
{
    pthread_mutex_lock(&lock);
    log_stderr_before_fork();
}

void log_after_fork(bool child)
{
    log_stderr_after_fork(child);
    if (child)
        g_queue_init(&logs);
    pthread_mutex_unlock(&lock);
}

static void deliver(void *data)
{
    struct line *line = data;

    line->fn(line->level, line->text, line->data);
    g_free(line);
}

static void write_line(struct log *log, zkl_log_level level, const char *text)
{
    if (!log->fn) {
        log_stderr(text);
        return;
    }
    size_t size = strlen(text) + 1;
    struct line *line = g_malloc(sizeof *line + size);
    *line = (struct line){log->fn, log->data, level};
    memcpy(line->text, text, size);
    if (!callbacks_push(log->callbacks, deliver, line))
        g_free(line);
}

void log_line(struct log *log, zkl_log_level level, const char *format, ...)
{
    va_list list;

    if (level > log->level)
        return;
    va_start(list, format);
    char *text = g_strdup_vprintf(format, list);
    va_end(list);
    write_line(log, level, text);
    g_free(text);
}

void log_library(zkl_log_level level, const char *line)
{
    pthread_mutex_lock(&lock);
    for (GList *l = logs.head; l; l = l->next) {
        struct log *log = l->data;
        if (log->fn && level <= log->level)
            write_line(log, level, line);
    }
    pthread_mutex_unlock(&lock);
}
