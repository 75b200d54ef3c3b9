#include "worker.h"

#include "tests/history/register.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WORK_MIN_MS = 12,
    WORK_MAX_MS = 40,
    PATIENCE_MS = 60000, /* only a fault of the demo or of the library takes this long */
    TRIES = 3,
    NUMBER_UNREAD = -1000, /* beside the library's codes */
    NUMBER_UNWRITTEN = -1001
};

void worker_record(const worker *w, event_kind kind, int64_t value)
{
    history_add(w->record, w->id, getpid(), kind, value, w->token);
}

static void rest(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) != 0)
        ;
}

/* May come when the working thread is elsewhere already: the token says which grant is meant. */
static void changed(const zkl_grant *grant, zkl_state state, void *data)
{
    static const int kinds[] = {
        [ZKL_HELD] = EV_HELD, [ZKL_SUSPECT] = EV_SUSPECT, [ZKL_LOST] = EV_TOLD};
    const worker *w = data;

    if (state != ZKL_RELEASED)
        history_add(w->record, w->id, getpid(), (event_kind)kinds[state], 0,
                    zkl_grant_token(grant));
}

static bool acquire(worker *w)
{
    int err;

    w->grant = NULL;
    if (w->unsafe)
        rest(w->pace_ms);
    worker_record(w, EV_WANT, 0);
    if (w->unsafe) {
        w->token++; /* nobody hands out rising ones */
        worker_record(w, EV_GRANT, 0);
        return true;
    }
    err = zkl_mutex_lock(w->mutex, PATIENCE_MS, &w->grant);
    if (err != 0) {
        worker_record(w, EV_ERROR, err);
        return false;
    }
    w->token = zkl_grant_token(w->grant);
    worker_record(w, EV_GRANT, 0);
    err = zkl_grant_on_change(w->grant, changed, w);
    if (err != 0)
        worker_record(w, EV_ERROR, err);
    return true;
}

static bool lost(const worker *w)
{
    return !w->unsafe && zkl_grant_state(w->grant) == ZKL_LOST;
}

/* After others tried to unlock it: is the lock still ours, for us and for the server? */
static void check_intact(worker *w)
{
    const zkl_contender *head;
    zkl_queue *q = NULL;
    int err = zkl_queue_read(&q, w->session, w->path, NULL, PATIENCE_MS);
    bool ok;

    if (err != 0) {
        worker_record(w, EV_ERROR, err);
        return;
    }
    head = zkl_queue_get(q, 0);
    ok = head && head->token == w->token && head->session_id == zkl_grant_session_id(w->grant) &&
         zkl_grant_state(w->grant) == ZKL_HELD;
    zkl_queue_free(q);
    worker_record(w, ok ? EV_INTACT : EV_BROKEN, 0);
}

/* Works on, until the demo says go, kills us, or the lock is lost. */
static void hold_on(worker *w)
{
    worker_record(w, EV_HOLD, 0);
    while (!lost(w)) {
        if (control_wait_go(w, 1)) {
            if (!w->unsafe)
                check_intact(w);
            return;
        }
    }
}

static void leave(worker *w)
{
    int err;

    if (w->unsafe)
        return;
    err = zkl_mutex_unlock(w->mutex);
    w->grant = NULL;
    if (err == ZKL_ELOST)
        worker_record(w, EV_ELOST, 0);
    else if (err != 0)
        worker_record(w, EV_ERROR, err);
}

/* The shared file failed us. */
static bool give_up(worker *w, int code)
{
    worker_record(w, EV_ERROR, code);
    worker_record(w, EV_RELEASE, 0);
    leave(w);
    return false;
}

/* Read, work, write back: what loses increments when two do it at once. */
static bool increment(worker *w)
{
    int64_t number;
    uint64_t token;

    if (!number_read(w->file, &number, &token))
        return give_up(w, NUMBER_UNREAD);
    rest(g_rand_int_range(w->rand, WORK_MIN_MS, WORK_MAX_MS));
    if (control_take_hold(w))
        hold_on(w);
    if (lost(w)) {
        worker_record(w, EV_LOST, 0);
        leave(w);
        return true;
    }
    if (!number_write(w->file, number + 1, w->token))
        return give_up(w, NUMBER_UNWRITTEN);
    worker_record(w, EV_WRITE, number + 1);
    w->todo--;
    worker_record(w, EV_RELEASE, 0);
    leave(w);
    return true;
}

/* Warnings about the faults we make are expected; they go to a file, not between the drawings. */
static void take_log(const zkl_log_record *record, void *data)
{
    const worker *w = data;

    fprintf(w->log, "%.6f %d %s\n", (double)history_now() / 1e9, (int)record->level, record->text);
    fflush(w->log);
}

static bool open_all(worker *w)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    char *name = g_strdup_printf("w%d.%d", w->id + 1, (int)getpid());
    char *log = g_strdup_printf("%s/%s.log", w->dir, name);
    int err = ZKL_EINVAL;

    w->record = history_open(w->dir, name);
    w->log = fopen(log, "ae");
    w->rand = g_rand_new_with_seed((guint32)(w->seed * 1009 + w->id * 31 + w->todo));
    so.session_timeout_ms = w->timeout_ms;
    so.tick_ms = w->tick_ms;
    so.log = take_log;
    so.log_data = w;
    so.log_level = ZKL_LOG_INFO;
    if (w->record >= 0 && w->log)
        err = zkl_session_open(&w->session, w->connect, &so, NULL);
    if (err == 0)
        err = zkl_mutex_new(&w->mutex, w->session, w->path, NULL);
    if (err == 0)
        err = zkl_session_wait(w->session, PATIENCE_MS);
    if (err != 0)
        fprintf(stderr, "demo: %s: no session: %s\n", name, zkl_strerror(err));
    g_free(name);
    g_free(log);
    return err == 0;
}

static bool parse_options(worker *w, int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"id", 0, 0, G_OPTION_ARG_INT, &w->id, NULL, NULL},
        {"todo", 0, 0, G_OPTION_ARG_INT, &w->todo, NULL, NULL},
        {"unsafe", 0, 0, G_OPTION_ARG_NONE, &w->unsafe, NULL, NULL},
        {"connect", 0, 0, G_OPTION_ARG_STRING, &w->connect, NULL, NULL},
        {"path", 0, 0, G_OPTION_ARG_STRING, &w->path, NULL, NULL},
        {"dir", 0, 0, G_OPTION_ARG_STRING, &w->dir, NULL, NULL},
        {"file", 0, 0, G_OPTION_ARG_STRING, &w->file, NULL, NULL},
        {"timeout", 0, 0, G_OPTION_ARG_INT, &w->timeout_ms, NULL, NULL},
        {"tick", 0, 0, G_OPTION_ARG_INT, &w->tick_ms, NULL, NULL},
        {"pace", 0, 0, G_OPTION_ARG_INT, &w->pace_ms, NULL, NULL},
        {"seed", 0, 0, G_OPTION_ARG_INT, &w->seed, NULL, NULL},
        {0},
    };
    GOptionContext *context = g_option_context_new("worker");
    bool ok;

    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, &argc, &argv, NULL);
    g_option_context_free(context);
    return ok && w->connect && w->path && w->dir && w->file;
}

int worker_main(int argc, char **argv)
{
    static worker w; /* callbacks and the control thread may outlive this function's frame */
    int failures = 0;

    if (!parse_options(&w, argc, argv))
        return 64;
    if (!open_all(&w) || !control_start(&w))
        return 69;
    worker_record(&w, EV_READY, 0);
    control_wait_start(&w);
    while (w.todo > 0 && failures < TRIES)
        failures = acquire(&w) && increment(&w) ? 0 : failures + 1;
    if (w.todo == 0)
        worker_record(&w, EV_DONE, 0);
    control_end(&w);
    zkl_mutex_free(w.mutex);
    zkl_session_close(w.session);
    return w.todo == 0 ? 0 : 1;
}
