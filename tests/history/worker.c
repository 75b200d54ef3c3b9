#include "worker.h"

#include "judge.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    COUNT_LOOK_MS = 10,
    COUNT_LOOKS = 3000, /* at most, until all is counted */
    LOOK_AROUND_MS = 1000
};

static void take_log(const zkl_log_record *record, void *data)
{
    const struct worker *w = data;

    fprintf(w->log, "%.6f %d %s\n", (double)history_now() / 1e9, (int)record->level, record->text);
    fflush(w->log);
}

/* What the turns are at, once there is a session. */
static int open_source(struct worker *w, const char *name)
{
    struct turn_options to = {.kind = (enum turn_kind)w->o.takes,
                              .retain_ms = w->o.retain_ms,
                              .session = w->session,
                              .id = name};
    char *paths[CLAIM_PARTS_MAX];
    int err;

    for (int p; (p = worker_path(w, (int)to.count)) >= 0;)
        paths[to.count++] = g_strdup_printf("%s/%d", w->o.root, p);
    to.paths = (const char *const *)paths;
    err = turn_new(&w->source, &to);
    while (to.count > 0)
        g_free(paths[--to.count]);
    return err;
}

static bool open_all(struct worker *w)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    char *name = g_strdup_printf("w%d.%d", w->o.id, (int)getpid());
    char *log = g_strdup_printf("%s/%s.log", w->o.dir, name);
    int err = ZKL_EINVAL;

    w->record = history_open(w->o.dir, name);
    w->log = fopen(log, "ae");
    w->rand = g_rand_new_with_seed((guint32)w->o.seed);
    so.session_timeout_ms = w->o.timeout_ms;
    so.tick_ms = w->o.tick_ms;
    so.log = take_log;
    so.log_data = w;
    so.log_level = ZKL_LOG_INFO;
    if (w->record >= 0 && w->log)
        err = zkl_session_open(&w->session, w->o.connect, &so, NULL);
    if (err == 0)
        err = open_source(w, name);
    if (err != 0)
        fprintf(stderr, "%s: no session: %s\n", name, zkl_strerror(err));
    g_free(name);
    g_free(log);
    return err == 0;
}

/* ---- options ---- */

#define STRING(name, member)                                                                       \
    {                                                                                              \
        name, offsetof(struct worker_options, member), G_OPTION_ARG_STRING                         \
    }
#define NUMBER(name, member)                                                                       \
    {                                                                                              \
        name, offsetof(struct worker_options, member), G_OPTION_ARG_INT                            \
    }

static const struct {
    const char *name;
    size_t at;
    GOptionArg type;
} options[] = {
    STRING("connect", connect),
    STRING("dir", dir),
    STRING("root", root),
    NUMBER("id", id),
    NUMBER("role", role),
    NUMBER("takes", takes),
    NUMBER("paths", paths),
    NUMBER("timeout", timeout_ms),
    NUMBER("tick", tick_ms),
    NUMBER("hold-min", hold_min_ms),
    NUMBER("hold-max", hold_max_ms),
    NUMBER("rest", rest_ms),
    NUMBER("retain", retain_ms),
    NUMBER("seed", seed),
    NUMBER("todo", todo),
    NUMBER("margin", margin_ms),
    NUMBER("careless", careless),
    NUMBER("waits", waits),
};

GPtrArray *worker_arguments(const struct worker_options *o)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_add(argv, g_file_read_link("/proc/self/exe", NULL));
    g_ptr_array_add(argv, g_strdup("worker"));
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        const void *at = (const char *)o + options[i].at;
        char *text = options[i].type == G_OPTION_ARG_INT ? g_strdup_printf("%d", *(const int *)at)
                                                         : g_strdup(*(const char *const *)at);

        g_ptr_array_add(argv, g_strdup_printf("--%s=%s", options[i].name, text));
        g_free(text);
    }
    g_ptr_array_add(argv, NULL);
    return argv;
}

static bool parse(struct worker_options *o, int argc, char **argv)
{
    GOptionEntry entries[G_N_ELEMENTS(options) + 1] = {0};
    GOptionContext *context = g_option_context_new("worker");
    bool ok;

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        entries[i] = (GOptionEntry){.long_name = options[i].name,
                                    .arg = options[i].type,
                                    .arg_data = (char *)o + options[i].at};
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, NULL);
    g_option_context_free(context);
    return ok && o->connect && o->root && o->dir && o->paths != 0;
}

/* ---- orders ---- */

/* This thread never owns the lock. */
static void steal(struct worker *w)
{
    pthread_mutex_lock(&w->guard);
    if (!w->closing) {
        int err = zkl_mutex_unlock(w->source.mutex);

        history_add(w->record, w->o.id, getpid(), err == ZKL_EPERM ? EV_DENIED : EV_ALLOWED, err,
                    0);
    }
    pthread_mutex_unlock(&w->guard);
}

static void take_order(struct worker *w, const char *line)
{
    pthread_mutex_lock(&w->guard);
    w->orders.count++;
    if (strcmp(line, "next") == 0)
        w->orders.next = true;
    else if (strcmp(line, "end") == 0)
        w->orders.ended = true;
    else
        w->orders.held = strcmp(line, "hold") == 0;
    w->orders.check = strcmp(line, "check") == 0;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->guard);
}

/* Not from stdin's stream: exit() waits until no thread reads from it, since glibc 2.41. */
static bool read_order(char *line, size_t size)
{
    for (size_t i = 0; i < size && read(STDIN_FILENO, &line[i], 1) == 1; i++)
        if (line[i] == '\n') {
            line[i] = '\0';
            return true;
        }
    return false;
}

static void *obey(void *data)
{
    struct worker *w = data;
    char line[16];

    while (read_order(line, sizeof line)) {
        if (strcmp(line, "steal") == 0)
            steal(w);
        else
            take_order(w, line);
    }
    take_order(w, "end");
    return NULL;
}

static bool start_to_obey(struct worker *w)
{
    pthread_condattr_t attr;
    pthread_t thread;

    w->orders.held = w->o.waits;
    pthread_mutex_init(&w->guard, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
    return pthread_create(&thread, NULL, obey, w) == 0 && pthread_detach(thread) == 0;
}

void worker_listen_ms(struct worker *w, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&w->guard);
    while (w->orders.count == w->told.count &&
           pthread_cond_timedwait(&w->changed, &w->guard, &until) == 0)
        ;
    w->told = w->orders;
    w->orders.next = false;
    pthread_mutex_unlock(&w->guard);
}

/* ---- the end ---- */

static void record_count(const struct worker *w, uint64_t of, uint64_t count)
{
    const event e = {history_now(), w->o.id, getpid(), EV_COUNTED, (int64_t)count, of, 0};

    history_add_event(w->record, &e);
}

/* The session may hear of a loss only after its user, and counts it then. A started election leads
 * without being asked to: of that a count says nothing. */
static void record_counts(struct worker *w)
{
    zkl_stats stats = ZKL_STATS_INIT;
    int err = 0;

    if (w->o.takes == TURN_STARTED || w->o.takes == TURN_NOTHING)
        return;
    for (int left = COUNT_LOOKS; left > 0; left--) {
        err = zkl_session_stats(w->session, &stats);
        if (err != 0 || stats.held == 0)
            break;
        worker_listen_ms(w, COUNT_LOOK_MS);
    }
    if (err != 0)
        worker_record(w, EV_ERROR, err);
    record_count(w, COUNTED_GRANTS, stats.acquisitions - stats.acquisitions_discarded);
    record_count(w, COUNTED_WAITS, stats.wait.count);
    record_count(w, COUNTED_HOLDS, stats.hold.count);
    record_count(w, ZKL_LOSS_DEADLINE, stats.lost_deadline);
    record_count(w, ZKL_LOSS_EXPIRED, stats.lost_expired);
    record_count(w, ZKL_LOSS_DELETED, stats.lost_deleted);
    record_count(w, ZKL_LOSS_CLOSED, stats.lost_closed);
    record_count(w, ZKL_LOSS_REPLACED, stats.lost_replaced);
    record_count(w, ZKL_LOSS_REFUSED, stats.lost_refused);
}

/* All workers of a run may wait for one another. */
static bool await_go(struct worker *w)
{
    if (!w->o.waits)
        return true;
    if (zkl_session_wait(w->session, ZKL_FOREVER) != 0)
        return false;
    worker_record(w, EV_READY, 0);
    do
        worker_listen_ms(w, LOOK_AROUND_MS);
    while (w->told.held && !w->told.ended);
    return true;
}

int worker_main(int argc, char **argv)
{
    static struct worker w; /* callbacks may outlive this function's frame */
    bool last, well;

    if (!parse(&w.o, argc, argv))
        return 64;
    if (!open_all(&w) || !start_to_obey(&w) || !await_go(&w))
        return 69;
    do {
        last = w.told.ended;
        well = worker_acquire(&w);
        if (well && !w.spared)
            worker_leave(&w, worker_hold(&w));
        if (w.o.takes == TURN_ONCE)
            worker_look_at_run(&w);
        worker_listen_ms(&w, g_rand_int_range(w.rand, 0, w.o.rest_ms + 1));
    } while (well && !last && !w.done);
    record_counts(&w);
    pthread_mutex_lock(&w.guard);
    w.closing = true;
    pthread_mutex_unlock(&w.guard);
    turn_free(&w.source);
    zkl_session_close(w.session);
    worker_record(&w, EV_DONE, 0);
    return 0;
}
