/* Several servers: who knows what, and until when they believe it. */
#include "puppet.h"
#include "runner.h"

TEST_SUITE(ensemble);

enum { TICK_MS = 1000, TIMEOUT_MS = 4000 };

static void begin_trio(uint64_t seed)
{
    begin_world((struct world_config){.seed = seed, .servers = 3, .tick_ms = TICK_MS});
}

static int a_follower(void)
{
    return (world_leader(world) + 1) % 3;
}

TEST_CASE(lag)
{
    begin_trio(1);
    struct puppet *p = puppet_at("a", world_leader(world), TIMEOUT_MS);
    struct puppet *q = puppet_at("b", a_follower(), TIMEOUT_MS);
    world_lag(world, a_follower(), SECOND);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(GET(q, "/a"), STORE_NONODE);
    CHECK_INT(DO(q, .kind = STORE_SYNC, .path = "/"), STORE_OK);
    CHECK_INT(GET(q, "/a"), STORE_OK);
    /* Behind a write of its own, the same. */
    CHECK_INT(CREATE(p, "/b"), STORE_OK);
    SEND(q, .kind = STORE_CREATE, .path = "/c");
    SEND(q, .kind = STORE_GET, .path = "/b");
    UNTIL(q->unanswered == 0);
    CHECK_INT(q->rc, STORE_OK);
    end_world();
}

TEST_CASE(cut_follower)
{
    unsigned stale = 0;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        begin_trio(seed);
        int server = a_follower();
        struct puppet *p = puppet_at("a", server, TIMEOUT_MS);
        CHECK_INT(CREATE(p, "/a"), STORE_OK);
        CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
        char *mine = g_strdup(p->path);
        int64_t cut = world_now(world);
        world_cut_server(world, server, true);
        while (p->up && world_now(world) < cut + 60 * SECOND) {
            pass(SECOND / 10);
            if (p->up && puppet_send(p, (struct store_request){.kind = STORE_GET, .path = mine}))
                UNTIL(p->unanswered == 0);
            if (p->rc == STORE_OK && !world_exists(world, mine, NULL, NULL))
                stale++;
        }
        CHECK(world_now(world) - cut >= 5 * TICK_MS * MILLI - SECOND);
        CHECK(world_now(world) - cut <= 6 * TICK_MS * MILLI);
        world_cut_server(world, server, false);
        UNTIL(p->expired);
        g_free(mine);
        end_world();
    }
    CHECK(stale > 0);
}

/* A server that is cut off refuses by itself, and a follower loses its leader without any fault. */
TEST_CASE(odd)
{
    for (int is = 0; is < 2; is++) {
        begin_world((struct world_config){.seed = 1, .servers = 3, .tick_ms = TICK_MS, .odd = is});
        int server = a_follower();
        struct puppet *p = puppet_at("a", server, TIMEOUT_MS);
        CHECK_INT(CREATE(p, "/a"), STORE_OK);
        world_refuse(world, STORE_SET, "/a");
        world_cut_server(world, server, true);
        SEND(p, .kind = STORE_SET, .path = "/a", .version = -1);
        pass(SECOND);
        CHECK_INT(p->unanswered, !is);
        world_cut_server(world, server, false);
        UNTIL(p->unanswered == 0);
        CHECK_INT(p->rc, STORE_NOAUTH);
        for (int i = 0; i < 100 && p->up; i++)
            pass(SECOND);
        CHECK_INT(p->up, !is);
        end_world();
    }
}

/* A write through a follower is no touch: if the follower is cut off before its next report, the
 * session may end before write + timeout. */
TEST_CASE(write_is_no_touch)
{
    unsigned early = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        begin_trio(seed);
        int server = a_follower();
        struct puppet *p = puppet_at("a", server, TIMEOUT_MS);
        host_pause(p->host, false);
        pass(SECOND * 12 / 10);
        host_resume(p->host);
        pass(SECOND / 500);
        int64_t sent = world_now(world);
        CHECK_INT(CREATE(p, "/a"), STORE_OK);
        world_cut_server(world, server, true);
        UNTIL(expiring_at != 0);
        early += expiring_at < sent + TIMEOUT_MS * MILLI;
        end_world();
    }
    CHECK(early > 0);
}

TEST_CASE(cut_leader)
{
    begin_trio(1);
    int old = world_leader(world);
    struct puppet *p = puppet_at("a", old, TIMEOUT_MS);
    struct puppet *q = puppet_at("b", a_follower(), TIMEOUT_MS);
    struct puppet *r = puppet_at("c", old, TIMEOUT_MS);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(DO(q, .kind = STORE_SYNC, .path = "/"), STORE_OK);
    world_cut_server(world, old, true);
    CHECK(!world_admin_create(world, "/no", NULL, false) || world_leader(world) != old);
    pass(SECOND);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_SYNC, .path = "/"), STORE_OK);
    g_string_truncate(p->heard, 0);
    SEND(p, .kind = STORE_CREATE, .path = "/b");
    pass(SECOND / 10);
    SEND(r, .kind = STORE_SYNC, .path = "/"); /* behind what is proposed */
    UNTIL(!p->up && !r->up);
    /* It may serve them once more before it gives up. */
    CHECK(g_str_has_prefix(p->heard->str, "down /b=9 "));
    CHECK(g_str_has_prefix(r->heard->str, "down /=9 "));
    UNTIL(q->up && world_leader(world) >= 0 && world_leader(world) != old);
    CHECK_INT(GET(q, "/b"), STORE_NONODE);
    CHECK_INT(CREATE(q, "/b"), STORE_OK);
    world_cut_server(world, old, false);
    UNTIL(p->up);
    CHECK_INT(GET(p, "/b"), STORE_OK);
    CHECK_INT(p->czxid, q->czxid);
    end_world();
}

/* The server that leads from now on does not know how old the sessions are. */
TEST_CASE(fresh_timeout)
{
    begin_trio(1);
    struct puppet *p = puppet_at("a", a_follower(), TIMEOUT_MS);
    host_kill(p->host);
    pass(3 * SECOND);
    int old = world_leader(world);
    world_crash_server(world, old, true);
    UNTIL(world_leader(world) >= 0 && world_leader(world) != old);
    int64_t led = world_now(world);
    CHECK_INT(world_session_count(world), 1);
    UNTIL(expiring_at != 0);
    CHECK(expiring_at > led + TIMEOUT_MS * MILLI);
    CHECK(expiring_at <= led + (TIMEOUT_MS + TICK_MS) * MILLI);
    end_world();
}

TEST_CASE(restart)
{
    begin_trio(1);
    struct puppet *p = puppet_new("a", "any:1", TIMEOUT_MS);
    UNTIL(p->up);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    for (int i = 0; i < 3; i++)
        world_crash_server(world, i, true);
    pass(SECOND);
    CHECK(!p->up);
    CHECK_INT(world_leader(world), -1);
    CHECK(!world_admin_create(world, "/b", NULL, false));
    for (int i = 0; i < 3; i++)
        world_crash_server(world, i, false);
    UNTIL(p->up);
    CHECK(!p->expired);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    end_world();
}

TEST_CASE(paused_leader)
{
    begin_trio(1);
    int old = world_leader(world);
    struct puppet *p = puppet_at("a", old, 20000), *q = puppet_at("b", a_follower(), 20000);
    world_pause_server(world, old, true);
    UNTIL(!q->up);
    UNTIL(q->up);
    CHECK(world_leader(world) != old);
    CHECK_INT(CREATE(q, "/a"), STORE_OK);
    world_pause_server(world, old, false);
    UNTIL(!p->up);
    UNTIL(p->up);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    end_world();
}

/* A leader without majority gives up, and nobody follows it. */
TEST_CASE(minority)
{
    begin_trio(1);
    int leader = world_leader(world);
    world_crash_server(world, (leader + 1) % 3, true);
    world_crash_server(world, (leader + 2) % 3, true);
    pass(10 * SECOND);
    bool led = false;
    for (int i = 0; i < 200; i++, pass(SECOND / 20))
        led |= world_leader(world) >= 0;
    CHECK(!led);
    world_crash_server(world, (leader + 1) % 3, false);
    pass(SECOND);
    CHECK(world_leader(world) >= 0);
    end_world();
}

/* What the old connection's server still passes on for a session that has moved is refused. */
TEST_CASE(moved)
{
    begin_trio(1);
    int server = a_follower();
    char *hosts = g_strdup_printf("server%d:1,server%d:1", server, world_leader(world));
    struct puppet *p = puppet_new("a", hosts, 20000);
    world_cut(p->host, world_leader(world), true, true);
    UNTIL(p->up);
    world_cut_server(world, server, true);
    SEND(p, .kind = STORE_CREATE, .path = "/late");
    pass(SECOND / 100);
    world_heal(p->host, -1);
    world_cut(p->host, server, true, true);
    world_reset(p->host);
    while (!p->up && world_run_next(world, 4 * SECOND))
        continue;
    bool moved = p->up;
    world_cut_server(world, server, false);
    pass(SECOND);
    CHECK(!moved || !world_exists(world, "/late", NULL, NULL));
    CHECK(moved);
    g_free(hosts);
    end_world();
}
