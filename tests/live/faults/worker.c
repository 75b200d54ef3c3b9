#include "worker.h"

#include "register.h"
#include "tests/demo/history.h"
#include "turn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zkl.h>

enum {
    LOOK_MS = 1,  /* between two looks at the grant */
    MOVED_MS = 3, /* so much must the deadline have moved on to be recorded again */
    NAP_MS = 6,   /* at most, between the check and the act */
    ACT_MS = 5,   /* between two acts, on average */
    SHORT_HOLD_MS = 15,
    LONG_HOLD = 20,          /* one in so many may last longer */
    LAST_MS = 20,            /* at most, the hold after the last order */
    REGISTER_FAILURE = -1000 /* beside the library's codes */
};

struct worker {
    int id, timeout_ms, tick_ms, hold_min_ms, hold_max_ms, rest_ms, retain_ms, seed;
    char *connect, *path, *dir, *file;
    int record;
    FILE *log;
    GRand *rand;
    zkl_session *session;
    gboolean both;     /* locks another path, too */
    gboolean election; /* leads, instead of taking a lock */
    struct turn takes;
    zkl_grant *grant;
    uint64_t token, turn;
    int64_t seen, until; /* of this grant: the last look that found it valid, its deadline then */
    int64_t recorded;    /* the deadline that was recorded last */
    bool next, ended;    /* orders */
};

static void record(const struct worker *w, event_kind kind, int64_t value)
{
    const event e = {history_now(), w->id, getpid(), kind, value, w->token, w->turn};

    history_add_event(w->record, &e);
}

static void pause_ms(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
        ;
}

/* Waits so long for an order, and takes it. */
static void listen_ms(struct worker *w, int ms)
{
    struct pollfd in = {.fd = w->ended ? -1 : STDIN_FILENO, .events = POLLIN};
    char byte;

    if (poll(&in, 1, ms) <= 0 || !in.revents)
        return;
    if (read(STDIN_FILENO, &byte, 1) == 1)
        w->next = true;
    else
        w->ended = true;
}

static void changed(zkl_grant *grant, zkl_state state, void *data)
{
    static const event_kind kinds[] = {
        [ZKL_HELD] = EV_HELD, [ZKL_SUSPECT] = EV_SUSPECT, [ZKL_LOST] = EV_TOLD};
    const struct worker *w = data;

    if (state == ZKL_RELEASED)
        return;
    const event e = {
        history_now(),         w->id, getpid(), kinds[state], 0, zkl_grant_token(grant),
        zkl_grant_turn(grant),
    };
    history_add_event(w->record, &e);
}

static void record_seen(struct worker *w)
{
    const int64_t left = (w->until - w->seen) / 1000000;
    const event e = {w->seen, w->id, getpid(), EV_SEEN, left, w->token, w->turn};

    history_add_event(w->record, &e);
    w->recorded = w->until;
}

/* May it act? Stamped before the look: what is valid then was valid at the stamp, and its remaining
 * time counts from later still. */
static bool look(struct worker *w)
{
    int64_t now = history_now(), left = zkl_grant_remaining_ms(w->grant);

    if (left == 0)
        return false;
    w->seen = now;
    w->until = now + left * 1000000;
    if (w->until > w->recorded + MOVED_MS * 1000000)
        record_seen(w);
    return true;
}

static void on_write(enum register_answer answer, int64_t value, void *data)
{
    record(data, answer == REGISTER_ACCEPTED ? EV_WRITE : EV_REFUSED, value);
}

/* Checks, and acts a moment later: what no lock can prevent, and the register must. */
static void act(struct worker *w)
{
    if (!look(w))
        return;
    pause_ms(g_rand_int_range(w->rand, 0, NAP_MS + 1));
    if (register_write(w->file, w->token, w->turn, on_write, w) == REGISTER_FAILED)
        record(w, EV_ERROR, REGISTER_FAILURE);
}

static bool acquire(struct worker *w)
{
    int err;

    w->next = false;
    record(w, EV_WANT, 0);
    err = turn_take(&w->takes, &w->grant);
    if (err != 0) {
        record(w, EV_ERROR, err);
        return false;
    }
    w->seen = history_now();
    w->token = zkl_grant_token(w->grant);
    w->turn = zkl_grant_turn(w->grant);
    int64_t left = zkl_grant_remaining_ms(w->grant);
    w->until = w->recorded = w->seen + left * 1000000;
    const event e = {w->seen, w->id, getpid(), EV_GRANT, left, w->token, w->turn};
    history_add_event(w->record, &e);
    record(w, EV_OWNER, zkl_grant_session_id(w->grant));
    err = zkl_grant_on_change(w->grant, changed, w);
    if (err != 0)
        record(w, EV_ERROR, err);
    return true;
}

/* Mostly short, now and then long. */
static int draw_hold_ms(struct worker *w)
{
    int most = w->hold_max_ms;

    if (g_rand_int_range(w->rand, 0, LONG_HOLD) > 0)
        most = MIN(most, MAX(w->hold_min_ms, SHORT_HOLD_MS));
    return w->hold_min_ms == most ? most : g_rand_int_range(w->rand, w->hold_min_ms, most);
}

/* Works until its time is over, it is told to end, or the lock is lost; true in the last case. */
static bool hold(struct worker *w)
{
    int64_t begun = history_now();
    int ms = draw_hold_ms(w);

    while (look(w) || zkl_grant_state(w->grant) != ZKL_LOST) {
        if (w->ended)
            ms = MIN(ms, LAST_MS);
        if (w->next || history_now() - begun >= ms * INT64_C(1000000))
            return false;
        if (g_rand_int_range(w->rand, 0, ACT_MS) == 0)
            act(w);
        listen_ms(w, LOOK_MS);
    }
    return true;
}

static void leave(struct worker *w, bool lost)
{
    int err;

    record_seen(w);
    record(w, lost ? EV_LOST : EV_RELEASE, 0);
    err = turn_give(&w->takes, w->grant);
    w->grant = NULL;
    if (err == ZKL_ELOST)
        record(w, EV_ELOST, 0);
    else if (err != 0)
        record(w, EV_ERROR, err);
}

static void take_log(zkl_log_level level, const char *line, void *data)
{
    const struct worker *w = data;

    fprintf(w->log, "%.6f %d %s\n", (double)history_now() / 1e9, (int)level, line);
    fflush(w->log);
}

/* Among candidates there are both kinds. */
static enum turn_kind kind_of_turn(const struct worker *w)
{
    if (!w->election)
        return w->both ? TURN_BOTH : TURN_LOCK;
    return w->id % 2 == 0 ? TURN_CAMPAIGN : TURN_STARTED;
}

static bool open_all(struct worker *w)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    const struct turn_options to = {kind_of_turn(w), w->retain_ms};
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
        err = turn_new(&w->takes, &to, w->session, w->path, name);
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
        {"path", 0, 0, G_OPTION_ARG_STRING, &w->path, NULL, NULL},
        {"dir", 0, 0, G_OPTION_ARG_STRING, &w->dir, NULL, NULL},
        {"file", 0, 0, G_OPTION_ARG_STRING, &w->file, NULL, NULL},
        {"timeout", 0, 0, G_OPTION_ARG_INT, &w->timeout_ms, NULL, NULL},
        {"tick", 0, 0, G_OPTION_ARG_INT, &w->tick_ms, NULL, NULL},
        {"hold-min", 0, 0, G_OPTION_ARG_INT, &w->hold_min_ms, NULL, NULL},
        {"hold-max", 0, 0, G_OPTION_ARG_INT, &w->hold_max_ms, NULL, NULL},
        {"rest", 0, 0, G_OPTION_ARG_INT, &w->rest_ms, NULL, NULL},
        {"retain", 0, 0, G_OPTION_ARG_INT, &w->retain_ms, NULL, NULL},
        {"both", 0, 0, G_OPTION_ARG_NONE, &w->both, NULL, NULL},
        {"election", 0, 0, G_OPTION_ARG_NONE, &w->election, NULL, NULL},
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
    static struct worker w; /* callbacks may outlive this function's frame */
    bool last, well = true;

    if (!parse(&w, argc, argv))
        return 64;
    if (!open_all(&w))
        return 69;
    do {
        last = w.ended;
        well = acquire(&w);
        if (well)
            leave(&w, hold(&w));
        listen_ms(&w, g_rand_int_range(w.rand, 0, w.rest_ms + 1));
    } while (well && !last);
    turn_free(&w.takes);
    zkl_session_close(w.session);
    record(&w, EV_DONE, 0);
    return 0;
}
