/* The holder, or its server, is cut off: the next one is granted the lock when the old one knows
 * that it has lost it, and not before. */
#include "scenario.h"
#include "tests/support/runner.h"

TEST_SUITE(scenario_cut, .init = scenario_init);

static void cut_client(unsigned directions)
{
    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    turn_to(holder, waiter);
    struct proxy *way = scene.actor[holder].way[node];
    scene_record(&scene, holder, EV_FAULT, (int)directions, 0);
    proxy_freeze(way, (enum proxy_direction)directions);
    SCENARIO_UNTIL(scene_holds(&scene, waiter));
    proxy_thaw(way);
    turn_to(holder, waiter);
    scenario_end();
}

TEST_CASE(s01_client_cut_from_its_server)
{
    cut_client(PROXY_BOTH);
}

TEST_CASE(s02_what_the_client_sends_is_lost)
{
    cut_client(PROXY_TO_SERVER);
}

TEST_CASE(s02_what_the_client_should_hear_is_lost)
{
    cut_client(PROXY_TO_CLIENT);
}

/* Right after a renewal, since then the deadline is furthest ahead. The follower goes on answering
 * pings and reads long after the leader has ended the session. */
TEST_CASE(s03_follower_cut_from_leader)
{
    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    for (int left = scenario_rounds(3); left > 0; left--) {
        turn_to(holder, waiter);
        zk_server_isolate(scene.server, node);
        scene_record(&scene, -1, EV_FAULT, 3, 0);
        SCENARIO_UNTIL(scene_holds(&scene, waiter));
        zk_server_rejoin(scene.server, node);
    }
    scenario_end();
}
