#include "log.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "callbacks.h"
#include "clean.h"
#include "clock.h"
#include "thread.h"

/* ---- lines for stderr ---- */

enum { WAITING_BYTES_MAX = 65536 };

int log_stderr_flush_ms = 500;

struct stderr_line {
    unsigned long dropped; /* how many lines were dropped right before it */
    size_t size;
    char text[];
};

static pthread_mutex_t stderr_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_cond_t ended;        /* signalled when .writing ends; usable once .prepared */
static GQueue lines = G_QUEUE_INIT; /* of struct stderr_line, without the one in writing */
static size_t waiting_bytes;
static unsigned long dropped; /* lines dropped after the last of them */
static bool prepared;
static bool writing; /* there is a writer: as long as there are lines */
static bool stuck;   /* a flush has waited for the writer in vain */

/* Whether stderr's descriptor is a connection: the program may have closed stderr, and the
 * connection has got its number. */
static bool log_stderr_is_connection(void)
{
    int domain = AF_UNSPEC;
    socklen_t size = sizeof domain;

    return getsockopt(STDERR_FILENO, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           (domain == AF_INET || domain == AF_INET6);
}

/* Writes a line with one write(2), or with more if the system takes only a part of it. Returns
 * false if the line is not written whole. SIGPIPE is blocked, as in all threads of ours. */
static bool log_stderr_write_all(const char *text, size_t size)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    while (size > 0) {
        if (log_stderr_is_connection())
            return false;
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

/* Writes that lost lines were dropped, if any were, and then line (NULL: none). Returns how many
 * lines are now lost and not told. */
static unsigned long log_stderr_write_next(const struct stderr_line *line, unsigned long lost)
{
    unsigned long itself = line ? 1 : 0;
    char told[80];

    if (lost > 0) {
        const int size =
            snprintf(told, sizeof told, "zkl: %lu line%s dropped: stderr did not accept them\n",
                     lost, lost == 1 ? " was" : "s were");
        if (!log_stderr_write_all(told, (size_t)size))
            return lost + itself;
    }
    return !line || log_stderr_write_all(line->text, line->size) ? 0 : itself;
}

/* Runs the writer's thread: writes until no line is left, and each number of dropped lines was
 * tried once. */
static void *write_lines(void *unused)
{
    unsigned long lost = 0;
    struct stderr_line *line;

    thread_name("zkl-stderr");
    pthread_mutex_lock(&stderr_lock);
    while ((line = g_queue_pop_head(&lines)) || dropped > 0) {
        if (line)
            waiting_bytes -= line->size;
        lost += line ? line->dropped : dropped;
        dropped = line ? dropped : 0;
        pthread_mutex_unlock(&stderr_lock);
        lost = log_stderr_write_next(line, lost);
        g_free(line);
        pthread_mutex_lock(&stderr_lock);
        stuck = false;
    }
    dropped = lost;
    writing = false;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&stderr_lock);
    return unused;
}

/* Starts the writer, unless it runs; false: the system refuses a thread. The caller holds
 * stderr_lock. */
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
    char *clean = clean_text(text, -1); /* it may name nodes and quote their data */
    const size_t length = strlen(clean), size = length + strlen("zkl: \n");
    struct stderr_line *line = g_malloc(sizeof *line + size + 1);

    line->size = size;
    memcpy(line->text, "zkl: ", 5);
    memcpy(line->text + 5, clean, length);
    memcpy(line->text + 5 + length, "\n", 2);
    g_free(clean);
    pthread_mutex_lock(&stderr_lock);
    if (waiting_bytes + line->size <= WAITING_BYTES_MAX && log_stderr_start()) {
        line->dropped = dropped;
        dropped = 0;
        waiting_bytes += line->size;
        g_queue_push_tail(&lines, line);
        line = NULL;
    } else {
        dropped++;
    }
    pthread_mutex_unlock(&stderr_lock);
    g_free(line);
}

/* Runs when the process exits, too. */
__attribute__((destructor)) void log_stderr_flush(void)
{
    struct timespec until = clock_after_ms(log_stderr_flush_ms);
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&stderr_lock);
    while (writing && !stuck && pthread_cond_timedwait(&ended, &stderr_lock, &until) == 0)
        continue;
    stuck = writing;
    pthread_mutex_unlock(&stderr_lock);
    pthread_setcancelstate(before, NULL);
}

/* ---- a session's log ---- */

enum { LINES_MAX = 10, PERIOD_S = 60, PERIOD_MAX_S = 3600 }; /* of one event */

/* The lines of one event in its present period. */
struct quota {
    const char *event;
    zkl_log_level level;
    int64_t until; /* CLOCK_BOOTTIME ns */
    int period_s;
    unsigned lines;
    uint64_t suppressed;
};

struct log {
    zkl_log_fn fn;
    void *data;
    zkl_log_level level;
    struct callbacks *callbacks;
    _Atomic int64_t session_id;
    atomic_uint attempts;
    GArray *quotas; /* of struct quota; guarded by the lock, as what follows */
    bool retired;
};

struct line {
    zkl_log_fn fn;
    void *data;
    zkl_log_record record; /* owns path and text */
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* before the callback queue's and stderr_lock */

struct log *log_new(zkl_log_fn fn, void *data, zkl_log_level level, struct callbacks *callbacks)
{
    struct log *log = g_new0(struct log, 1);

    log->fn = fn;
    log->data = data;
    log->level = level;
    log->callbacks = callbacks;
    log->quotas = g_array_new(FALSE, FALSE, sizeof(struct quota));
    return log;
}

void log_free(struct log *log)
{
    log_retire(log);
    g_array_unref(log->quotas);
    g_free(log);
}

void log_session(struct log *log, int64_t id)
{
    atomic_store(&log->session_id, id);
}

void log_attempt(struct log *log)
{
    if (log)
        atomic_fetch_add(&log->attempts, 1);
}

unsigned log_attempts(struct log *log)
{
    return atomic_load(&log->attempts);
}

void log_flush(const struct log *log)
{
    if (!log->fn)
        log_stderr_flush();
}

/* ---- one line, with the lock held ---- */

static void free_line(struct line *line)
{
    g_free((char *)(uintptr_t)line->record.path);
    g_free((char *)(uintptr_t)line->record.text);
    g_free(line);
}

static void log_deliver(void *data)
{
    struct line *line = data;

    line->fn(&line->record, line->data);
    free_line(line);
}

static void log_write_line(struct log *log, const zkl_log_record *record)
{
    if (!log->fn) {
        log_stderr(record->text);
        return;
    }
    struct line *line = g_new(struct line, 1);
    *line = (struct line){log->fn, log->data, *record};
    line->record.size = sizeof line->record;
    line->record.session_id = atomic_load(&log->session_id);
    line->record.path = g_strdup(record->path);
    line->record.text = g_strdup(record->text);
    if (!callbacks_push(log->callbacks, log_deliver, line))
        free_line(line);
}

/* ---- the limit of lines ---- */

static void write_suppressed(struct log *log, struct quota *q)
{
    char *text;

    if (q->suppressed == 0)
        return;
    text = g_strdup_printf("%" G_GUINT64_FORMAT " more line%s of the event %s left out",
                           q->suppressed, q->suppressed == 1 ? "" : "s", q->event);
    log_write_line(
        log, &(zkl_log_record){
                 .level = q->level, .event = q->event, .text = text, .suppressed = q->suppressed});
    g_free(text);
}

static struct quota quota_begin(const char *event, int period_s, int64_t now)
{
    return (struct quota){
        .event = event, .until = now + period_s * 1000 * CLOCK_MS, .period_s = period_s};
}

/* Ends the periods that are over, and writes how many lines were left out in each. An event that
 * left lines out gets a new period of twice the length, with as many lines. */
static void end_periods(struct log *log, int64_t now)
{
    for (guint i = log->quotas->len; i-- > 0;) {
        struct quota *q = &g_array_index(log->quotas, struct quota, i);
        if (now < q->until)
            continue;
        write_suppressed(log, q);
        if (q->suppressed > 0)
            *q = quota_begin(q->event, MIN(2 * q->period_s, PERIOD_MAX_S), now);
        else
            g_array_remove_index_fast(log->quotas, i);
    }
}

static struct quota *quota_of(struct log *log, const char *event, int64_t now)
{
    const struct quota new = quota_begin(event, PERIOD_S, now);

    for (guint i = 0; i < log->quotas->len; i++) {
        struct quota *q = &g_array_index(log->quotas, struct quota, i);
        if (strcmp(q->event, event) == 0)
            return q;
    }
    g_array_append_val(log->quotas, new);
    return &g_array_index(log->quotas, struct quota, log->quotas->len - 1);
}

/* Writes a line, unless its event has used up its limit. The last line within the limit says that
 * others are left out, so that nobody takes it for the end. */
static void write_limited(struct log *log, const zkl_log_record *record)
{
    const int64_t now = clock_now().boot;
    zkl_log_record last = *record;
    char *text = NULL;

    end_periods(log, now);
    struct quota *q = quota_of(log, record->event, now);
    q->level = record->level;
    if (q->lines == LINES_MAX) {
        q->suppressed++;
        return;
    }
    if (++q->lines == LINES_MAX)
        last.text = text =
            g_strdup_printf("%s (more such lines are only counted, for %d s)", record->text,
                            (int)((q->until - now) / (1000 * CLOCK_MS)));
    log_write_line(log, &last);
    g_free(text);
}

void log_retire(struct log *log)
{
    pthread_mutex_lock(&lock);
    for (guint i = 0; !log->retired && i < log->quotas->len; i++)
        write_suppressed(log, &g_array_index(log->quotas, struct quota, i));
    log->retired = true;
    pthread_mutex_unlock(&lock);
}

/* ---- where lines come from ---- */

void log_line(struct log *log, zkl_log_level level, const char *event, const char *path,
              const char *format, ...)
{
    va_list list;

    if (!log || level > log->level)
        return;
    va_start(list, format);
    char *text = g_strdup_vprintf(format, list);
    va_end(list);
    pthread_mutex_lock(&lock);
    write_limited(log,
                  &(zkl_log_record){.level = level, .event = event, .path = path, .text = text});
    pthread_mutex_unlock(&lock);
    g_free(text);
}

void log_library(struct log *log, zkl_log_level level, enum library_line kind, const char *text)
{
    if (kind == LIBRARY_FAILED)
        log_attempt(log);
    if (!log || !log->fn || level > log->level)
        return;
    char *line = g_strchomp(g_strdup(text)); /* libzookeeper ends some of its lines itself */
    const zkl_log_record record = {.level = level,
                                   .event = kind == LIBRARY_LINE ? "libzookeeper"
                                                                 : "libzookeeper-connect",
                                   .text = line};

    pthread_mutex_lock(&lock);
    if (!log->retired)
        write_limited(log, &record);
    pthread_mutex_unlock(&lock);
    g_free(line);
}

/* ---- around fork() ---- */

void log_before_fork(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&stderr_lock);
}

void log_after_fork(bool child)
{
    if (child) {
        g_queue_init(&lines);
        waiting_bytes = dropped = 0;
        prepared = writing = stuck = false;
    }
    pthread_mutex_unlock(&stderr_lock);
    pthread_mutex_unlock(&lock);
}
