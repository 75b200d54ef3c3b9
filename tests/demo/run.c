#include "run.h"

#include "progress.h"
#include "tests/history/register.h"

#include <stdio.h>

volatile sig_atomic_t run_interrupted;

enum {
    STEP_US = 5000,
    LIMIT_MS = 60000, /* without any event: only a bug needs it */
    TICK_MS = 200,
    WORK_MIN_MS = 12,
    WORK_MAX_MS = 40,
    PACE_MS = 26 /* --unsafe: rest as long as another one works, so that both runs have one pace */
};

/* A moment passes: who has ended, what was recorded, how far it is. */
static int step(run *r)
{
    int running = scene_running(&r->scene), done = 0;

    g_usleep(STEP_US);
    scene_poll(&r->scene);
    if (r->seen < r->scene.h->events->len)
        r->moved = history_now();
    for (; r->seen < r->scene.h->events->len; r->seen++) {
        const event *e = &g_array_index(r->scene.h->events, event, r->seen);

        r->made[e->worker] += e->kind == EV_WRITE;
    }
    for (int w = 0; w < r->o->workers; w++)
        done += r->made[w];
    progress_count(done, r->o->workers * r->o->increments);
    return running;
}

bool run_restart(run *r, int worker)
{
    step(r); /* what was made is complete */
    r->scene.with[worker].does.todo = r->o->increments - r->made[worker];
    return scene_again(&r->scene, worker);
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

    for (guint i = 0; i < r->scene.h->events->len; i++) {
        const event *e = &g_array_index(r->scene.h->events, event, i);

        n +=
            (kinds & EV_BIT(e->kind)) != 0 && e->ns >= since && (worker < 0 || e->worker == worker);
    }
    return n;
}

/* Interrupted, or nothing at all was recorded for too long. */
static bool is_stuck(const run *r, int64_t begun)
{
    int64_t last = MAX(begun, r->moved);

    return run_interrupted || history_now() > last + (int64_t)LIMIT_MS * 1000000;
}

bool run_await(run *r, uint64_t kinds, int worker, int64_t since, guint count)
{
    int64_t begun = history_now();

    for (;;) {
        const bool last = step(r) == 0 || (worker >= 0 && r->scene.actor[worker].pid == 0);

        if (count_events(r, kinds, worker, since) >= count)
            return true;
        if (last || is_stuck(r, begun))
            return false;
    }
}

bool run_await_made(run *r, int increments)
{
    return run_await(r, EV_BIT(EV_WRITE), -1, 0, (guint)increments);
}

bool run_await_end(run *r)
{
    int64_t begun = history_now();

    while (step(r) > 0)
        if (is_stuck(r, begun))
            return false;
    return true;
}

static bool start_scene(run *r)
{
    const struct scene_options so = {
        .nodes = 1, .tick_ms = TICK_MS, .timeout_ms = SESSION_MS, .paths = 1};

    progress_say("starting a private ZooKeeper");
    if (!zk_server_available()) {
        fprintf(stderr, "demo: needs java and Debian's package zookeeper\n");
        return false;
    }
    if (!scene_start(&r->scene, &so)) {
        fprintf(stderr, "demo: cannot start a server\n");
        return false;
    }
    r->file = g_build_filename(r->scene.scratch.path, "number", NULL);
    return number_write(r->file, 0, 0);
}

static bool start_workers(run *r)
{
    const struct actor_options ao = {
        .node = -1,
        .does = {.role = WORKER_AT_NUMBER,
                 .takes = r->o->unsafe ? TURN_NOTHING : TURN_LOCK,
                 .hold_min_ms = WORK_MIN_MS,
                 .hold_max_ms = WORK_MAX_MS,
                 .rest_ms = r->o->unsafe ? 2 * PACE_MS * (r->o->workers - 1) : 0,
                 .seed = r->o->seed * 1009,
                 .todo = r->o->increments,
                 .waits = true}};

    progress_say("starting %d workers", r->o->workers);
    for (int w = 0; w < r->o->workers; w++)
        if (scene_add(&r->scene, &ao) != w)
            return false;
    for (int w = 0; w < r->o->workers; w++) {
        if (!run_await(r, EV_BIT(EV_READY), w, 0, 1)) {
            fprintf(stderr, "demo: w%d did not get ready\n", w + 1);
            return false;
        }
    }
    return true;
}

bool run_start(run *r, const run_options *o)
{
    r->o = o;
    return start_scene(r) && start_workers(r);
}

void run_free(run *r)
{
    scene_complain(&r->scene);
    scene_stop(&r->scene);
    g_free(r->file);
}
