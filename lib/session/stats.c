/* What a session counts, and the numbers in Prometheus' text format. The functions of the
 * interface, and stats_copy_paths(), take the monitor. The functions of stats.h are called with it
 * held, and so are those that read the session. */
#include "stats.h"

#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/options.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

/* The size in the first version. Later members come after it. */
#define STATS_LEAST (offsetof(zkl_stats, oldest_wait_ms) + sizeof(int64_t))

static const int64_t stats_bounds_ns[ZKL_HISTOGRAM_BUCKETS - 1] = {
    US,       10 * US,  100 * US, 500 * US, MS,     5 * MS,  10 * MS, 50 * MS,
    100 * MS, 500 * MS, S,        5 * S,    30 * S, 300 * S, 3600 * S};

int64_t zkl_histogram_bound_ns(size_t bucket)
{
    return bucket < G_N_ELEMENTS(stats_bounds_ns) ? stats_bounds_ns[bucket] : INT64_MAX;
}

/* Adds a time to the histogram. The search begins at the shortest bound: most times are short, and
 * long ones are rare. */
static void stats_add_time(zkl_histogram *h, int64_t ns)
{
    unsigned i = 0;

    while (i < ZKL_HISTOGRAM_BUCKETS - 1 && ns > stats_bounds_ns[i])
        i++;
    h->count++;
    h->sum_ns += (uint64_t)ns;
    h->buckets[i]++;
}

/* ---- paths ---- */

static void stats_path_free(void *path)
{
    struct stats_path *p = path;

    g_free(p->path);
    g_free(p);
}

/* Returns where a full path is counted. Paths beyond the limit are counted as one, "other". */
static struct stats_path *stats_path_of(zkl_session *s, const char *path)
{
    const char *name = session_path(s, path);

    if (!name)
        name = path;
    if (!s->stats_paths)
        s->stats_paths = g_ptr_array_new_with_free_func(stats_path_free);
    for (guint i = 0; i < s->stats_paths->len; i++) {
        struct stats_path *p = g_ptr_array_index(s->stats_paths, i);
        if (i == ZKL_STATS_PATHS || strcmp(p->path, name) == 0)
            return p;
    }
    struct stats_path *p = g_new0(struct stats_path, 1);
    p->path = g_strdup(s->stats_paths->len < ZKL_STATS_PATHS ? name : "other");
    g_ptr_array_add(s->stats_paths, p);
    return p;
}

/* ---- waits and grants ---- */

void stats_waits_add(zkl_session *s, struct stats_waits *w, const char *path)
{
    *w = (struct stats_waits){.link = {.data = w}, .at = stats_path_of(s, path)};
    g_queue_push_tail_link(&s->waits, &w->link);
}

void stats_waits_remove(zkl_session *s, struct stats_waits *w)
{
    g_queue_unlink(&s->waits, &w->link);
}

void stats_wait_begin(zkl_session *s, struct stats_waits *w, int64_t now)
{
    if (w->oldest_ns == 0)
        w->oldest_ns = MAX(now, 1);
    s->stats.waiting++;
    w->at->waiting++;
}

void stats_wait_end(zkl_session *s, struct stats_waits *w, int64_t oldest_ns)
{
    w->oldest_ns = oldest_ns;
    s->stats.waiting--;
    w->at->waiting--;
}

/* Returns when the oldest wait began, or now; the same for each path is stored there.
 * CLOCK_BOOTTIME, ns. */
static int64_t stats_find_oldest(const zkl_session *s, int64_t now)
{
    int64_t oldest = now;

    for (guint i = 0; s->stats_paths && i < s->stats_paths->len; i++)
        ((struct stats_path *)g_ptr_array_index(s->stats_paths, i))->oldest_ns = now;
    for (const GList *l = s->waits.head; l; l = l->next) {
        const struct stats_waits *w = l->data;
        if (w->oldest_ns == 0)
            continue;
        w->at->oldest_ns = MIN(w->at->oldest_ns, w->oldest_ns);
        oldest = MIN(oldest, w->oldest_ns);
    }
    return oldest;
}

void stats_granted(zkl_session *s, struct stats_path *at, int64_t wait_ns)
{
    at->acquisitions++;
    at->held++;
    s->stats.acquisitions++;
    s->stats.held++;
    stats_add_time(&s->stats.wait, wait_ns);
}

static void stats_add_loss(zkl_stats *stats, zkl_loss loss)
{
    switch (loss) {
    case ZKL_LOSS_NONE:
    case ZKL_LOSS_FORKED: /* neither is a loss of this process */
        break;
    case ZKL_LOSS_DEADLINE:
        stats->lost_deadline++;
        break;
    case ZKL_LOSS_EXPIRED:
        stats->lost_expired++;
        break;
    case ZKL_LOSS_DELETED:
        stats->lost_deleted++;
        break;
    case ZKL_LOSS_CLOSED:
        stats->lost_closed++;
        break;
    case ZKL_LOSS_REPLACED:
        stats->lost_replaced++;
        break;
    case ZKL_LOSS_REFUSED:
        stats->lost_refused++;
        break;
    }
}

void stats_ended(zkl_session *s, struct stats_path *at, int64_t hold_ns, zkl_loss loss)
{
    at->held--;
    at->lost += loss != ZKL_LOSS_NONE && loss != ZKL_LOSS_FORKED;
    s->stats.held--;
    stats_add_time(&s->stats.hold, hold_ns);
    stats_add_loss(&s->stats, loss);
}

void stats_failed(zkl_session *s, int code)
{
    zkl_stats *stats = &s->stats;

    switch (code) {
    case ZKL_EBUSY:
        stats->failed_busy++;
        break;
    case ZKL_ETIMEDOUT:
        stats->failed_timeout++;
        break;
    case ZKL_ECANCELED:
        stats->failed_canceled++;
        break;
    case ZKL_ECLOSED:
        stats->failed_closed++;
        break;
    case ZKL_EUNREACHABLE:
    case ZKL_EHOST:
        stats->failed_unreachable++;
        break;
    case ZKL_EACCES:
    case ZKL_EAUTH:
        stats->failed_denied++;
        break;
    case ZKL_EEXIST: /* the work of a zkl_once is done: nothing has failed */
        break;
    default:
        stats->failed_other++;
    }
}

/* Returns the time until grants are lost, in ms; -1: none is held, or there is no deadline. */
static int64_t stats_left_ms(const zkl_session *s, struct instant now)
{
    if (s->stats.held == 0 || !s->proofs.has_deadline)
        return -1;
    return instant_left(now, s->proofs.deadline) / CLOCK_MS;
}

void stats_renewed(zkl_session *s, struct instant sent, struct instant now)
{
    const int64_t left = stats_left_ms(s, now), least = s->stats.deadline_left_least_ms;

    stats_add_time(&s->stats.renewal, now.boot - sent.boot);
    if (left >= 0 && (least < 0 || left < least))
        s->stats.deadline_left_least_ms = left;
}

int zkl_session_stats(zkl_session *s, zkl_stats *ret)
{
    int code = session_check(s);

    if (code)
        return code;
    session_lock(s);
    s->stats.connected = s->up;
    s->stats.requests_queued = s->parked.length;
    s->stats.attempts_failed = log_attempts(s->log);
    const struct instant now = clock_now();
    s->stats.deadline_left_ms = stats_left_ms(s, now);
    s->stats.session_timeout_ms = s->timeout_ms;
    s->stats.oldest_wait_ms = (now.boot - stats_find_oldest(s, now.boot)) / CLOCK_MS;
    zkl_stats stats = s->stats;
    session_unlock(s);
    stats.callbacks_queued = callbacks_queued(s->callbacks);
    const char *wrong = options_give(ret, &stats, sizeof stats, STATS_LEAST);
    return wrong ? error_set(ZKL_EINVAL, NULL, "zkl_session_stats: %s", wrong) : 0;
}

/* ---- as text: pure, without a locale or a session ---- */

enum kind { COUNTER, GAUGE, GAUGE_MS, HISTOGRAM };

/* A line of the text, or a histogram. Several in a row may be of one metric. */
struct sample {
    const char *name;
    const char *label; /* name and value, as they are written; "": none */
    enum kind kind;
    size_t offset; /* in zkl_stats */
    const char *help;
};

#define SAMPLE(kind, member, name, label, help)                                                    \
    {                                                                                              \
        "zkl_" name, label, kind, offsetof(zkl_stats, member), help                                \
    }
#define FAILED(member, reason)                                                                     \
    SAMPLE(COUNTER, failed_##member, "acquisition_failures_total", "reason=\"" reason "\"",        \
           "Acquisitions that failed.")
#define LOST(member)                                                                               \
    SAMPLE(COUNTER, lost_##member, "grants_lost_total", "reason=\"" #member "\"", "Grants lost.")

static const struct sample stats_samples[] = {
    SAMPLE(COUNTER, acquisitions, "acquisitions_total", "",
           "Acquisitions that ended with a grant."),
    SAMPLE(COUNTER, acquisitions_discarded, "acquisitions_discarded_total", "",
           "Grants given back at once, since the call had failed."),
    FAILED(busy, "busy"),
    FAILED(timeout, "timeout"),
    FAILED(canceled, "canceled"),
    FAILED(closed, "closed"),
    FAILED(unreachable, "unreachable"),
    FAILED(denied, "denied"),
    FAILED(other, "other"),
    SAMPLE(HISTOGRAM, wait, "wait_seconds", "", "Time from the call to the grant."),
    SAMPLE(HISTOGRAM, hold, "hold_seconds", "", "Time from the grant to its end."),
    LOST(deadline),
    LOST(expired),
    LOST(deleted),
    LOST(closed),
    LOST(replaced),
    LOST(refused),
    SAMPLE(COUNTER, sessions, "sessions_total", "", "ZooKeeper sessions made."),
    SAMPLE(COUNTER, connections, "connections_total", "", "Connections made."),
    SAMPLE(COUNTER, disconnections, "disconnections_total", "", "Connections lost."),
    SAMPLE(COUNTER, attempts_failed, "connection_failures_total", "",
           "Attempts to connect that failed."),
    SAMPLE(HISTOGRAM, renewal, "renewal_seconds", "", "Time from a renewal to its answer."),
    SAMPLE(COUNTER, requests, "requests_total", "", "Requests sent."),
    SAMPLE(COUNTER, answers, "answers_total", "", "Answers received."),
    SAMPLE(COUNTER, request_bytes, "request_bytes_total", "", "Bytes of paths and data sent."),
    SAMPLE(COUNTER, answer_bytes, "answer_bytes_total", "", "Bytes of names and data received."),
    SAMPLE(GAUGE, connected, "connected", "", "1 if there is a connection."),
    SAMPLE(GAUGE, held, "grants_held", "", "Grants that are held."),
    SAMPLE(GAUGE, waiting, "acquisitions_waiting", "", "Acquisitions in progress."),
    SAMPLE(GAUGE, requests_queued, "requests_queued", "",
           "Requests that wait for a connection or for room."),
    SAMPLE(GAUGE, callbacks_queued, "callbacks_queued", "", "Callbacks that wait to be called."),
    SAMPLE(GAUGE_MS, deadline_left_ms, "deadline_left_seconds", "",
           "Time until grants are lost unless the session is renewed."),
    SAMPLE(GAUGE_MS, deadline_left_least_ms, "deadline_left_least_seconds", "",
           "The least time that was left when a renewal came."),
    SAMPLE(GAUGE_MS, session_timeout_ms, "session_timeout_seconds", "",
           "The session timeout that the servers granted."),
    SAMPLE(GAUGE_MS, oldest_wait_ms, "oldest_wait_seconds", "",
           "Time since the oldest acquisition in progress began; 0 if there is none."),
};

static const char *const stats_bounds[ZKL_HISTOGRAM_BUCKETS] = {
    "1e-06", "1e-05", "0.0001", "0.0005", "0.001", "0.005", "0.01", "0.05",
    "0.1",   "0.5",   "1",      "5",      "30",    "300",   "3600", "+Inf"};

/* ---- labels ---- */

static bool stats_is_valid_name(const char *name)
{
    size_t length = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                        "0123456789")
                         : 0;

    return length > 0 && !name[length] && !g_ascii_isdigit(*name) && !g_str_has_prefix(name, "__");
}

/* Whether the name of label i is used before it, or by us. Prometheus drops a file in which a name
 * comes twice. */
static bool stats_is_taken(const zkl_label *labels, size_t i)
{
    static const char *const ours[] = {"le", "reason"};

    for (size_t k = 0; k < G_N_ELEMENTS(ours); k++)
        if (strcmp(labels[i].name, ours[k]) == 0)
            return true;
    for (size_t k = 0; k < i; k++)
        if (strcmp(labels[i].name, labels[k].name) == 0)
            return true;
    return false;
}

static void stats_append_escaped(GString *text, const char *value)
{
    char *valid = g_utf8_make_valid(value, -1);

    for (const char *c = valid; *c; c++) {
        if (*c == '\\' || *c == '"')
            g_string_append_c(text, '\\');
        if (*c == '\n')
            g_string_append(text, "\\n");
        else
            g_string_append_c(text, *c);
    }
    g_free(valid);
}

/* Appends the labels, as a="1",b="2", without the one that is called but. Returns false if one of
 * them is not valid. */
static bool stats_append_labels(GString *text, const zkl_label *labels, size_t count,
                                const char *but)
{
    for (size_t i = 0; i < count; i++) {
        if (!stats_is_valid_name(labels[i].name) || !labels[i].value || stats_is_taken(labels, i))
            return false;
        if (but && strcmp(labels[i].name, but) == 0)
            continue;
        g_string_append_printf(text, "%s%s=\"", text->len > 0 ? "," : "", labels[i].name);
        stats_append_escaped(text, labels[i].value);
        g_string_append_c(text, '"');
    }
    return true;
}

/* ---- samples ---- */

/* Appends the name and all labels. */
static void stats_append_name(GString *text, const struct sample *m, const char *suffix,
                              const char *labels, const char *own)
{
    const bool both = *labels && *own;

    g_string_append_printf(text, "%s%s", m->name, suffix);
    if (*labels || *own)
        g_string_append_printf(text, "{%s%s%s}", labels, both ? "," : "", own);
    g_string_append_c(text, ' ');
}

static void stats_append_count(GString *text, uint64_t count)
{
    g_string_append_printf(text, "%" G_GUINT64_FORMAT "\n", count);
}

static void stats_append_histogram(GString *text, const struct sample *m, const char *labels,
                                   const zkl_histogram *h)
{
    uint64_t so_far = 0;
    char le[32];

    for (size_t i = 0; i < ZKL_HISTOGRAM_BUCKETS; i++) {
        so_far += h->buckets[i];
        g_snprintf(le, sizeof le, "le=\"%s\"", stats_bounds[i]);
        stats_append_name(text, m, "_bucket", labels, le);
        stats_append_count(text, so_far);
    }
    stats_append_name(text, m, "_sum", labels, "");
    g_string_append_printf(text, "%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT "\n",
                           h->sum_ns / 1000000000, h->sum_ns % 1000000000);
    stats_append_name(text, m, "_count", labels, "");
    stats_append_count(text, h->count);
}

static void stats_append_value(GString *text, const struct sample *m, const char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    if (m->kind != GAUGE_MS)
        stats_append_count(text, value);
    else
        g_string_append_printf(text, "%" G_GUINT64_FORMAT ".%03" G_GUINT64_FORMAT "\n",
                               value / 1000, value % 1000);
}

static void stats_append_head(GString *text, const struct sample *m)
{
    static const char *const types[] = {
        [COUNTER] = "counter", [GAUGE] = "gauge", [GAUGE_MS] = "gauge", [HISTOGRAM] = "histogram"};

    g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
                           types[m->kind]);
}

static void stats_append_all(GString *text, const char *labels, const zkl_stats *stats)
{
    const char *described = "";

    for (size_t i = 0; i < G_N_ELEMENTS(stats_samples); i++) {
        const struct sample *m = &stats_samples[i];
        const char *at = (const char *)stats + m->offset;
        int64_t value;
        memcpy(&value, at, sizeof value);
        if (m->kind == GAUGE_MS && value < 0)
            continue; /* a time that is not known */
        if (strcmp(m->name, described) != 0)
            stats_append_head(text, m);
        described = m->name;
        if (m->kind == HISTOGRAM) {
            stats_append_histogram(text, m, labels, (const zkl_histogram *)(const void *)at);
        } else {
            stats_append_name(text, m, "", labels, m->label);
            stats_append_value(text, m, at);
        }
    }
}

/* ---- of paths ---- */

/* What the text says of one path. */
struct path_numbers {
    struct stats_path counts;
    uint64_t oldest_ms;
};

#define PATH_SAMPLE(kind, member, name, help)                                                      \
    {                                                                                              \
        "zkl_path_" name, "", kind, offsetof(struct path_numbers, member), help                    \
    }

static const struct sample stats_path_samples[] = {
    PATH_SAMPLE(COUNTER, counts.acquisitions, "acquisitions_total",
                "Acquisitions at the path that ended with a grant."),
    PATH_SAMPLE(COUNTER, counts.lost, "grants_lost_total", "Grants lost at the path."),
    PATH_SAMPLE(GAUGE, counts.held, "grants_held", "Grants that are held at the path."),
    PATH_SAMPLE(GAUGE, counts.waiting, "acquisitions_waiting",
                "Acquisitions in progress at the path."),
    PATH_SAMPLE(GAUGE_MS, oldest_ms, "oldest_wait_seconds",
                "Time since the oldest of them began; 0 if there is none."),
};

/* Appends one metric after the other, each with all paths, as the format wants it. */
static void stats_append_paths(GString *text, const char *labels, const GArray *paths)
{
    for (size_t i = 0; i < G_N_ELEMENTS(stats_path_samples) && paths->len > 0; i++) {
        const struct sample *m = &stats_path_samples[i];
        stats_append_head(text, m);
        for (guint k = 0; k < paths->len; k++) {
            const struct path_numbers *p = &g_array_index(paths, struct path_numbers, k);
            GString *own = g_string_new("path=\"");
            stats_append_escaped(own, p->counts.path);
            g_string_append_c(own, '"');
            stats_append_name(text, m, "", labels, own->str);
            stats_append_value(text, m, (const char *)p + m->offset);
            g_string_free(own, TRUE);
        }
    }
}

static void path_numbers_clear(void *numbers)
{
    g_free(((struct path_numbers *)numbers)->counts.path);
}

static GArray *stats_copy_paths(zkl_session *s)
{
    GArray *copy = g_array_new(FALSE, FALSE, sizeof(struct path_numbers));

    g_array_set_clear_func(copy, path_numbers_clear);
    session_lock(s);
    const int64_t now = clock_boot();
    stats_find_oldest(s, now);
    for (guint i = 0; s->stats_paths && i < s->stats_paths->len; i++) {
        const struct stats_path *p = g_ptr_array_index(s->stats_paths, i);
        struct path_numbers numbers = {*p, (uint64_t)(now - p->oldest_ns) / CLOCK_MS};
        numbers.counts.path = g_strdup(p->path);
        g_array_append_val(copy, numbers);
    }
    session_unlock(s);
    return copy;
}

/* ---- the interface ---- */

/* Writes the text into buf. paths NULL: none are written. Returns its length, or an error. */
static int stats_write(const char *what, const zkl_stats *stats, const GArray *paths,
                       const zkl_label *labels, size_t count, char *buf, size_t size)
{
    zkl_stats known = ZKL_STATS_INIT; /* 0 where those of an older program end */
    const char *wrong = !stats || options_give(&known, stats, stats->size, STATS_LEAST)
                            ? "stats is NULL or its size too small"
                        : (count > 0 && !labels) || (size > 0 && !buf) ? "labels or buf is NULL"
                                                                       : NULL;
    GString *shown = g_string_new(NULL), *others = g_string_new(NULL), *text = g_string_new(NULL);
    int length = 0;

    if (!wrong && (!stats_append_labels(shown, labels, count, NULL) ||
                   !stats_append_labels(others, labels, count, "path")))
        wrong = "a label is not valid, or is there twice";
    if (wrong) {
        length = error_set(ZKL_EINVAL, NULL, "%s: %s", what, wrong);
    } else {
        stats_append_all(text, shown->str, &known);
        if (paths)
            stats_append_paths(text, others->str, paths);
        length = (int)text->len;
    }
    if (!wrong && size > 0)
        g_strlcpy(buf, text->str, size);
    g_string_free(shown, TRUE);
    g_string_free(others, TRUE);
    g_string_free(text, TRUE);
    return length;
}

int zkl_stats_prometheus(const zkl_stats *stats, const zkl_label *labels, size_t count, char *buf,
                         size_t size)
{
    return stats_write("zkl_stats_prometheus", stats, NULL, labels, count, buf, size);
}

int zkl_session_prometheus(zkl_session *s, const zkl_label *labels, size_t count, char *buf,
                           size_t size)
{
    zkl_stats stats = ZKL_STATS_INIT;
    int code = zkl_session_stats(s, &stats);

    if (code)
        return code;
    GArray *paths = stats_copy_paths(s);
    code = stats_write("zkl_session_prometheus", &stats, paths, labels, count, buf, size);
    g_array_free(paths, TRUE);
    return code;
}
