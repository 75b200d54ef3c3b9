/* The holder, or its server, is cut off: the next one is granted the lock when the old one knows
 * that it has lost it, and not before. */
#include "scenario.h"
#include "scenarios.h"

static void cut_client(unsigned directions)
{
    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    turn_to(holder, waiter);
    struct proxy *way = scene.actor[holder].way[node];
    scene_record(&scene, holder, EV_FAULT, (int)directions, 0);
    proxy_freeze(way, (enum proxy_direction)directions);
    AWAIT(scene_holds(&scene, waiter));
    proxy_thaw(way);
    turn_to(holder, waiter);
    scenario_end();
}

static void s01_client_cut_from_its_server(void)
{
    cut_client(PROXY_BOTH);
}

static void s02_what_the_client_sends_is_lost(void)
{
    cut_client(PROXY_TO_SERVER);
}

static void s02_what_the_client_should_hear_is_lost(void)
{
    cut_client(PROXY_TO_CLIENT);
}

/* Right after a renewal, since then the deadline is furthest ahead. The follower goes on answering
 * pings and reads long after the leader has ended the session. */
static void s03_follower_cut_from_leader(void)
{
    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    for (int left = scenario_rounds(3); left > 0; left--) {
        turn_to(holder, waiter);
        zk_server_isolate(scene.server, node);
        scene_record(&scene, -1, EV_FAULT, 3, 0);
        AWAIT(scene_holds(&scene, waiter));
        zk_server_rejoin(scene.server, node);
    }
    scenario_end();
}

static const struct test_case cases[] = {
    {"s01_client_cut_from_its_server", s01_client_cut_from_its_server},
    {"s02_what_the_client_sends_is_lost", s02_what_the_client_sends_is_lost},
    {"s02_what_the_client_should_hear_is_lost", s02_what_the_client_should_hear_is_lost},
    {"s03_follower_cut_from_leader", s03_follower_cut_from_leader},
    {NULL, NULL},
};

const struct test_suite scenario_cut_suite = {"scenario_cut", scenario_init, NULL, cases};
