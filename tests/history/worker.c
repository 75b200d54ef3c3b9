#include "worker.h"

#include "judge.h"

#include <stdio.h>
#include <unistd.h>

enum { COUNT_LOOK_MS = 10, COUNT_LOOKS = 3000 }; /* at most, until all is counted */

static void take_log(const zkl_log_record *record, void *data)
{
    const struct worker *w = data;

    fprintf(w->log, "%.6f %d %s\n", (double)history_now() / 1e9, (int)record->level, record->text);
    fflush(w->log);
}

/* What the turns are at, once there is a session. */
static int open_source(struct worker *w, const char *name)
{
    struct turn_options to = {.kind = (enum turn_kind)w->takes,
                              .retain_ms = w->retain_ms,
                              .session = w->session,
                              .id = name};
    char *paths[CLAIM_PARTS_MAX];
    int err;

    for (int p; (p = worker_path(w, (int)to.count)) >= 0;)
        paths[to.count++] = g_strdup_printf("/faults/%d", p);
    to.paths = (const char *const *)paths;
    err = turn_new(&w->source, &to);
    while (to.count > 0)
        g_free(paths[--to.count]);
    return err;
}

static bool open_all(struct worker *w)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    char *name = g_strdup_printf("w%d.%d", w->id, (int)getpid());
    char *log = g_strdup_printf("%s/%s.log", w->dir, name);
    int err = ZKL_EINVAL;

    w->record = history_open(w->dir, name);
    w->log = fopen(log, "ae");
    w->rand = g_rand_new_with_seed((guint32)w->seed);
    so.session_timeout_ms = w->timeout_ms;
    so.tick_ms = w->tick_ms;
    so.log = take_log;
    so.log_data = w;
    so.log_level = ZKL_LOG_INFO;
    if (w->record >= 0 && w->log)
        err = zkl_session_open(&w->session, w->connect, &so, NULL);
    if (err == 0)
        err = open_source(w, name);
    if (err != 0)
        fprintf(stderr, "%s: no session: %s\n", name, zkl_strerror(err));
    g_free(name);
    g_free(log);
    return err == 0;
}

static bool parse(struct worker *w, int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"id", 0, 0, G_OPTION_ARG_INT, &w->id, NULL, NULL},
        {"connect", 0, 0, G_OPTION_ARG_STRING, &w->connect, NULL, NULL},
        {"takes", 0, 0, G_OPTION_ARG_INT, &w->takes, NULL, NULL},
        {"paths", 0, 0, G_OPTION_ARG_INT, &w->paths, NULL, NULL},
        {"dir", 0, 0, G_OPTION_ARG_STRING, &w->dir, NULL, NULL},
        {"timeout", 0, 0, G_OPTION_ARG_INT, &w->timeout_ms, NULL, NULL},
        {"tick", 0, 0, G_OPTION_ARG_INT, &w->tick_ms, NULL, NULL},
        {"hold-min", 0, 0, G_OPTION_ARG_INT, &w->hold_min_ms, NULL, NULL},
        {"hold-max", 0, 0, G_OPTION_ARG_INT, &w->hold_max_ms, NULL, NULL},
        {"rest", 0, 0, G_OPTION_ARG_INT, &w->rest_ms, NULL, NULL},
        {"retain", 0, 0, G_OPTION_ARG_INT, &w->retain_ms, NULL, NULL},
        {"seed", 0, 0, G_OPTION_ARG_INT, &w->seed, NULL, NULL},
        {0},
    };
    GOptionContext *context = g_option_context_new("worker");
    bool ok;

    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, NULL);
    g_option_context_free(context);
    return ok && w->connect && w->paths != 0 && w->dir;
}

static void record_count(const struct worker *w, uint64_t of, uint64_t count)
{
    const event e = {history_now(), w->id, getpid(), EV_COUNTED, (int64_t)count, of, 0};

    history_add_event(w->record, &e);
}

/* The session may hear of a loss only after its user, and counts it then. A started election leads
 * without being asked to: of that a count says nothing. */
static void record_counts(struct worker *w)
{
    zkl_stats stats = ZKL_STATS_INIT;
    int err = 0;

    if (w->takes == TURN_STARTED)
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

int worker_main(int argc, char **argv)
{
    static struct worker w; /* callbacks may outlive this function's frame */
    bool last, well = true;

    if (!parse(&w, argc, argv))
        return 64;
    if (!open_all(&w))
        return 69;
    do {
        last = w.ended;
        well = worker_acquire(&w);
        if (well)
            worker_leave(&w, worker_hold(&w));
        worker_listen_ms(&w, g_rand_int_range(w.rand, 0, w.rest_ms + 1));
    } while (well && !last);
    record_counts(&w);
    turn_free(&w.source);
    zkl_session_close(w.session);
    worker_record(&w, EV_DONE, 0);
    return 0;
}
