/* The faults. Each waits for the history to say that its target holds, so that it surely hits. */
#include "progress.h"
#include "run.h"

#define IS(kind) EV_BIT(kind)

enum { LOOK_MS = 150 /* before a fault, so that the picture shows that the target held */ };

/* Who plays which part: others try to unlock the holder's lock, the victim is killed, the castaway
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
    if (!run_await(r, IS(EV_HOLD), worker, since, 1))
        return false;
    run_pause(r, LOOK_MS);
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
    run_await(r, IS(EV_DENIED) | IS(EV_ALLOWED), -1, since, 3);
    scene_tell(&r->scene, HOLDER, "check");
    run_await(r, IS(EV_INTACT) | IS(EV_BROKEN) | IS(EV_ERROR), HOLDER, since, 1);
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
    run_pause(r, LOOK_MS);
    progress_say(r->o->unsafe ? "w%d killed while it held"
                              : "w%d killed while it held; its session has to run out",
                 victim + 1);
    if (run_restart(r, victim))
        scene_tell(&r->scene, victim, "go");
    run_await(r, IS(EV_GRANT), -1, since, 1);
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
    run_await(r, IS(EV_GRANT), castaway, since, 1);
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
        run_pause(r, SESSION_MS + 1000); /* nobody tells it, so it works on and writes */
        scene_tell(&r->scene, castaway, "go");
    } else {
        run_await(r, IS(EV_LOST) | IS(EV_RELEASE), castaway, since, 1);
        scene_tell(&r->scene, castaway, "go"); /* in its next turns */
        progress_say("w%d was told and has stopped; its session has to run out", castaway + 1);
        run_await(r, IS(EV_GRANT), -1, since, 1);
        run_pause(r, 4 * LOOK_MS);
    }
    thaw(r, castaway);
}

void run_play(run *r)
{
    int all = r->o->workers * r->o->increments;

    progress_say("%d processes increment one number", r->o->workers);
    for (int w = 0; w < r->o->workers; w++)
        scene_tell(&r->scene, w, "go");
    if (!r->o->unsafe && run_await_made(r, all / 6))
        play_foreign(r);
    if (run_await_made(r, all / 3))
        play_kill(r);
    progress_say("%d processes go on", r->o->workers);
    if (run_await_made(r, all / 2))
        play_cut(r);
    progress_say("waiting for the last increments");
    run_await_end(r);
}
