#include "fixture.h"
#include "fourletter.h"
#include "progress.h"
#include "proxy.h"
#include "raw.h"
#include "selftest.h"
#include "server.h"

#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SESSION_MS = 3000 };

static struct zk_server *server;
static struct raw *direct;
static struct proxy *proxy;
static struct raw *client; /* through the proxy */

static int start_server(void)
{
    if (!server_or_skip())
        return 0;
    server = zk_server_start(NULL);
    direct = server ? raw_open(zk_server_connect(server)) : NULL;
    return direct ? 0 : 1;
}

static int stop_server(void)
{
    raw_close(direct);
    zk_server_stop(server);
    direct = NULL;
    server = NULL;
    return 0;
}

TEST_SUITE(proxy, .init = start_server, .done = stop_server);

static void begin(void)
{
    proxy = proxy_start(zk_server_port(server, 0));
    REQUIRE(proxy != NULL);
    client = raw_open_timeout(proxy_connect(proxy), SESSION_MS);
    REQUIRE(client != NULL);
    proxy_reset_stats(proxy);
}

static void end(void)
{
    proxy_heal(proxy);
    raw_close(client);
    proxy_stop(proxy);
}

/* A connection that was lost comes back by itself. A server that has just started may also accept
 * and then forget one, which ends in a timeout. */
static bool again(int rc)
{
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT;
}

static int create_again(const char *path)
{
    int rc = ZCONNECTIONLOSS;
    for (int left = 100; again(rc) && left > 0; left--)
        rc = raw_create(client, path, NULL, -1, 0, NULL);
    return rc;
}

static void on_watch(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)type, (void)state, (void)path, (void)context;
}

static bool saw_event(const struct proxy_stats *stats, void *unused)
{
    (void)unused;
    return stats->events >= 1;
}

TEST_CASE(counts)
{
    struct proxy_stats stats;
    begin();
    CHECK_INT(raw_create(client, "/counted", NULL, -1, 0, NULL), ZOK);
    CHECK_INT(zoo_wexists(raw_handle(client), "/counted", on_watch, NULL, NULL), ZOK);
    CHECK_INT(raw_delete(direct, "/counted"), ZOK);
    CHECK(proxy_wait(proxy, saw_event, NULL, UNTIL_LATE));
    proxy_get_stats(proxy, &stats);
    CHECK_INT(stats.requests[PROXY_OP_CREATE], 1);
    CHECK_INT(stats.requests[PROXY_OP_EXISTS], 1);
    CHECK_INT(proxy_requests(proxy, PROXY_OP_ANY), 2);
    CHECK_INT(stats.replies, 2);
    CHECK_INT(stats.answers[PROXY_OP_CREATE], 1);
    CHECK_INT(proxy_answers(proxy, PROXY_OP_EXISTS), 1);
    CHECK_INT(proxy_answers(proxy, PROXY_OP_ANY), 2);
    CHECK_INT(stats.events, 1);
    CHECK(stats.bytes_to_server > 40 && stats.bytes_to_client > 40);
    CHECK_INT(raw_exists(client, "/counted", NULL), ZNONODE);
    CHECK(proxy_wait_requests(proxy, PROXY_OP_EXISTS, 2, UNTIL_LATE));
    CHECK_INT(proxy_requests(proxy, PROXY_OP_EXISTS), 2);
    char *reply = fourletter(proxy_port(proxy), "ruok");
    CHECK_STR(reply, "imok");
    free(reply);
    end();
}

/* As in a network: a handshake takes both directions. */
TEST_CASE(half_frozen)
{
    begin();
    proxy_freeze(proxy, PROXY_TO_CLIENT);
    proxy_reset_stats(proxy);
    struct proxy_stats stats;
    char *reply = fourletter_send("127.0.0.1", proxy_port(proxy), "ruok", 100);
    CHECK(reply == NULL);
    proxy_get_stats(proxy, &stats);
    CHECK_INT(stats.connections, 1);
    CHECK_INT(stats.bytes_to_server, 0);
    free(reply);
    end();
}

TEST_CASE(bulk)
{
    enum { SIZE = 900000 };
    begin();
    char *data = g_malloc(SIZE + 1);
    memset(data, 'x', SIZE);
    data[SIZE] = '\0';
    CHECK_INT(raw_create(client, "/bulk", data, SIZE, 0, NULL), ZOK);
    for (int i = 0; i < 5; i++) {
        char *back = raw_get(client, "/bulk", NULL);
        CHECK(back && strcmp(back, data) == 0);
        free(back);
    }
    struct proxy_stats stats;
    proxy_get_stats(proxy, &stats);
    CHECK_INT(stats.requests[PROXY_OP_GET_DATA], 5);
    CHECK(stats.bytes_to_client > 5 * SIZE);
    g_free(data);
    end();
}

TEST_CASE(cut)
{
    begin();
    int64_t id = raw_session_id(client);
    proxy_cut(proxy);
    CHECK(fourletter(proxy_port(proxy), "ruok") == NULL);
    CHECK_INT(raw_create(client, "/cut", NULL, -1, 0, NULL), ZCONNECTIONLOSS);
    proxy_heal(proxy);
    CHECK_INT(create_again("/cut"), ZOK);
    proxy_reset(proxy);
    CHECK_INT(create_again("/cut"), ZNODEEXISTS);
    CHECK_INT(raw_session_id(client), id);
    end();
}

TEST_CASE(freeze)
{
    begin();
    proxy_freeze(proxy, PROXY_TO_CLIENT);
    CHECK(fourletter_send("127.0.0.1", proxy_port(proxy), "ruok", 200) == NULL);
    proxy_thaw(proxy);
    char *reply = fourletter(proxy_port(proxy), "ruok");
    CHECK_STR(reply, "imok");
    free(reply);
    proxy_freeze(proxy, PROXY_BOTH);
    CHECK_INT(raw_create(client, "/frozen", NULL, -1, 0, NULL), ZOPERATIONTIMEOUT);
    CHECK_INT(raw_exists(direct, "/frozen", NULL), ZNONODE);
    proxy_thaw(proxy);
    CHECK_INT(raw_sync(direct, "/"), ZOK);
    end();
}

TEST_CASE(expire)
{
    begin();
    clientid_t id = *zoo_client_id(raw_handle(client));
    proxy_freeze(proxy, PROXY_BOTH);
    CHECK(raw_close_session(zk_server_port(server, 0), id.client_id, id.passwd));
    proxy_cut(proxy);
    proxy_heal(proxy);
    CHECK(raw_wait_expired(client));
    end();
}

static bool dropped_two(const struct proxy_stats *stats, void *unused)
{
    (void)unused;
    return stats->dropped >= 2;
}

TEST_CASE(drop)
{
    begin();
    proxy_drop(proxy, PROXY_TO_SERVER, true);
    CHECK(raw_create(client, "/dropped", NULL, -1, 0, NULL) != ZOK);
    proxy_drop(proxy, PROXY_TO_SERVER, false);
    CHECK_INT(raw_exists(direct, "/dropped", NULL), ZNONODE);
    proxy_drop(proxy, PROXY_TO_CLIENT, true);
    proxy_reset(proxy); /* what is dropped next is the answer to the client's new greeting */
    CHECK(proxy_wait(proxy, dropped_two, NULL, UNTIL_LATE));
    end();
}

TEST_CASE(delay)
{
    begin();
    proxy_delay_ms(proxy, PROXY_TO_SERVER, 100);
    proxy_delay_ms(proxy, PROXY_TO_CLIENT, 50);
    int64_t before = g_get_monotonic_time();
    CHECK_INT(raw_exists(client, "/", NULL), ZOK);
    CHECK(g_get_monotonic_time() - before >= 150000);
    end();
}

/* Together about half of the most, and never in another order. */
TEST_CASE(jitter)
{
    enum { TIMES = 20, MOST_MS = 50 };
    begin();
    proxy_jitter_ms(proxy, PROXY_BOTH, MOST_MS);
    int64_t before = g_get_monotonic_time();
    for (int i = 0; i < TIMES; i++)
        CHECK_INT(raw_exists(client, "/", NULL), ZOK);
    CHECK(g_get_monotonic_time() - before >= TIMES * MOST_MS * 2 / 4 * 1000);
    end();
}

TEST_CASE(segment)
{
    struct proxy_stats stats;
    begin();
    CHECK_INT(raw_exists(client, "/", NULL), ZOK);
    proxy_get_stats(proxy, &stats);
    CHECK(stats.writes < stats.bytes_to_server + stats.bytes_to_client);
    proxy_segment(proxy, 1);
    proxy_reset_stats(proxy);
    CHECK_INT(raw_exists(client, "/", NULL), ZOK);
    proxy_get_stats(proxy, &stats);
    CHECK(stats.writes >= stats.bytes_to_server + stats.bytes_to_client);
    end();
}

TEST_CASE(target)
{
    struct proxy *mute = mute_server_start();
    REQUIRE(mute != NULL);
    begin();
    proxy_target(proxy, proxy_port(mute));
    CHECK(fourletter_send("127.0.0.1", proxy_port(proxy), "ruok", 200) == NULL);
    CHECK_INT(raw_exists(client, "/", NULL), ZOK); /* on a connection from before */
    proxy_target(proxy, zk_server_port(server, 0));
    char *reply = fourletter(proxy_port(proxy), "ruok");
    CHECK_STR(reply, "imok");
    free(reply);
    end();
    proxy_stop(mute);
}

TEST_CASE(lose)
{
    struct proxy_stats stats;
    begin();
    proxy_lose_reply_to(proxy, PROXY_OP_CREATE);
    CHECK_INT(raw_exists(client, "/", NULL), ZOK);
    CHECK_INT(raw_create(client, "/unheard", NULL, -1, 0, NULL), ZCONNECTIONLOSS);
    CHECK(proxy_wait_lost(proxy, 1, UNTIL_LATE));
    CHECK_INT(raw_exists(direct, "/unheard", NULL), ZOK);
    CHECK_INT(create_again("/heard"), ZOK);

    proxy_lose_request_to(proxy, PROXY_OP_CREATE);
    CHECK_INT(raw_create(client, "/unsaid", NULL, -1, 0, NULL), ZCONNECTIONLOSS);
    CHECK(proxy_wait_lost(proxy, 2, UNTIL_LATE));
    CHECK_INT(raw_exists(direct, "/unsaid", NULL), ZNONODE);
    CHECK_INT(create_again("/unsaid"), ZOK);

    proxy_lose_reply_to(proxy, PROXY_OP_ANY);
    CHECK_INT(raw_exists(client, "/", NULL), ZCONNECTIONLOSS);
    proxy_get_stats(proxy, &stats);
    CHECK_INT(stats.lost, 3);
    end();
}

/* As servers that do not know the operation. */
TEST_CASE(refuse)
{
    struct proxy_stats stats;
    begin();
    proxy_refuse(proxy, PROXY_OP_CREATE);
    CHECK_INT(raw_create(client, "/unknown", NULL, -1, 0, NULL), ZUNIMPLEMENTED);
    CHECK_INT(raw_create(client, "/unknown", NULL, -1, 0, NULL), ZUNIMPLEMENTED);
    CHECK_INT(raw_exists(client, "/unknown", NULL), ZNONODE);
    proxy_heal(proxy);
    CHECK_INT(raw_create(client, "/unknown", NULL, -1, 0, NULL), ZOK);
    proxy_hang_up_on(proxy, PROXY_OP_CREATE);
    CHECK_INT(raw_create(client, "/hung-up", NULL, -1, 0, NULL), ZCONNECTIONLOSS);
    CHECK_INT(raw_exists(direct, "/hung-up", NULL), ZNONODE);
    proxy_get_stats(proxy, &stats);
    CHECK_INT(stats.refused, 3);
    end();
}

TEST_CASE(target_down)
{
    begin();
    zk_server_halt(server, 0);
    CHECK(fourletter(proxy_port(proxy), "ruok") == NULL);
    CHECK(zk_server_launch(server, 0) && zk_server_wait(server, 0));
    CHECK_INT(create_again("/back"), ZOK);
    end();
}

static void *bother(void *unused)
{
    for (int i = 0; i < 200; i++) {
        proxy_freeze(proxy, i % 2 ? PROXY_TO_CLIENT : PROXY_BOTH);
        proxy_delay_ms(proxy, PROXY_BOTH, i % 3);
        proxy_thaw(proxy);
        if (i % 20 == 0)
            proxy_reset(proxy);
        if (i % 50 == 0)
            proxy_cut(proxy);
        proxy_heal(proxy);
    }
    return unused;
}

TEST_CASE(many_threads)
{
    pthread_t threads[3];
    begin();
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        REQUIRE(pthread_create(&threads[i], NULL, bother, NULL) == 0);
    for (int i = 0; i < 100; i++)
        raw_exists(client, "/", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
    proxy_heal(proxy);
    int rc = ZCONNECTIONLOSS;
    for (int left = 100; again(rc) && left > 0; left--)
        rc = raw_exists(client, "/", NULL);
    CHECK_INT(rc, ZOK);
    end();
}
