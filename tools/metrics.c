#include "metrics.h"
#include "tool.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVERY_MS = 5000, LAST_MS = 500 };

/* Shared by the caller and the thread that writes. The last of the two frees it. */
struct metrics {
    char *file, *temporary, *path;
    struct worker_shared shared; /* its lock guards the members below, but .gauges and .said */
    zkl_session *session;        /* NULL: it is about to be closed */
    const struct metrics_gauge *gauges;
    char *last;   /* the last text; set when .session becomes NULL */
    bool said;    /* a message has said that the last write failed */
    bool written; /* .last was written, or that failed */
};

static void metrics_unref(struct metrics *m)
{
    if (!worker_shared_leave(&m->shared))
        return;
    g_free(m->file);
    g_free(m->temporary);
    g_free(m->path);
    g_free(m->last);
    g_free(m);
}

void metrics_append(GString *text, const char *labels, const char *name, const char *help,
                    const char *value)
{
    g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s{%s} %s\n", name, help, name,
                           g_str_has_suffix(name, "_total") ? "counter" : "gauge", name, labels,
                           value);
}

static void append_gauge(GString *text, const char *labels, const char *name, const char *help,
                         gint64 value)
{
    g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, value);

    metrics_append(text, labels, name, help, number);
}

/* Appends the gauges that the library does not have. Takes their labels from a gauge that the
 * library has written. last: the session is closed next, and zkl ends with status. */
static void append_ours(GString *text, const struct metrics *m, bool last, int status)
{
    static const char like[] = "\nzkl_connected{";
    char *from = strstr(text->str, like) + strlen(like), *end = strchr(from, '\n');
    const gint64 now = g_get_real_time() / G_USEC_PER_SEC;
    g_autofree char *labels = g_strndup(from, (gsize)(end - from));

    *strrchr(labels, '}') = 0;
    if (last)
        end[-1] = '0'; /* zkl_connected */
    for (const struct metrics_gauge *g = m->gauges; g && g->name; g++)
        append_gauge(text, labels, g->name, g->help, atomic_load(&g->value));
    append_gauge(text, labels, "zkl_written_timestamp_seconds", "When this file was written.", now);
    if (!last || status == GO_ON)
        return;
    append_gauge(text, labels, "zkl_ended_timestamp_seconds", "When zkl ended.", now);
    append_gauge(text, labels, "zkl_exit_status", "The exit status of zkl.", status);
}

/* Returns the text of the file. */
static char *render_metrics(const struct metrics *m, bool last, int status)
{
    const zkl_label label = {"path", m->path};
    GString *text = g_string_new(NULL);
    gsize size;
    int length = 0;

    /* The text may become longer between two calls. */
    do {
        size = (gsize)length + 1;
        g_string_set_size(text, (gsize)length);
        length = zkl_session_prometheus(m->session, &label, 1, text->str, size);
    } while (length >= 0 && (gsize)length >= size);
    g_string_set_size(text, (gsize)MAX(length, 0));
    if (length > 0)
        append_ours(text, m, last, status);
    return g_string_free(text, FALSE);
}

static char *metrics_temporary(const char *file)
{
    return g_strdup_printf("%s.%d", file, (int)getpid());
}

/* Replaces the file by a rename, so that no reader sees a part of it. Other users may read it, as
 * the node exporter does. Returns false with errno set if that fails. */
static bool replace_file(const struct metrics *m, const char *text)
{
    const int fd = open(m->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file)
        return false;
    const bool written = fputs(text, file) >= 0 && fflush(file) == 0;
    if (fclose(file) == 0 && written && rename(m->temporary, m->file) == 0)
        return true;
    const int error = errno;
    unlink(m->temporary);
    errno = error;
    return false;
}

/* Writes the file, or says why not: once for a row of failures. The caller does not hold the lock,
 * because a write may hang. A device is not written, nor a link as /dev/stdout: a rename would
 * remove that. */
static void write_text(struct metrics *m, const char *text)
{
    const char *why = NULL;
    struct stat found;

    if (lstat(m->file, &found) == 0 && !S_ISREG(found.st_mode))
        why = "not a regular file";
    else if (!replace_file(m, text))
        why = g_strerror(errno);
    if (why && !m->said)
        say("--metrics-file: %s: %s", m->file, why);
    m->said = why != NULL;
}

void metrics_write(const char *file, const char *text)
{
    g_autofree char *name = g_strdup(file), *temporary = metrics_temporary(file);
    struct metrics m = {.file = name, .temporary = temporary};

    write_text(&m, text);
}

/* The thread: writes every EVERY_MS ms until the session is about to be closed, and then .last. */
static void *keep_writing(void *data)
{
    struct metrics *m = data;

    pthread_mutex_lock(&m->shared.lock);
    while (m->session) {
        const struct timespec until = worker_after_ms(EVERY_MS);
        g_autofree char *text = render_metrics(m, false, GO_ON);
        pthread_mutex_unlock(&m->shared.lock);
        write_text(m, text);
        pthread_mutex_lock(&m->shared.lock);
        while (m->session && worker_await(&m->shared.changed, &m->shared.lock, &until))
            continue;
    }
    pthread_mutex_unlock(&m->shared.lock);
    write_text(m, m->last);
    pthread_mutex_lock(&m->shared.lock);
    m->written = true;
    pthread_cond_broadcast(&m->shared.changed);
    pthread_mutex_unlock(&m->shared.lock);
    metrics_unref(m);
    return NULL;
}

struct metrics *metrics_begin(const char *file, const char *path, zkl_session *session,
                              const struct metrics_gauge *gauges)
{
    if (!file)
        return NULL;
    struct metrics *m = g_new0(struct metrics, 1);
    m->file = g_strdup(file);
    m->temporary = metrics_temporary(file);
    m->path = g_strdup(path);
    m->session = session;
    m->gauges = gauges;
    worker_shared_init(&m->shared);
    if (worker_start(NULL, keep_writing, m) == 0)
        return m;
    say("--metrics-file: the system refuses a thread");
    m->shared.users = 1; /* the caller: there is no thread */
    metrics_unref(m);
    return NULL;
}

void metrics_end(struct metrics *m, int status)
{
    const struct timespec until = worker_after_ms(LAST_MS);

    if (!m)
        return;
    pthread_mutex_lock(&m->shared.lock);
    m->last = render_metrics(m, true, status);
    m->session = NULL;
    pthread_cond_broadcast(&m->shared.changed);
    while (!m->written && worker_await(&m->shared.changed, &m->shared.lock, &until))
        continue;
    pthread_mutex_unlock(&m->shared.lock);
    metrics_unref(m);
}
