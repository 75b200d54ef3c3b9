/* Rivals on an ensemble whose leader is killed, stopped and paused, and whose nodes go all at once
 * or but for one. */
#include "runner.h"
#include "scenario.h"
#include "trio.h"

enum { TIMEOUT_MS = 1200, PAUSE_PARTS = 10 };

static int start_trio(void)
{
    return trio_start(NULL);
}

TEST_SUITE(scenario_trio, .init = start_trio, .done = fault_stop);

static struct rivals *begin(void)
{
    fault_begin();
    zkl_session *s[] = {fault_direct(TIMEOUT_MS), fault_direct(2 * TIMEOUT_MS)};
    struct rivals *c = rivals_start(s, 2, 2);
    rivals_are_served(c);
    return c;
}

static void end(struct rivals *c)
{
    rivals_are_served(c);
    rivals_end(c);
    trio_end();
}

static void bring_back(int node)
{
    CHECK(zk_server_launch(fault.server, node) && zk_server_wait(fault.server, node));
}

static void replace_leader(void (*stop)(struct zk_server *, int), struct rivals *c)
{
    for (int i = fault_scaled(2); i > 0; i--) {
        int leader = zk_server_wait_leader(fault.server);
        stop(fault.server, leader);
        rivals_are_served(c); /* two are enough */
        bring_back(leader);
    }
}

TEST_CASE(s12_leader_killed)
{
    struct rivals *c = begin();

    replace_leader(zk_server_kill, c);
    end(c);
}

TEST_CASE(s12_leader_stopped)
{
    struct rivals *c = begin();

    replace_leader(zk_server_halt, c);
    end(c);
}

/* As its garbage collection does. Losses are false alarms; grants are not. */
TEST_CASE(s13_leader_paused)
{
    static const int tenths[] = {5, 13, 20}; /* of a timeout */
    struct rivals *c = begin();

    for (size_t i = 0; i < G_N_ELEMENTS(tenths); i++) {
        int leader = zk_server_wait_leader(fault.server);
        rivals_stay(c, true);
        zk_server_pause(fault.server, leader);
        g_usleep((unsigned)(tenths[i] * TIMEOUT_MS / PAUSE_PARTS) * 1000); /* the fault itself */
        zk_server_resume(fault.server, leader);
        g_usleep(2 * TRIO_TICK_MS * 1000); /* looks on */
        rivals_stay(c, false);
        rivals_are_served(c);
    }
    end(c);
}

TEST_CASE(s14_all_killed)
{
    struct rivals *c = begin();

    for (int i = 0; i < TRIO_NODES; i++)
        zk_server_kill(fault.server, i);
    for (int i = 0; i < TRIO_NODES; i++)
        CHECK(zk_server_launch(fault.server, i));
    for (int i = 0; i < TRIO_NODES; i++)
        CHECK(zk_server_wait(fault.server, i));
    end(c);
}

/* One node of three may grant nothing: after a timeout nobody holds and nobody is let in. */
TEST_CASE(s14_minority)
{
    struct rivals *c = begin();
    int mine = trio_follower_beside(-1), other = trio_follower_beside(mine);
    int leader = zk_server_wait_leader(fault.server);

    zk_server_kill(fault.server, leader);
    zk_server_kill(fault.server, other);
    g_usleep(TIMEOUT_MS * 1000);
    int before = rivals_grants(c);
    g_usleep(2 * TIMEOUT_MS * 1000); /* looks on */
    CHECK_INT(rivals_grants(c), before);
    CHECK(zk_server_launch(fault.server, leader) && zk_server_launch(fault.server, other));
    CHECK(zk_server_wait(fault.server, leader) && zk_server_wait(fault.server, other));
    end(c);
}
