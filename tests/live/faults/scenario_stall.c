/* The holder stalls, and a server dies or is cut off at the worst moment after it. */
#include "scenario.h"
#include "tests/support/fourletter.h"
#include "tests/support/raw.h"
#include "tests/support/runner.h"

TEST_SUITE(scenario_stall, .init = scenario_init);

/* Stops the holder for 0.6 of the timeout, so that its server reports nothing of it to the leader,
 * and lets it renew once. false when it lost the lock by then: no attack. */
static bool stall_and_renew(int holder, int node)
{
    struct proxy *way = scene.actor[holder].way[node];
    uint64_t renewals = proxy_requests(way, PROXY_OP_SET_DATA);

    scene_stop_worker(&scene, holder);
    g_usleep(TIMEOUT_MS * 600);
    scene_let_on(&scene, holder);
    return proxy_wait_answers(way, PROXY_OP_SET_DATA, renewals + 1, TIMEOUT_MS / 4);
}

TEST_CASE(s04_stall_one_write_cut)
{
    enum { TRIES = 10 }; /* on a machine that stalls the holder for longer than this does */
    int attacks = 0;

    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    for (int left = scenario_rounds(3); left > (attacks ? 0 : -TRIES); left--) {
        turn_to(holder, waiter);
        attacks += stall_and_renew(holder, node);
        zk_server_isolate(scene.server, node);
        scene_record(&scene, -1, EV_FAULT, 4, 0);
        SCENARIO_UNTIL(scene_holds(&scene, waiter));
        zk_server_rejoin(scene.server, node);
    }
    CHECK(attacks > 0);
    scenario_end();
}

static bool has_asked(const struct proxy_stats *stats, void *before)
{
    return stats->requests[PROXY_OP_SYNC] + stats->requests[PROXY_OP_SET_DATA] >
           *(const uint64_t *)before;
}

/* While the leader is paused, another step of the chain reaches it; then it hears the follower no
 * more, and the other follower completes the majority for that step. */
TEST_CASE(s05_leader_paused_and_deaf)
{
    scenario_begin(NULL);
    int lead = leader(), node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    struct proxy *way = scene.actor[holder].way[node];
    for (int left = scenario_rounds(2); left > 0; left--) {
        turn_to(holder, waiter);
        stall_and_renew(holder, node);
        uint64_t asked =
            proxy_requests(way, PROXY_OP_SYNC) + proxy_requests(way, PROXY_OP_SET_DATA);
        zk_server_pause(scene.server, lead);
        scene_record(&scene, -1, EV_FAULT, 5, 0);
        proxy_wait(way, has_asked, &asked, TIMEOUT_MS / 4);
        g_usleep(10000); /* what the follower forwards is on its way to the leader's socket */
        zk_server_sever(scene.server, node, lead);
        zk_server_resume(scene.server, lead);
        SCENARIO_UNTIL(scene_holds(&scene, waiter));
        zk_server_rejoin(scene.server, node);
    }
    scenario_end();
}

/* The server at which the holder is knows of its watch on its own node. */
static bool own_node_is_watched(struct raw *admin, int node)
{
    char **children = raw_children(admin, "/faults/0");
    bool found = false;

    for (char **child = children; child && *child && !found; child++) {
        char *path = g_strdup_printf("/faults/0/%s", *child);
        struct Stat stat;
        found = raw_exists(admin, path, &stat) == ZOK &&
                fourletter_has_watch(zk_server_port(scene.server, node), stat.ephemeralOwner,
                                     path) == 1;
        g_free(path);
    }
    g_strfreev(children);
    return found;
}

/* An event that waits in the socket's buffer makes libzookeeper believe, on waking, that it has
 * just heard from its server; which is cut off and answers reads of the node that is long gone. */
TEST_CASE(s08_event_waits_on_a_cut_server)
{
    scenario_begin(NULL);
    int node = follower(0);
    int holder = holder_at(node), waiter = holder_at(follower(1));
    char *connect = g_strdup_printf("127.0.0.1:%d", zk_server_port(scene.server, leader()));
    struct raw *admin = raw_open(connect);
    REQUIRE(admin != NULL);
    for (int left = scenario_rounds(2); left > 0; left--) {
        turn_to(holder, waiter);
        SCENARIO_UNTIL(own_node_is_watched(admin, node));
        struct proxy *way = scene.actor[holder].way[node];
        char **children = raw_children(admin, "/faults/0");
        struct proxy_stats before, after;
        proxy_get_stats(way, &before);
        scene_stop_worker(&scene, holder);
        for (char **child = children; child && *child; child++) {
            char *path = g_strdup_printf("/faults/0/%s", *child);
            CHECK_INT(raw_set(admin, path, "?", 1), ZOK);
            g_free(path);
        }
        SCENARIO_UNTIL((proxy_get_stats(way, &after), after.events > before.events));
        zk_server_isolate(scene.server, node);
        scene_record(&scene, -1, EV_FAULT, 8, 0);
        SCENARIO_UNTIL(scene_holds(&scene, waiter));
        scene_let_on(&scene, holder);
        SCENARIO_UNTIL(!scene_holds(&scene, holder));
        zk_server_rejoin(scene.server, node);
        g_strfreev(children);
    }
    raw_close(admin);
    g_free(connect);
    scenario_end();
}
