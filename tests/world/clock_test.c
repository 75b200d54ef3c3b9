/* Hosts' clocks. */
#include "lib/base/clock.h"
#include "puppet.h"
#include "runner.h"

TEST_SUITE(clock);

TEST_CASE(rates)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
    struct host *fast = world_host(world, "fast", 100000),
                *slow = world_host(world, "slow", -100000);
    struct instant f = host_clock(fast), s = host_clock(slow);
    pass(100 * SECOND);
    CHECK_INT(host_clock(fast).boot - f.boot, 110 * SECOND);
    CHECK_INT(host_clock(slow).boot - s.boot, 90 * SECOND);
    CHECK_INT(host_clock(fast).raw - f.raw, 110 * SECOND);
    for (int64_t ns = 1; ns < SECOND; ns = ns * 3 + 1) {
        int64_t when = host_when(slow, s.boot + 90 * SECOND + ns);
        world_run(world, when - 1);
        CHECK(host_clock(slow).boot < s.boot + 90 * SECOND + ns);
        world_run(world, when);
        CHECK(host_clock(slow).boot >= s.boot + 90 * SECOND + ns);
    }
    end_world();
}

TEST_CASE(suspension)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
    struct host *h = world_host(world, "h", 0);
    for (int suspended = 0; suspended <= 1; suspended++) {
        struct instant before = host_clock(h);
        host_pause(h, suspended);
        pass(10 * SECOND);
        CHECK_INT(host_clock(h).raw - before.raw, (suspended ? 0 : 10) * SECOND);
        host_resume(h);
        pass(SECOND);
        CHECK_INT(host_clock(h).boot - before.boot, 11 * SECOND);
        CHECK_INT(host_clock(h).raw - before.raw, (suspended ? 1 : 11) * SECOND);
    }
    end_world();
}

/* Suspended, the client does not notice how long it was: the server tells it. */
TEST_CASE(suspended_client)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
    struct puppet *p = puppet_at("a", 0, 10000);
    host_pause(p->host, true);
    pass(8 * SECOND);
    host_resume(p->host);
    pass(SECOND);
    HEARD(p, "");
    CHECK_INT(GET(p, "/"), STORE_OK);
    end_world();
}

/* A fast client gives up before two thirds of true time, and still pings in time. */
TEST_CASE(client_clock)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
    struct puppet *p = puppet_at("a", 0, 10000);
    pass(100 * SECOND);
    HEARD(p, "");
    world_cut(p->host, -1, true, true);
    int64_t cut = world_now(world);
    UNTIL(!p->up);
    CHECK(world_now(world) - cut > 10 * SECOND / 3 - SECOND / 100);
    CHECK(world_now(world) - cut <= 10 * SECOND * 2 / 3);
    end_world();
}

TEST_CASE(entered)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
    struct host *a = world_host(world, "a", 0), *b = world_host(world, "b", 0);
    CHECK(host_enter(a) == NULL);
    CHECK_INT(clock_now().boot, host_clock(a).boot);
    CHECK(host_enter(b) == a);
    CHECK_INT(clock_now().raw, host_clock(b).raw);
    CHECK(host_enter(NULL) == b);
    CHECK(host_entered() == NULL);
    CHECK_STR(host_name(a), "a");
    end_world();
}
