#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX ".history"

static const char *const kind_names[EV_KINDS] = {
    [EV_READY] = "ready",     [EV_WANT] = "want",       [EV_GRANT] = "grant",
    [EV_HOLD] = "hold",       [EV_WRITE] = "write",     [EV_SUSPECT] = "suspect",
    [EV_HELD] = "held",       [EV_TOLD] = "told",       [EV_LOST] = "lost",
    [EV_ELOST] = "elost",     [EV_RELEASE] = "release", [EV_DENIED] = "denied",
    [EV_ALLOWED] = "allowed", [EV_INTACT] = "intact",   [EV_BROKEN] = "broken",
    [EV_ERROR] = "error",     [EV_DONE] = "done",       [EV_KILL] = "kill",
    [EV_DEAD] = "dead",       [EV_CUT] = "cut",         [EV_THAW] = "thaw",
    [EV_OWNER] = "owner",     [EV_SEEN] = "seen",       [EV_REFUSED] = "refused",
    [EV_STOP] = "stop",       [EV_GOON] = "goon",       [EV_DELETE] = "delete",
    [EV_EVICT] = "evict",     [EV_FAULT] = "fault",     [EV_PART] = "part",
    [EV_NUMBERS] = "numbers", [EV_READ] = "read",       [EV_BEGIN] = "begin",
    [EV_GO] = "go",           [EV_SKIP] = "skip",       [EV_LINE] = "line",
    [EV_COUNTED] = "counted", [EV_SPARED] = "spared",   [EV_ENDED] = "ended",
    [EV_RUN] = "run",
};

int64_t history_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

const char *history_kind_name(event_kind kind)
{
    return (unsigned)kind < EV_KINDS ? kind_names[kind] : "?";
}

int history_open(const char *dir, const char *name)
{
    char *path = g_strdup_printf("%s/%s" SUFFIX, dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (fd < 0)
        fprintf(stderr, "%s: %s\n", path, g_strerror(errno));
    g_free(path);
    return fd;
}

void history_add_event(int fd, const event *e)
{
    char line[200];
    int n =
        snprintf(line, sizeof line, "%" PRId64 " %d %d %s %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
                 e->ns, e->worker, e->pid, kind_names[e->kind], e->value, e->token, e->turn);

    /* A record that cannot be written would make the verdict a guess: rather no worker at all. */
    if (write(fd, line, (size_t)n) != n) {
        fprintf(stderr, "history: %s\n", g_strerror(errno));
        _exit(3);
    }
}

void history_add(int fd, int worker, int pid, event_kind kind, int64_t value, uint64_t token)
{
    const event e = {history_now(), worker, pid, kind, value, token, 0};

    history_add_event(fd, &e);
}

history *history_new(const char *dir)
{
    history *h = g_new0(history, 1);

    h->dir = g_strdup(dir);
    h->offsets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    h->events = g_array_new(FALSE, TRUE, sizeof(event));
    return h;
}

void history_free(history *h)
{
    if (!h)
        return;
    g_free(h->dir);
    g_hash_table_destroy(h->offsets);
    g_array_free(h->events, TRUE);
    g_free(h);
}

event_kind history_kind(const char *name)
{
    int kind = 0;

    while (kind < EV_KINDS && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return (event_kind)kind;
}

/* Behind an event may be a word for people: what kind of contender it was. */
static bool parse_line(const char *line, event *ret)
{
    char name[16], who[16], rest;
    event e = {0};
    int n = sscanf(line, "%" SCNd64 " %d %d %15s %" SCNd64 " %" SCNu64 " %" SCNu64 " %15s %c",
                   &e.ns, &e.worker, &e.pid, name, &e.value, &e.token, &e.turn, who, &rest);

    if (n != 7 && n != 8)
        return false;
    e.kind = history_kind(name);
    *ret = e;
    return e.kind != EV_KINDS;
}

/* Takes whole lines only: the reader may be ahead of the writer by half a line. */
static size_t parse_text(history *h, char *text, bool *ok)
{
    size_t taken = 0;
    char *end;

    while ((end = strchr(text + taken, '\n'))) {
        event e;

        *end = '\0';
        if (parse_line(text + taken, &e))
            g_array_append_val(h->events, e);
        else if (ok)
            *ok = false;
        taken = (size_t)(end + 1 - text);
    }
    return taken;
}

static void poll_file(history *h, const char *name, bool *ok)
{
    int64_t *offset = g_hash_table_lookup(h->offsets, name);
    char *path = g_build_filename(h->dir, name, NULL);
    char buf[65537];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    g_free(path);
    if (fd < 0)
        return;
    if (!offset) {
        offset = g_new0(int64_t, 1);
        g_hash_table_insert(h->offsets, g_strdup(name), offset);
    }
    while ((n = pread(fd, buf, sizeof buf - 1, *offset)) > 0) {
        size_t taken;

        buf[n] = '\0';
        taken = parse_text(h, buf, ok);
        if (taken == 0)
            break;
        *offset += (int64_t)taken;
    }
    close(fd);
}

guint history_poll(history *h, bool *ok)
{
    guint first = h->events->len;
    GDir *dir = g_dir_open(h->dir, 0, NULL);
    const char *name;

    if (ok)
        *ok = dir != NULL;
    if (!dir)
        return first;
    while ((name = g_dir_read_name(dir)))
        if (g_str_has_suffix(name, SUFFIX))
            poll_file(h, name, ok);
    g_dir_close(dir);
    return first;
}

/* At the same instant what ends a tenure comes before what begins one. */
static gint by_time(gconstpointer a, gconstpointer b)
{
    const event *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->kind == EV_GRANT) - (y->kind == EV_GRANT);
}

void history_sort(history *h)
{
    g_array_sort(h->events, by_time);
}

/* ---- claims ---- */

enum { PATHS_SHIFT = 0, KIND_SHIFT = 16, PERMITS_SHIFT = 24, LIMIT_SHIFT = 32, BYTE = 0xff };

int64_t claim_pack(const claim *c)
{
    return (int64_t)c->paths << PATHS_SHIFT | (int64_t)c->kind << KIND_SHIFT |
           (int64_t)c->permits << PERMITS_SHIFT | (int64_t)c->limit << LIMIT_SHIFT;
}

claim claim_unpack(int64_t value)
{
    return (claim){.kind = (claim_kind)(value >> KIND_SHIFT & BYTE),
                   .paths = (unsigned)(value >> PATHS_SHIFT) & ((1u << CLAIM_PATHS_MAX) - 1),
                   .permits = (int)(value >> PERMITS_SHIFT & BYTE),
                   .limit = (int)(value >> LIMIT_SHIFT & BYTE)};
}

const char *claim_kind_name(claim_kind kind)
{
    static const char *const names[CLAIM_KINDS] = {
        [CLAIM_LOCK] = "locks",      [CLAIM_SEVERAL] = "several paths",
        [CLAIM_READ] = "readers",    [CLAIM_WRITE] = "writers",
        [CLAIM_PERMITS] = "permits", [CLAIM_NUMBERED] = "numbered permits",
        [CLAIM_ONCE] = "runs",
    };

    return names[kind];
}
