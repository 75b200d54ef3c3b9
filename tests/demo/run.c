#include "run.h"

#include "progress.h"
#include "tests/history/register.h"
#include "tests/support/progress.h"

#include <stdio.h>

volatile sig_atomic_t run_interrupted;

enum {
    STEP_US = 5000,
    TICK_MS = 200,
    WORK_MIN_MS = 12,
    WORK_MAX_MS = 40,
    PACE_MS = 26, /* --unsafe: rest as long as another one works, so that both runs have one pace */
    LOOK_MS = 150 /* before a fault, so that the picture shows that the target held */
};

/* A moment passes: who has ended, what was recorded, how far it is. */
static int step(run *r)
{
    int running = scene_running(&r->scene), done = 0;

    g_usleep(STEP_US);
    scene_poll(&r->scene);
    if (r->seen < r->scene.h->events->len)
        progress_step();
    for (; r->seen < r->scene.h->events->len; r->seen++) {
        const event *e = &g_array_index(r->scene.h->events, event, r->seen);

        r->made[e->worker] += e->kind == EV_WRITE;
    }
    for (int w = 0; w < r->o->workers; w++)
        done += r->made[w];
    progress_count(done, r->o->workers * r->o->increments);
    return running;
}

/* For the increments that are left. */
static bool restart(run *r, int worker)
{
    step(r); /* what was made is complete */
    r->scene.with[worker].does.todo = r->o->increments - r->made[worker];
    return scene_again(&r->scene, worker);
}

/* Time passes; the history is followed. */
static void pause_run(run *r, int ms)
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

static bool is_stuck(void)
{
    return run_interrupted || progress_is_late();
}

/* Waits until so many events of these kinds (a mask of EV_BIT()) about a worker (-1: any) are
 * recorded since this instant. false: a limit, an interrupt, or nobody is left to do it. */
static bool await(run *r, uint64_t kinds, int worker, int64_t since, guint count)
{
    for (;;) {
        const bool last = step(r) == 0 || (worker >= 0 && r->scene.actor[worker].pid == 0);

        if (count_events(r, kinds, worker, since) >= count)
            return true;
        if (last || is_stuck())
            return false;
    }
}

static bool await_made(run *r, int increments)
{
    return await(r, EV_BIT(EV_WRITE), -1, 0, (guint)increments);
}

/* Every worker has ended. */
static bool await_end(run *r)
{
    while (step(r) > 0)
        if (is_stuck())
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
        if (!await(r, EV_BIT(EV_READY), w, 0, 1)) {
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

/* ---- the play: each fault waits for the history to say that its target holds, so that it surely
 * hits. What fails shows in the history, so nothing is answered. ---- */

/* The parts: others try to unlock the holder's lock, the victim is killed, the castaway
 * is cut off. */
enum { HOLDER = 0 };

static int victim_of(const run *r)
{
    return r->o->workers / 2;
}

static int castaway_of(const run *r)
{
    return r->o->workers - 1;
}

static bool make_hold(run *r, int worker)
{
    int64_t since = history_now();

    scene_tell(&r->scene, worker, "hold");
    if (!await(r, EV_BIT(EV_HOLD), worker, since, 1))
        return false;
    pause_run(r, LOOK_MS);
    return true;
}

static void play_foreign(run *r)
{
    int64_t since;

    progress_say("three try to unlock what w%d holds", HOLDER + 1);
    if (!make_hold(r, HOLDER))
        return;
    since = history_now();
    scene_tell(&r->scene, HOLDER, "steal"); /* by its own second thread */
    scene_tell(&r->scene, victim_of(r), "steal");
    scene_tell(&r->scene, castaway_of(r), "steal");
    await(r, EV_BIT(EV_DENIED) | EV_BIT(EV_ALLOWED), -1, since, 3);
    scene_tell(&r->scene, HOLDER, "check");
    await(r, EV_BIT(EV_INTACT) | EV_BIT(EV_BROKEN) | EV_BIT(EV_ERROR), HOLDER, since, 1);
}

static void play_kill(run *r)
{
    int victim = victim_of(r);
    int64_t since;

    progress_say("waiting for w%d to hold, to kill it with -9", victim + 1);
    if (!make_hold(r, victim))
        return;
    since = history_now();
    scene_kill(&r->scene, victim);
    pause_run(r, LOOK_MS);
    progress_say(r->o->unsafe ? "w%d killed while it held"
                              : "w%d killed while it held; its session has to run out",
                 victim + 1);
    if (restart(r, victim))
        scene_tell(&r->scene, victim, "go");
    await(r, EV_BIT(EV_GRANT), -1, since, 1);
}

static void cut(run *r, int castaway)
{
    /* Before: nothing may be heard after this instant. */
    scene_record(&r->scene, castaway, EV_CUT, 0, 0);
    proxy_freeze(r->scene.actor[castaway].way[0], PROXY_BOTH);
}

static void thaw(run *r, int castaway)
{
    int64_t since = history_now();

    scene_record(&r->scene, castaway, EV_THAW, 0, 0);
    proxy_thaw(r->scene.actor[castaway].way[0]);
    progress_say("w%d's connection goes on", castaway + 1);
    await(r, EV_BIT(EV_GRANT), castaway, since, 1);
}

static void play_cut(run *r)
{
    int castaway = castaway_of(r);
    int64_t since;

    progress_say("waiting for w%d to hold, to cut it off", castaway + 1);
    if (!make_hold(r, castaway))
        return;
    since = history_now();
    cut(r, castaway);
    progress_say(r->o->unsafe ? "w%d cut off while it holds; nobody will tell it"
                              : "w%d cut off while it holds; it works on until it is told",
                 castaway + 1);
    if (r->o->unsafe) {
        pause_run(r, SESSION_MS + 1000); /* nobody tells it, so it works on and writes */
        scene_tell(&r->scene, castaway, "go");
    } else {
        await(r, EV_BIT(EV_LOST) | EV_BIT(EV_RELEASE), castaway, since, 1);
        scene_tell(&r->scene, castaway, "go"); /* in its next turns */
        progress_say("w%d was told and has stopped; its session has to run out", castaway + 1);
        await(r, EV_BIT(EV_GRANT), -1, since, 1);
        pause_run(r, 4 * LOOK_MS);
    }
    thaw(r, castaway);
}

void run_play(run *r)
{
    int all = r->o->workers * r->o->increments;

    progress_say("%d processes increment one number", r->o->workers);
    for (int w = 0; w < r->o->workers; w++)
        scene_tell(&r->scene, w, "go");
    if (!r->o->unsafe && await_made(r, all / 6))
        play_foreign(r);
    if (await_made(r, all / 3))
        play_kill(r);
    progress_say("%d processes go on", r->o->workers);
    if (await_made(r, all / 2))
        play_cut(r);
    progress_say("waiting for the last increments");
    await_end(r);
}
