#include "run.h"

#include "progress.h"
#include "tests/history/register.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PATH "/demo/lock"
#define ARGUMENTS 24

volatile sig_atomic_t run_interrupted;

enum {
    STEP_MS = 5,
    PACE_MS = 26 /* --unsafe: rest as long as another one works, so that both runs have one pace */
};

int run_holder(const run *r)
{
    (void)r;
    return 0;
}

int run_victim(const run *r)
{
    return r->o->workers / 2;
}

int run_castaway(const run *r)
{
    return r->o->workers - 1;
}

void run_record(run *r, int worker, event_kind kind, int64_t value)
{
    history_add(r->record, worker, r->slots[worker].pid, kind, value, 0);
}

void run_tell(run *r, int worker, const char *order)
{
    char line[32];
    int n = snprintf(line, sizeof line, "%s\n", order);

    /* A worker that is gone shows in the history. */
    if (r->slots[worker].pid && write(r->slots[worker].control, line, (size_t)n) != n)
        fprintf(stderr, "demo: w%d takes no orders: %s\n", worker + 1, g_strerror(errno));
}

static bool spawn_with(run *r, int worker, const char *const *argv)
{
    char *log = g_strdup_printf("%s/w%d.err", r->dir, worker + 1);
    struct process_options po = {.argv = argv, .log = log};
    slot *s = &r->slots[worker];
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC) == 0) {
        po.input = ends[0];
        s->pid = process_spawn(&po);
        s->control = ends[1];
        close(ends[0]);
    }
    if (s->pid <= 0) {
        fprintf(stderr, "demo: cannot start a worker: %s\n", g_strerror(errno));
        s->pid = 0;
    }
    g_free(log);
    return s->pid > 0;
}

bool run_spawn(run *r, int worker)
{
    const char *argv[ARGUMENTS] = {r->program, "worker"};
    const char *connect =
        worker == run_castaway(r) ? proxy_connect(r->proxy) : zk_server_connect(r->server);
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    bool ok;

    g_ptr_array_add(texts, g_strdup_printf("--id=%d", worker));
    g_ptr_array_add(texts,
                    g_strdup_printf("--todo=%d", r->o->increments - (int)r->slots[worker].made));
    g_ptr_array_add(texts, g_strdup_printf("--connect=%s", connect));
    g_ptr_array_add(texts, g_strdup_printf("--path=%s", LOCK_PATH));
    g_ptr_array_add(texts, g_strdup_printf("--dir=%s", r->dir));
    g_ptr_array_add(texts, g_strdup_printf("--file=%s", r->file));
    g_ptr_array_add(texts, g_strdup_printf("--timeout=%d", SESSION_MS));
    g_ptr_array_add(texts, g_strdup_printf("--tick=%d", TICK_MS));
    g_ptr_array_add(texts, g_strdup_printf("--pace=%d", PACE_MS * (r->o->workers - 1)));
    g_ptr_array_add(texts, g_strdup_printf("--seed=%d", r->o->seed));
    if (r->o->unsafe)
        g_ptr_array_add(texts, g_strdup("--unsafe"));
    for (guint i = 0; i < texts->len; i++)
        argv[2 + i] = g_ptr_array_index(texts, i);
    ok = spawn_with(r, worker, argv);
    g_ptr_array_free(texts, TRUE);
    return ok;
}

/* After the worker's end: what is recorded as dead is what did not end well. */
static void bury(run *r, int worker, int status)
{
    slot *s = &r->slots[worker];

    if (status != 0)
        run_record(r, worker, EV_DEAD, status);
    close(s->control);
    s->pid = 0;
}

/* A moment passes: who has ended, what was recorded, how far it is. */
static void step(run *r)
{
    struct timespec ts = {0, (long)STEP_MS * 1000000};
    int done = 0, status;

    nanosleep(&ts, NULL);
    for (int w = 0; w < r->o->workers; w++)
        if (r->slots[w].pid && waitpid(r->slots[w].pid, &status, WNOHANG) > 0)
            bury(r, w, status);
    history_poll(r->h, NULL);
    if (r->seen < r->h->events->len)
        r->moved = history_now();
    for (; r->seen < r->h->events->len; r->seen++) {
        const event *e = &g_array_index(r->h->events, event, r->seen);

        r->slots[e->worker].made += e->kind == EV_WRITE;
    }
    for (int w = 0; w < r->o->workers; w++)
        done += (int)r->slots[w].made;
    progress_count(done, r->o->workers * r->o->increments);
}

void run_kill(run *r, int worker)
{
    int status = 0;

    if (!r->slots[worker].pid)
        return;
    run_record(r, worker, EV_KILL, 0);
    kill(r->slots[worker].pid, SIGKILL);
    waitpid(r->slots[worker].pid, &status, 0);
    bury(r, worker, status);
    step(r); /* made is complete before it is started again */
}

void run_pause(run *r, int ms)
{
    int64_t until = history_now() + (int64_t)ms * 1000000;

    while (history_now() < until && !run_interrupted)
        step(r);
}

static guint count_events(const run *r, uint64_t kinds, int worker, int64_t since)
{
    guint n = 0;

    for (guint i = 0; i < r->h->events->len; i++) {
        const event *e = &g_array_index(r->h->events, event, i);

        n +=
            (kinds & EV_BIT(e->kind)) != 0 && e->ns >= since && (worker < 0 || e->worker == worker);
    }
    return n;
}

static bool alive(const run *r, int worker)
{
    for (int w = 0; w < r->o->workers; w++)
        if (r->slots[w].pid && (worker < 0 || worker == w))
            return true;
    return false;
}

/* Interrupted, or nothing at all was recorded for too long. */
static bool stuck(const run *r, int64_t begun)
{
    int64_t last = MAX(begun, r->moved);

    return run_interrupted || history_now() > last + (int64_t)LIMIT_MS * 1000000;
}

bool run_await(run *r, uint64_t kinds, int worker, int64_t since, guint count)
{
    int64_t begun = history_now();

    for (;;) {
        bool last = !alive(r, worker);

        step(r);
        if (count_events(r, kinds, worker, since) >= count)
            return true;
        if (last || stuck(r, begun))
            return false;
    }
}

bool run_await_made(run *r, int increments)
{
    int64_t begun = history_now();

    while (count_events(r, EV_BIT(EV_WRITE), -1, 0) < (guint)increments) {
        if (!alive(r, -1) || stuck(r, begun))
            return false;
        step(r);
    }
    return true;
}

bool run_await_end(run *r)
{
    int64_t begun = history_now();

    while (alive(r, -1)) {
        if (stuck(r, begun))
            return false;
        step(r);
    }
    return true;
}

static bool make_directory(run *r)
{
    if (r->o->keep)
        r->dir = g_mkdtemp(g_strdup("zkl-demo-XXXXXX"));
    else if (scratch_make(&r->scratch, "zkl-demo-"))
        r->dir = g_strdup(r->scratch.path);
    if (!r->dir) {
        fprintf(stderr, "demo: no directory for the run: %s\n", g_strerror(errno));
        return false;
    }
    r->file = g_build_filename(r->dir, "number", NULL);
    r->record = history_open(r->dir, "demo");
    return r->record >= 0 && number_write(r->file, 0, 0);
}

static bool start_server(run *r)
{
    struct zk_server_options so = {.nodes = 1, .tick_ms = TICK_MS};

    progress_say("starting a private ZooKeeper");
    if (!zk_server_available()) {
        fprintf(stderr, "demo: needs java and Debian's package zookeeper\n");
        return false;
    }
    r->server = zk_server_start(&so);
    if (!r->server)
        return false;
    r->proxy = proxy_start(zk_server_port(r->server, 0));
    if (!r->proxy)
        fprintf(stderr, "demo: cannot start the proxy\n");
    return r->proxy != NULL;
}

bool run_start(run *r, const run_options *o)
{
    r->o = o;
    r->slots = g_new0(slot, (gsize)o->workers);
    r->program = g_file_read_link("/proc/self/exe", NULL);
    if (!r->program || !make_directory(r) || !start_server(r))
        return false;
    r->h = history_new(r->dir);
    progress_say("starting %d workers", o->workers);
    for (int w = 0; w < o->workers; w++)
        if (!run_spawn(r, w))
            return false;
    for (int w = 0; w < o->workers; w++) {
        if (!run_await(r, EV_BIT(EV_READY), w, 0, 1)) {
            fprintf(stderr, "demo: w%d did not get ready\n", w + 1);
            return false;
        }
    }
    return true;
}

/* A worker has nothing to say on stderr unless something is wrong; soon it would be removed. */
static void complain(const run *r, int worker)
{
    char *file = g_strdup_printf("%s/w%d.err", r->dir, worker + 1), *text = NULL;

    if (g_file_get_contents(file, &text, NULL, NULL) && *text)
        fprintf(stderr, "demo: w%d said:\n%s\n", worker + 1, text);
    g_free(file);
    g_free(text);
}

void run_stop(run *r)
{
    for (int w = 0; r->slots && w < r->o->workers; w++) {
        if (r->slots[w].pid) {
            process_end(r->slots[w].pid, SIGKILL, 0);
            bury(r, w, SIGKILL);
        }
        complain(r, w);
    }
    if (r->proxy)
        proxy_stop(r->proxy);
    zk_server_stop(r->server);
    if (r->h)
        history_poll(r->h, NULL);
}

void run_free(run *r)
{
    if (r->record > 0)
        close(r->record);
    history_free(r->h);
    if (r->scratch.path)
        scratch_remove(&r->scratch);
    g_free(r->slots);
    g_free(r->program);
    g_free(r->file);
    g_free(r->dir);
}
