/* N processes work through a batch together, each in a loop of its own: poll(2) over
 * zkl_session_fd().
 *
 *   PATH/together   a double barrier: nobody begins before all are there, or ends before all are
 * done PATH/workers    a group: what each of them does at the moment PATH/pause      a barrier:
 * while that node exists, nobody begins another piece PATH/lock       its holder does a piece
 *   PATH/piece-K    who has done piece K, written in a transaction that only the lock's holder can
 * do
 *
 * The servers are the first line of a file, which is read again at HUP. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zkl.h>

enum { PIECES = 20, RETAIN_MS = 1000, TIMEOUT_MS = 10000, CONNECT_MAX = 1024 };

/* All of it is used inside zkl_session_dispatch(), so nothing needs a lock. */
struct worker {
    const char *path, *id;
    zkl_session *session;
    zkl_double_barrier *together;
    zkl_barrier *pause;
    zkl_mutex *mutex;
    zkl_member *member;
    zkl_grant *grant; /* while the lock is ours */
    int piece, mine;  /* the next one; how many we have done */
    bool over;        /* the loop ends */
    int status;       /* to exit with */
};

static void worker_fail(struct worker *w, const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", w->id, what, why);
    w->status = 70;
    w->over = true;
}

/* What a call that begins a step has returned. */
static void worker_begun(struct worker *w, const char *what, int code)
{
    if (code != 0)
        worker_fail(w, what, zkl_strerror(code));
}

/* Whether the next step begins: this one has brought no error, and the loop is not over. */
static bool worker_goes_on(struct worker *w, const char *what, const zkl_error *err)
{
    if (err && !w->over)
        worker_fail(w, what, err->text);
    return !w->over;
}

/* PATH/NAME, for free(). */
static char *path_below(const struct worker *w, const char *name)
{
    char *path = malloc(strlen(w->path) + strlen(name) + 2);

    if (!path)
        abort();
    sprintf(path, "%s/%s", w->path, name);
    return path;
}

/* ---- one step after the other: each callback begins what follows ---- */

static void on_batch_left(const zkl_error *err, void *data)
{
    struct worker *w = data;

    worker_goes_on(w, "leave", err);
    w->over = true;
}

static void on_open(const zkl_error *err, void *data);

static void on_told(const zkl_error *err, void *data)
{
    struct worker *w = data;

    if (!worker_goes_on(w, "tell", err))
        return;
    if (w->piece < PIECES) {
        worker_begun(w, "pause", zkl_barrier_wait_async(w->pause, ZKL_FOREVER, on_open, w));
    } else {
        zkl_mutex_yield(w->mutex); /* or it would be retained for a second that nobody needs */
        worker_begun(w, "leave",
                     zkl_double_barrier_leave_async(w->together, ZKL_FOREVER, on_batch_left, w));
    }
}

/* Tells the others what we do. */
static void tell_state(struct worker *w)
{
    char state[64];
    const int length = snprintf(state, sizeof state, "piece %d, %d of mine", w->piece, w->mine);

    worker_begun(w, "tell",
                 zkl_member_update_async(w->member, state, (size_t)length, TIMEOUT_MS, on_told, w));
}

/* If another process has done the piece, its node exists. */
static void on_written(const zkl_error *err, void *data)
{
    struct worker *w = data;
    const bool done_by_other = err && err->code == ZKL_EEXIST;

    zkl_grant_release(w->grant);
    w->grant = NULL;
    if (!worker_goes_on(w, "write", done_by_other ? NULL : err))
        return;
    w->mine += !done_by_other;
    w->piece++;
    tell_state(w);
}

/* The work, which is but a line here. The servers refuse it if the lock is not ours any more. */
static void on_locked(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct worker *w = data;
    zkl_change done = {.kind = ZKL_CHANGE_CREATE, .data = w->id, .size = strlen(w->id)};
    char name[32];

    w->grant = grant;
    if (!worker_goes_on(w, "lock", err))
        return;
    sprintf(name, "piece-%d", w->piece);
    char *path = path_below(w, name);
    done.path = path;
    worker_begun(w, "write", zkl_grant_multi_async(grant, &done, 1, 0, TIMEOUT_MS, on_written, w));
    free(path);
}

static void on_open(const zkl_error *err, void *data)
{
    struct worker *w = data;

    if (worker_goes_on(w, "pause", err))
        worker_begun(w, "lock", zkl_mutex_lock_async(w->mutex, ZKL_FOREVER, on_locked, w, NULL));
}

static void on_entered(const zkl_error *err, void *data)
{
    struct worker *w = data;

    if (worker_goes_on(w, "enter", err))
        tell_state(w);
}

/* ---- the process ---- */

static bool read_servers(const char *file, char *connect)
{
    FILE *f = fopen(file, "r");
    const bool read = f && fgets(connect, CONNECT_MAX, f);

    if (f)
        fclose(f);
    if (read)
        connect[strcspn(connect, "\n")] = '\0';
    return read;
}

/* A connection that stands is kept: the new list counts when another one is needed. */
static void renew_servers(struct worker *w, const char *file)
{
    char connect[CONNECT_MAX];

    if (!read_servers(file, connect))
        fprintf(stderr, "%s: %s: no servers\n", w->id, file);
    else
        fprintf(stderr, "%s: other servers: %s\n", w->id,
                zkl_strerror(zkl_session_set_servers(w->session, connect)));
}

static int make_handles(struct worker *w, int count)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    char *together = path_below(w, "together"), *pause = path_below(w, "pause"),
         *lock = path_below(w, "lock");
    char *workers = path_below(w, "workers");

    options.retain_ms = RETAIN_MS;
    int code = zkl_double_barrier_new(&w->together, w->session, together, count, NULL);
    if (code == 0)
        code = zkl_barrier_new(&w->pause, w->session, pause, NULL);
    if (code == 0)
        code = zkl_mutex_new(&w->mutex, w->session, lock, &options);
    if (code == 0)
        code = zkl_member_join(&w->member, w->session, workers, w->id, "waits", 5, NULL);
    free(together);
    free(pause);
    free(lock);
    free(workers);
    return code;
}

static void worker_loop(struct worker *w, const char *file, int signals)
{
    struct pollfd wait[] = {{.fd = zkl_session_fd(w->session), .events = POLLIN},
                            {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo signal;

    while (!w->over) {
        if (poll(wait, 2, -1) < 1)
            continue; /* stopped, and continued */
        if (wait[0].revents)
            zkl_session_dispatch(w->session);
        if (!wait[1].revents || read(signals, &signal, sizeof signal) != sizeof signal)
            continue;
        if (signal.ssi_signo == SIGHUP)
            renew_servers(w, file);
        else
            w->over = true;
    }
}

int main(int argc, char **argv)
{
    struct worker w = {.status = 0};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    char connect[CONNECT_MAX];
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are threads */
    options.dispatch = 1;
    if (argc != 5 || !read_servers(argv[1], connect) ||
        zkl_session_open(&w.session, connect, &options, NULL) != 0)
        return 64; /* FILE-OF-SERVERS PATH N ID */
    w.path = argv[2];
    w.id = argv[4];
    worker_begun(&w, "begin", make_handles(&w, atoi(argv[3])));
    if (!w.over)
        worker_begun(&w, "enter",
                     zkl_double_barrier_enter_async(w.together, ZKL_FOREVER, on_entered, &w));
    worker_loop(&w, argv[1], signalfd(-1, &signals, SFD_CLOEXEC));
    zkl_member_free(w.member);
    zkl_mutex_free(w.mutex);
    zkl_barrier_free(w.pause);
    zkl_double_barrier_free(w.together);
    /* A reader of the line finds nothing of us any more. */
    if (zkl_session_flush(w.session, TIMEOUT_MS) == 0)
        printf("%d pieces\n", w.mine);
    zkl_session_close(w.session); /* calls what is left */
    zkl_grant_release(w.grant);
    return w.status;
}
