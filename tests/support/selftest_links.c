/* A linked ensemble: what is cut off is cut off, and comes back. */
#include "fixture.h"
#include "fourletter.h"
#include "progress.h"
#include "proxy.h"
#include "raw.h"
#include "selftest.h"
#include "server.h"

#include <glib.h>

enum { PROBE_MS = 1500, SESSION_MS = 20000 };

static struct zk_server *server;

static int start_server(void)
{
    static const char *const config[] = {"syncLimit=20", NULL}; /* that is 4 s */
    const struct zk_server_options options = {
        .nodes = 3, .linked = true, .tick_ms = 200, .config = config};

    if (!server_or_skip())
        return 0;
    server = zk_server_start(&options);
    return server ? 0 : 1;
}

static int stop_server(void)
{
    zk_server_stop(server);
    server = NULL;
    return 0;
}

TEST_SUITE(links, .init = start_server, .done = stop_server);

static struct raw *open_at(int node)
{
    char connect[32];
    g_snprintf(connect, sizeof connect, "127.0.0.1:%d", zk_server_port(server, node));
    return raw_open_timeout(connect, SESSION_MS);
}

static int follower(void)
{
    int leader = zk_server_wait_leader(server);
    REQUIRE(leader >= 0);
    return (leader + 1) % 3;
}

/* To be asked again, since servers drop their clients when they change sides. */
static bool has_written(int node)
{
    struct raw *r = open_at(node);
    bool ok = r && raw_create(r, "/probe-", NULL, -1, ZOO_SEQUENCE, NULL) == ZOK;

    raw_close(r);
    return ok;
}

static void on_done(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    g_atomic_int_set((int *)(uintptr_t)data, rc == ZOK || rc == ZBADVERSION ? 1 : 2);
}

static bool has_connected_anew(struct proxy *way)
{
    struct proxy_stats stats;

    proxy_get_stats(way, &stats);
    return stats.connections > 2 && stats.bytes_to_client > 0;
}

TEST_CASE(isolated_follower_reads)
{
    static int wrote; /* its answer may come when we are gone */
    int node = follower();
    struct raw *r = open_at(node), *reader = open_at(node);
    struct raw *other = open_at(zk_server_leader(server));
    REQUIRE(r && reader && other);
    CHECK_INT(raw_create(r, "/known", NULL, -1, 0, NULL), ZOK);
    zk_server_isolate(server, node);
    CHECK_INT(raw_exists(r, "/known", NULL), ZOK);
    zoo_aset(raw_handle(r), "/known", "", 0, -1, on_done, &wrote);
    CHECK_INT(raw_create(other, "/news", NULL, -1, 0, NULL), ZOK);
    g_usleep(PROBE_MS * 1000); /* it would have been answered */
    CHECK_INT(g_atomic_int_get(&wrote), 0);
    CHECK_INT(raw_exists(reader, "/news", NULL), ZNONODE);
    zk_server_rejoin(server, node);
    CHECK(AWAIT(g_atomic_int_get(&wrote) > 0));
    raw_close(r);
    raw_close(reader);
    raw_close(other);
    CHECK(AWAIT(has_written(node)));
}

TEST_CASE(isolated_leader_is_replaced)
{
    int old = zk_server_wait_leader(server), now = -1;
    zk_server_isolate(server, old);
    CHECK(AWAIT((now = zk_server_leader(server)) >= 0 && now != old));
    CHECK(AWAIT(has_written(now)));
    zk_server_rejoin(server, old);
    CHECK(zk_server_wait(server, old));
    CHECK(AWAIT(has_written(old)));
}

/* A follower that is not heard gets no write through, one that does not hear is not told. */
TEST_CASE(one_way)
{
    int node = follower();
    struct raw *r = open_at(node);
    REQUIRE(r != NULL);
    for (int way = 0; way < 2; way++) {
        static int done[2];
        int *wrote = &done[way];
        if (way == 0)
            zk_server_mute(server, node);
        else
            zk_server_deafen(server, node);
        zoo_aset(raw_handle(r), "/known", "", 0, -1, on_done, wrote);
        g_usleep(PROBE_MS * 1000); /* it would have been answered */
        CHECK_INT(g_atomic_int_get(wrote), 0);
        zk_server_rejoin(server, node);
        CHECK(AWAIT(g_atomic_int_get(wrote) > 0));
    }
    raw_close(r);
    CHECK(AWAIT(has_written(node)));
}

TEST_CASE(slow)
{
    enum { DELAY_MS = 60 };
    int node = follower();
    struct raw *r = open_at(node);
    REQUIRE(r != NULL);
    zk_server_slow(server, node, DELAY_MS);
    int64_t begun = g_get_monotonic_time();
    CHECK_INT(raw_create(r, "/slow", NULL, -1, 0, NULL), ZOK);
    CHECK(g_get_monotonic_time() - begun >= 2 * DELAY_MS * 1000);
    zk_server_rejoin(server, node);
    raw_close(r);
}

/* Kills and restarts go through the same ways. */
TEST_CASE(restarted_node_joins)
{
    for (int node = 0; node < 3; node++) {
        zk_server_kill(server, node);
        CHECK(zk_server_launch(server, node) && zk_server_wait(server, node));
        CHECK(AWAIT(has_written(node)));
    }
}

/* An observer that a follower feeds loses it again and again, and serves. */
TEST_CASE(odd)
{
    struct zk_server *s = zk_server_start(
        &(struct zk_server_options){.nodes = 3, .tick_ms = 100, .odd = "late torn relayed"});
    char mode[32] = "";
    REQUIRE(s != NULL);
    /* While its feeder is lost, an observer serves nobody and has no mode. */
    CHECK(AWAIT(fourletter_mode_at("127.0.0.1", zk_server_port(s, 2), mode, sizeof mode)));
    CHECK_STR(mode, "observer");
    zk_server_slow(s, 2, 1);
    zk_server_rejoin(s, 2); /* which heals, and leaves what is odd */
    CHECK(AWAIT(has_connected_anew(zk_server_link(s, 2, 0))));
    CHECK(zk_server_wait(s, 2));
    zk_server_stop(s);
}
