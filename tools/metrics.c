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

/* Left to the thread where that hangs. */
struct metrics {
    char *file, *temporary, *path;
    struct worker_shared shared; /* by the thread that writes */
    zkl_session *session;        /* NULL: about to be closed */
    const struct metrics_gauge *gauges;
    char *last;   /* what is to be written then */
    bool told;    /* of a failure */
    bool written; /* the last, or it failed */
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

static void append_gauge(GString *text, const char *labels, const char *name, const char *help,
                         gint64 value)
{
    g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n%s{%s} %" G_GINT64_FORMAT "\n", name,
                           help, name, g_str_has_suffix(name, "_total") ? "counter" : "gauge", name,
                           labels, value);
}

/* Appends what is ours with the labels of another gauge, as the library has written them. */
static void append_ours(GString *text, const struct metrics *m, bool last, int status)
{
    static const char like[] = "\nzkl_connected{";
    char *from = strstr(text->str, like) + strlen(like), *end = strchr(from, '\n');
    const gint64 now = g_get_real_time() / G_USEC_PER_SEC;
    g_autofree char *labels = g_strndup(from, (gsize)(end - from));

    *strrchr(labels, '}') = 0;
    if (last)
        end[-1] = '0'; /* the session is closed next */
    for (const struct metrics_gauge *g = m->gauges; g && g->name; g++)
        append_gauge(text, labels, g->name, g->help, atomic_load(&g->value));
    append_gauge(text, labels, "zkl_written_timestamp_seconds", "When this file was written.", now);
    if (!last || status == GO_ON)
        return;
    append_gauge(text, labels, "zkl_ended_timestamp_seconds", "When zkl ended.", now);
    append_gauge(text, labels, "zkl_exit_status", "The exit status of zkl.", status);
}

static char *render(const struct metrics *m, bool last, int status)
{
    const zkl_label label = {"path", m->path};
    GString *text = g_string_new(NULL);
    gsize size;
    int length = 0;

    /* Between two calls it may become longer. */
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

/* Whether name is a device, say, or a link, as /dev/stdout is one: a rename would remove it. */
static bool is_no_file(const char *name)
{
    struct stat found;

    return lstat(name, &found) == 0 && !S_ISREG(found.st_mode);
}

/* Replaces the file in one step for its reader. A reader of another user, as the node exporter is,
 * may read it. */
static bool replace(const struct metrics *m, const char *text)
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

/* Writes the file, without the lock. One message is enough, since nothing else depends on the
 * file. */
static void write_text(struct metrics *m, const char *text)
{
    const char *why = NULL;

    if (is_no_file(m->file))
        why = "not a regular file";
    else if (!replace(m, text))
        why = g_strerror(errno);
    if (why && !m->told)
        say("--metrics-file: %s: %s", m->file, why);
    m->told = why != NULL;
}

void metrics_write(const char *file, const char *text)
{
    g_autofree char *name = g_strdup(file), *temporary = metrics_temporary(file);
    struct metrics m = {.file = name, .temporary = temporary};

    write_text(&m, text);
}

static void *keep_writing(void *data)
{
    struct metrics *m = data;

    pthread_mutex_lock(&m->shared.lock);
    while (m->session) {
        const struct timespec until = worker_after_ms(EVERY_MS);
        g_autofree char *text = render(m, false, GO_ON);
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
    m->shared.users = 1;
    metrics_unref(m);
    return NULL;
}

void metrics_end(struct metrics *m, int status)
{
    const struct timespec until = worker_after_ms(LAST_MS);

    if (!m)
        return;
    pthread_mutex_lock(&m->shared.lock);
    m->last = render(m, true, status);
    m->session = NULL;
    pthread_cond_broadcast(&m->shared.changed);
    while (!m->written && worker_await(&m->shared.changed, &m->shared.lock, &until))
        continue;
    pthread_mutex_unlock(&m->shared.lock);
    metrics_unref(m);
}
