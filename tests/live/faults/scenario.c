#include "scenario.h"

#include "tests/support/fixture.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAKE_US = 300000 };

struct scene scene = {.record = -1};

/* Writes now and then: Debian's 3.8.0 ensembles may leave a commit undelivered until another
 * comes, and who waits for it would wait in vain. */
static struct raw *waker;
static int64_t woken;

int scenario_init(void)
{
    server_or_skip();
    return 0;
}

void scenario_stop(void)
{
    raw_close(waker);
    waker = NULL;
    scene_stop(&scene);
}

static void begin(struct lab *lab, bool election, const char *odd)
{
    const struct scene_options o = {.nodes = NODES,
                                    .lab = lab,
                                    .tick_ms = TICK_MS,
                                    .timeout_ms = TIMEOUT_MS,
                                    .sync_limit = odd ? 2 * SYNC_LIMIT : SYNC_LIMIT,
                                    .paths = 1,
                                    .election = election,
                                    .odd = odd};

    scenario_stop(); /* of a test that was ended half-way */
    REQUIRE(scene_start(&scene, &o));
    waker = raw_open(zk_server_connect(scene.server));
    REQUIRE(waker != NULL);
}

void scenario_begin(struct lab *lab)
{
    begin(lab, false, NULL);
}

void scenario_begin_odd(const char *odd)
{
    begin(NULL, false, odd);
}

void scenario_begin_election(void)
{
    begin(NULL, true, NULL);
}

static void on_woken(int rc, const struct Stat *stat, const void *data)
{
    (void)rc, (void)stat, (void)data;
}

void scenario_wake(void)
{
    if (g_get_monotonic_time() < woken + WAKE_US)
        return;
    woken = g_get_monotonic_time();
    zoo_aset(raw_handle(waker), "/", "", 0, -1, on_woken, NULL);
}

void scenario_give_up(const char *condition, const char *file, int line)
{
    scratch_keep(&scene.scratch, runner_current());
    runner_fail_fatal(file, line, condition);
}

void scenario_end(void)
{
    judgement *j = scene_judge(&scene);
    judge_input in;

    scene_input(&scene, &in, j->nodes_left);
    printf("  %u grants, %u losses, %u overlaps\n", j->grants, j->losses, j->overlaps);
    if (scene.o.election && CHECK(j->kept > 0))
        printf("  %u places in line were kept\n", j->kept);
    if (!CHECK(judgement_passes(j))) {
        judgement_explain(j, &in, 3);
        scratch_keep(&scene.scratch, runner_current());
    }
    judgement_free(j);
    scenario_stop();
}

int scenario_rounds(int rounds)
{
    const char *scale = getenv("ZKL_TEST_SCALE");

    return MAX(1, scale ? rounds * atoi(scale) / 100 : rounds);
}

int leader(void)
{
    int node = zk_server_wait_leader(scene.server);

    REQUIRE(node >= 0);
    return node;
}

int follower(int nth)
{
    return (leader() + 1 + nth) % NODES;
}

int holder_at(int node)
{
    const struct actor_options o = {.node = node,
                                    .host = NODES + scene.actors,
                                    .does = {.hold_min_ms = HOLD_ON, .hold_max_ms = HOLD_ON}};
    int worker = scene_add(&scene, &o);

    REQUIRE(worker >= 0);
    return worker;
}

/* The worker has recorded a later deadline since; false if that takes long. */
static bool moved_on(int worker)
{
    int64_t since = history_now();

    while (history_now() < since + TIMEOUT_MS * INT64_C(500000)) {
        scene_poll(&scene);
        for (guint i = scene.h->events->len; i > 0; i--) {
            const event *e = &g_array_index(scene.h->events, event, i - 1);

            if (e->kind == EV_SEEN && e->worker == worker && e->ns > since)
                return true;
        }
        g_usleep(1000);
    }
    return false;
}

/* A renewal has been answered that did not begin before; false if none comes soon. */
static bool renewed(int worker)
{
    struct proxy *way = scene.actor[worker].way[scene.with[worker].node];

    if (!way)
        return moved_on(worker);
    uint64_t sent = proxy_requests(way, PROXY_OP_SET_DATA);
    return proxy_wait_answers(way, PROXY_OP_SET_DATA, sent + 1, TIMEOUT_MS / 2);
}

/* An actor that wants the lock may have no node yet. */
static bool are_queued(guint count)
{
    char **nodes = raw_children(waker, "/faults/0");
    bool queued = nodes && g_strv_length(nodes) >= count;

    g_strfreev(nodes);
    return queued;
}

static bool stands(int holder, int waiter)
{
    if (scene_holds(&scene, waiter) && scene_waits(&scene, holder))
        scene_next(&scene, waiter);
    return scene_holds(&scene, holder) && scene_waits(&scene, waiter) && are_queued(2);
}

void turn_to(int holder, int waiter)
{
    SCENARIO_UNTIL(stands(holder, waiter) && renewed(holder) && stands(holder, waiter));
}

void turn_back_to(int holder, int waiter)
{
    SCENARIO_UNTIL(stands(holder, waiter) && moved_on(holder) && stands(holder, waiter));
}
