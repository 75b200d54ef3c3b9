/* A server whose disk is slow, or full. */
#include "runner.h"
#include "scenario.h"

#include <sys/resource.h>

TEST_SUITE(scenario_disk, .init = fault_start, .done = fault_stop);

enum { TIMEOUT_MS = 1500 };

static struct rivals *begin(void)
{
    fault_begin();
    zkl_session *s[] = {fault_direct(TIMEOUT_MS), fault_direct(4 * TIMEOUT_MS)};
    return rivals_start(s, 2, 2);
}

/* As a disk that stalls stops everything: for a while, and now and then for too long. */
TEST_CASE(s23_disk_stalls)
{
    static const int stalls_ms[] = {1900, 100, 600};
    struct rivals *c = begin();

    for (size_t i = 0; i < G_N_ELEMENTS(stalls_ms); i++) {
        rivals_are_served(c);
        rivals_stay(c, true);
        zk_server_pause(fault.server, 0);
        g_usleep((unsigned)stalls_ms[i] * 1000); /* the fault itself */
        zk_server_resume(fault.server, 0);
        g_usleep(2 * FAULT_TICK_MS * 1000); /* looks on */
        rivals_stay(c, false);
    }
    rivals_are_served(c);
    rivals_end(c);
    fault_end();
}

static void set_room(bool room)
{
    struct rlimit limit;
    pid_t pid = zk_server_pid(fault.server, 0);

    REQUIRE(prlimit(pid, RLIMIT_FSIZE, NULL, &limit) == 0);
    limit.rlim_cur = room ? limit.rlim_max : 0;
    REQUIRE(prlimit(pid, RLIMIT_FSIZE, &limit, NULL) == 0);
}

/* Not a byte more can be written: the server gives up at its next write, whatever that is, and is
 * started again when there is room. What it had answered stands. */
TEST_CASE(s23_disk_full)
{
    struct rivals *c = begin();

    for (int i = 2; i > 0; i--) {
        rivals_are_served(c);
        set_room(false);
        EVENTUALLY(zk_server_leader(fault.server) < 0);
        g_usleep((unsigned)i * TIMEOUT_MS * 500); /* for less, or more, than all have left */
        zk_server_kill(fault.server, 0);
        REQUIRE(zk_server_launch(fault.server, 0) && zk_server_wait(fault.server, 0));
    }
    rivals_are_served(c);
    rivals_end(c);
    EVENTUALLY(raw_exists(fault.direct, fault.path, NULL) == ZOK);
    fault_end();
}
