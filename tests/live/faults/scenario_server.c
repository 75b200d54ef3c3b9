/* Servers that are out of date: a deposed leader, a follower that lags, links that flap. */
#include "scenario.h"
#include "tests/support/runner.h"

TEST_SUITE(scenario_server, .init = scenario_init);

static void depose_leader(void)
{
    int old = leader(), one = follower(0), other = follower(1);
    int holder = holder_at(old), waiter = holder_at(one);
    turn_to(holder, waiter);
    zk_server_isolate(scene.server, old);
    scene_record(&scene, -1, EV_FAULT, 6, 0);
    zk_server_kill(scene.server, one);
    zk_server_kill(scene.server, other);
    CHECK(zk_server_launch(scene.server, one) && zk_server_launch(scene.server, other));
    SCENARIO_UNTIL(scene_holds(&scene, waiter));
    zk_server_rejoin(scene.server, old);
    turn_back_to(holder, waiter);
    scenario_end();
}

/* The old leader goes on answering pings, reads and syncs, while a new one ends the session. */
TEST_CASE(s06_zombie_leader)
{
    scenario_begin(NULL);
    depose_leader();
}

/* And it goes on refusing writes where nobody may write, without asking anybody. */
TEST_CASE(s06_zombie_leader_refuses)
{
    scenario_begin_odd("eager closed");
    depose_leader();
}

/* Now between two servers, now between a client and its server. */
static void flap(GRand *rand)
{
    bool servers = g_rand_boolean(rand);
    int who = g_rand_int_range(rand, 0, servers ? NODES : scene.actors);
    int node = (who + g_rand_int_range(rand, 1, NODES)) % NODES;
    unsigned directions = (unsigned)g_rand_int_range(rand, 1, 4);
    struct proxy *way = servers ? zk_server_link(scene.server, who, node)
                                : scene.actor[who].way[g_rand_int_range(rand, 0, NODES)];

    scene_record(&scene, servers ? -1 : who, EV_FAULT, 15, 0);
    proxy_freeze(way, (enum proxy_direction)directions);
    g_usleep((gulong)g_rand_int_range(rand, 5, 501) * 1000);
    proxy_thaw(way);
    g_usleep((gulong)g_rand_int_range(rand, 5, 501) * 1000);
}

TEST_CASE(s15_flapping_links)
{
    enum { WORKERS = 4, FLAPS = 20 };
    GRand *rand = g_rand_new_with_seed(15);

    scenario_begin(NULL);
    for (int w = 0; w < WORKERS; w++) {
        const struct actor_options o = {.node = -1,
                                        .does = {.hold_max_ms = 30, .rest_ms = 5, .seed = w}};
        REQUIRE(scene_add(&scene, &o) == w);
    }
    for (int left = scenario_rounds(FLAPS); left > 0; left--)
        flap(rand);
    g_rand_free(rand);
    scenario_end();
}

/* Takes the worker from one server to the other. */
static void move(int worker, int from, int to)
{
    proxy_heal(scene.actor[worker].way[to]);
    proxy_cut(scene.actor[worker].way[from]);
}

/* First as a waiter, whose predecessor is still there for the lagging server; then as a holder, who
 * is not proved there. */
TEST_CASE(s18_reconnect_to_a_lagging_follower)
{
    const struct actor_options everywhere = {
        .node = -1, .does = {.hold_min_ms = HOLD_ON, .hold_max_ms = HOLD_ON}};

    scenario_begin(NULL);
    int lead = leader(), one = follower(0), other = follower(1);
    int first = holder_at(lead), mover = scene_add(&scene, &everywhere);
    REQUIRE(mover >= 0);
    proxy_cut(scene.actor[mover].way[lead]);
    proxy_cut(scene.actor[mover].way[other]);
    turn_to(first, mover);
    zk_server_sever(scene.server, lead, other);
    scene_record(&scene, -1, EV_FAULT, 18, 0);
    move(mover, one, other);
    scene_next(&scene, first);
    SCENARIO_UNTIL(scene_waits(&scene, first));
    zk_server_rejoin(scene.server, other);
    SCENARIO_UNTIL(scene_holds(&scene, mover));
    zk_server_sever(scene.server, lead, one);
    scene_record(&scene, -1, EV_FAULT, 18, 0);
    move(mover, other, one);
    SCENARIO_UNTIL(scene_holds(&scene, first));
    zk_server_rejoin(scene.server, one);
    scenario_end();
}
