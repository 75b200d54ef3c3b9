/* Resets, cuts, pauses and deaths, on one server. */
#include "puppet.h"
#include "runner.h"

TEST_SUITE(fault);

enum { TICK_MS = 1000, TIMEOUT_MS = 4000 };

static void begin_seed(uint64_t seed)
{
    begin_world((struct world_config){.seed = seed, .servers = 1, .tick_ms = TICK_MS});
}

TEST_CASE(expiry)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin_world((struct world_config){.seed = seed,
                                          .servers = 1,
                                          .tick_ms = TICK_MS,
                                          .latency_min_us = 200,
                                          .latency_max_us = 200});
        struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
        CHECK_INT(CREATE(p, "/a"), STORE_OK);
        CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
        pass((int64_t)seed * 31 * MILLI);
        CHECK_INT(GET(p, "/a"), STORE_OK);
        int64_t touched = world_now(world) - 200000;
        host_kill(p->host);
        UNTIL(expiring_at != 0);
        CHECK(expiring_at > touched + TIMEOUT_MS * MILLI);
        CHECK(expiring_at <= touched + (TIMEOUT_MS + TICK_MS) * MILLI);
        CHECK_INT(world_node_count(world), 1);
        CHECK_INT(world_session_count(world), 0);
        CHECK_INT(ended_by, CAUSE_EXPIRY);
        end_world();
    }
}

TEST_CASE(reset)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    SEND(p, .kind = STORE_CREATE, .path = "/a");
    world_reset(p->host);
    UNTIL(p->up);
    HEARD(p, "down /a=9 up ");
    CHECK(!world_exists(world, "/a", NULL, NULL));
    SEND(p, .kind = STORE_CREATE, .path = "/b");
    SEND(p, .kind = STORE_CREATE, .path = "/c");
    world_reset_after_effect(p->host);
    CHECK(!puppet_send(p, (struct store_request){.kind = STORE_GET, .path = "/b"}));
    UNTIL(p->up);
    HEARD(p, "down /b=9 /c=9 up ");
    CHECK(world_exists(world, "/b", NULL, NULL) && world_exists(world, "/c", NULL, NULL));
    CHECK_INT(world_session_count(world), 1);
    /* An answer that waited for a host to resume has not arrived. */
    host_pause(p->host, false);
    SEND(p, .kind = STORE_CREATE, .path = "/d");
    pass(SECOND / 10);
    world_reset(p->host);
    host_resume(p->host);
    pass(SECOND);
    HEARD(p, "down /d=9 up ");
    CHECK(world_exists(world, "/d", NULL, NULL));
    end_world();
}

TEST_CASE(break)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    for (int after = 0; after <= 1; after++) {
        char *paths[] = {g_strdup_printf("/a%d", after), g_strdup_printf("/b%d", after),
                         g_strdup_printf("/c%d", after)};
        world_break_at(p->host, 2, after);
        for (int i = 0; i < 3; i++)
            SEND(p, .kind = STORE_CREATE, .path = paths[i]);
        UNTIL(p->unanswered == 0 && p->up);
        CHECK_INT(p->rc, STORE_UNKNOWN);
        CHECK(world_exists(world, paths[0], NULL, NULL));
        CHECK_INT(world_exists(world, paths[1], NULL, NULL), after);
        CHECK(!world_exists(world, paths[2], NULL, NULL));
        for (int i = 0; i < 3; i++)
            g_free(paths[i]);
    }
    HEARD(p, "/a0=0 down /b0=9 /c0=9 up /a1=0 down /b1=9 /c1=9 up ");
    end_world();
}

/* What was lost with the connection is done when it is due, in order, and its answer goes nowhere;
 * not once its session has ended. */
TEST_CASE(held_back)
{
    for (int ends = 0; ends <= 1; ends++) {
        begin_seed(1);
        struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
        world_hold_back(p->host, 2000);
        world_break_at(p->host, 1, false);
        SEND(p, .kind = STORE_CREATE, .path = "/a");
        SEND(p, .kind = STORE_CREATE, .path = "/a/b");
        UNTIL(p->unanswered == 0 && p->up);
        HEARD(p, "down /a=9 /a/b=9 up ");
        pass(1900 * MILLI);
        CHECK(!world_exists(world, "/a", NULL, NULL));
        if (ends)
            world_expire(world, p->session);
        pass(200 * MILLI);
        CHECK_INT(world_exists(world, "/a/b", NULL, NULL), !ends);
        end_world();
    }
}

/* What the next connection loses is not held back. */
TEST_CASE(held_back_once)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    world_hold_back(p->host, 100);
    world_reset(p->host);
    UNTIL(p->up);
    SEND(p, .kind = STORE_CREATE, .path = "/a");
    world_reset(p->host);
    pass(SECOND);
    CHECK(!world_exists(world, "/a", NULL, NULL));
    HEARD(p, "down up down /a=9 up ");
    end_world();
}

/* A connection that never came about leaves no session. */
TEST_CASE(unreached)
{
    begin_seed(1);
    struct puppet *p = puppet_new("a", "any:1", TIMEOUT_MS);
    world_cut(p->host, -1, true, true);
    pass(20 * SECOND);
    world_heal(p->host, -1);
    UNTIL(p->up);
    CHECK_INT(world_session_count(world), 1);
    end_world();
}

/* A cut in one direction: what was sent arrives when it is healed. */
TEST_CASE(one_way)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    world_cut(p->host, 0, false, true);
    SEND(p, .kind = STORE_CREATE, .path = "/a");
    pass(SECOND);
    CHECK(world_exists(world, "/a", NULL, NULL));
    HEARD(p, "");
    world_heal(p->host, 0);
    pass(SECOND);
    HEARD(p, "/a=0 ");
    world_cut(p->host, 0, true, false);
    SEND(p, .kind = STORE_CREATE, .path = "/b");
    pass(SECOND);
    CHECK(!world_exists(world, "/b", NULL, NULL));
    world_heal(p->host, 0);
    pass(SECOND);
    HEARD(p, "/b=0 ");
    end_world();
}

TEST_CASE(pause)
{
    unsigned first = 0, second = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin_seed(seed);
        struct puppet *p = puppet_at("a", 0, TIMEOUT_MS), *q = puppet_at("b", 0, TIMEOUT_MS);
        CHECK_INT(CREATE(q, "/a"), STORE_OK);
        CHECK_INT(WATCH(p, "/a"), STORE_OK);
        HEARD(p, "/a=0 ");
        host_pause(p->host, false);
        CHECK(host_is_paused(p->host));
        CHECK_INT(DO(q, .kind = STORE_DELETE, .path = "/a"), STORE_OK);
        pass(3 * SECOND);
        HEARD(p, "");
        host_resume(p->host);
        pass(SECOND);
        if (g_str_has_prefix(p->heard->str, "gone:/a "))
            first++;
        else if (g_str_has_prefix(p->heard->str, "down up gone:/a "))
            second++;
        end_world();
    }
    CHECK(first > 0 && second > 0);
    CHECK_INT(first + second, 40);
}

TEST_CASE(long_pause)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    host_pause(p->host, false);
    pass(6 * SECOND);
    CHECK_INT(world_session_count(world), 0);
    host_resume(p->host);
    UNTIL(p->expired);
    HEARD(p, "down expired ");
    CHECK(!puppet_send(p, (struct store_request){.kind = STORE_GET, .path = "/"}));
    end_world();
}

/* The session ends while it is being resumed: now and then, nothing is answered any more. */
TEST_CASE(race)
{
    unsigned ghosts = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        begin_seed(seed);
        struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
        unsigned before = world_session_count(world);
        world_reset(p->host);
        while (!p->up && world_run_next(world, world_now(world) + SECOND))
            continue;
        CHECK_INT(before, 1);
        CHECK(world_expire(world, p->session));
        puppet_send(p, (struct store_request){.kind = STORE_GET, .path = "/"});
        pass(SECOND);
        ghosts += p->up;
        UNTIL(p->expired);
        CHECK_INT(p->unanswered, 0);
        end_world();
    }
    CHECK(ghosts > 0 && ghosts < 40);
}

static void create_many(struct puppet *p, const char *name)
{
    for (int i = 0; i < 8; i++) {
        char *path = g_strdup_printf("/%s%d", name, i);
        CHECK_INT(CREATE(p, path), STORE_OK);
        g_free(path);
    }
}

/* After a restore, sessions and nodes are as of the backup. A client that has seen more is kept
 * out, whoever else is there. */
TEST_CASE(restore)
{
    for (int kept = 0; kept <= 1; kept++) {
        begin_seed(1);
        struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
        CHECK_INT(CREATE(p, "/a"), STORE_OK);
        CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
        if (kept)
            world_keep(world);
        create_many(p, "b");
        world_restore(world);
        CHECK(world_exists(world, "/a", NULL, NULL) == kept);
        CHECK(!world_exists(world, "/b0", NULL, NULL));
        CHECK_INT(world_session_count(world), kept);
        UNTIL(p->event == STORE_EV_REFUSED);
        struct puppet *q = puppet_at("b", 0, TIMEOUT_MS);
        CHECK_INT(GET(q, "/b0"), STORE_NONODE);
        UNTIL(world_session_count(world) == 1); /* q's: the other one ends, if it is there */
        CHECK(!p->up && !p->expired);
        create_many(q, "c");
        create_many(q, "d");
        UNTIL(p->expired); /* nothing is hidden from it any more */
        end_world();
    }
}

/* Nothing is heard of servers that do not serve, or are not reached. */
TEST_CASE(evidence)
{
    begin_seed(1);
    struct puppet *p = puppet_at("a", 0, TIMEOUT_MS);
    world_crash_server(world, 0, true);
    UNTIL(p->event == STORE_EV_UNSERVED);
    pass(3 * TIMEOUT_MS * MILLI);
    CHECK_INT(p->event, STORE_EV_UNSERVED);
    world_cut(p->host, -1, true, false);
    world_crash_server(world, 0, false);
    pass(TIMEOUT_MS / 2 * MILLI);
    CHECK_INT(p->event, STORE_EV_UNSERVED);
    world_heal(p->host, -1);
    UNTIL(p->up);
    end_world();
}
