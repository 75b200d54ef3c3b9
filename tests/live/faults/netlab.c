/* Silent cuts between hosts of their own: packets vanish, no connection is told. What proxies can
 * only imitate. Skipped where such hosts cannot be made. */
#include "scenario.h"
#include "tests/history/worker.h"
#include "tests/support/fixture.h"

#include <string.h>

enum { HOSTS = NODES + 2 };

static const char *no_lab;
static struct lab lab;

static int start_lab(void)
{
    if (no_lab) {
        runner_skip(no_lab);
        return 0;
    }
    if (!server_or_skip())
        return 0;
    return lab_start(&lab, HOSTS) ? 0 : 1;
}

static int stop_lab(void)
{
    scenario_stop();
    lab_stop(&lab);
    return 0;
}

TEST_SUITE(scenario_net, .init = start_lab, .done = stop_lab);

/* The holder's packets to its server, or those to it, or both, vanish until the other is granted
 * the lock. */
static void cut_client(bool requests, bool replies)
{
    scenario_begin(&lab);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    int host = scene.with[holder].host;
    turn_to(holder, waiter);
    scene_record(&scene, holder, EV_FAULT, requests + 2 * replies, 0);
    CHECK(!requests || lab_cut(&lab, host, node));
    CHECK(!replies || lab_cut(&lab, node, host));
    SCENARIO_UNTIL(scene_holds(&scene, waiter));
    CHECK(!requests || lab_mend(&lab, host, node));
    CHECK(!replies || lab_mend(&lab, node, host));
    turn_to(holder, waiter);
    scenario_end();
}

TEST_CASE(s01_client_cut_from_its_server)
{
    cut_client(true, true);
}

TEST_CASE(s02_what_the_client_sends_is_lost)
{
    cut_client(true, false);
}

TEST_CASE(s02_what_the_client_should_hear_is_lost)
{
    cut_client(false, true);
}

static bool between(int node, bool cut, bool out, bool in)
{
    bool ok = true;

    for (int other = 0; other < NODES; other++) {
        if (other == node)
            continue;
        if (out)
            ok = (cut ? lab_cut : lab_mend)(&lab, node, other) && ok;
        if (in)
            ok = (cut ? lab_cut : lab_mend)(&lab, other, node) && ok;
    }
    return ok;
}

/* Both ways, and each way alone. */
TEST_CASE(s03_follower_cut_from_leader)
{
    scenario_begin(&lab);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    for (int ways = 3; ways > 0; ways--) {
        turn_to(holder, waiter);
        CHECK(between(node, true, ways & 1, ways & 2));
        scene_record(&scene, -1, EV_FAULT, ways, 0);
        SCENARIO_UNTIL(scene_holds(&scene, waiter));
        CHECK(between(node, false, ways & 1, ways & 2));
    }
    scenario_end();
}

/* Followers that are killed at the cut elect at once, and the old leader serves on. */
TEST_CASE(s06_zombie_leader)
{
    scenario_begin(&lab);
    int old = leader(), one = follower(0), other = follower(1);
    int holder = holder_at(old), waiter = holder_at(one);
    turn_to(holder, waiter);
    CHECK(between(old, true, true, true));
    scene_record(&scene, -1, EV_FAULT, 6, 0);
    zk_server_kill(scene.server, one);
    zk_server_kill(scene.server, other);
    CHECK(zk_server_launch(scene.server, one) && zk_server_launch(scene.server, other));
    SCENARIO_UNTIL(scene_holds(&scene, waiter));
    CHECK(between(old, false, true, true));
    turn_to(holder, waiter);
    scenario_end();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    no_lab = lab_enter();
    return runner_main(argc, argv);
}
