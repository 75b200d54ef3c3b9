/* What the proxy's thread does without a ZooKeeper server. */
#include "ports.h"
#include "proxy.h"
#include "selftest.h"

#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(listener);

/* A target that accepts but never reads: the sender must come to a stop, soon. */
TEST_CASE(bounded)
{
    enum { SIZE = 1 << 16, KERNEL_BUFFERS = 32 << 20 };
    static const char letters[SIZE] = "stuff, no message";
    struct held_port target;
    struct proxy_stats stats;
    REQUIRE(port_hold(&target));
    int listener = port_listen(&target);
    struct proxy *p = proxy_start(target.port);
    REQUIRE(p != NULL);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)proxy_port(p))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(fd, (struct sockaddr *)&address, sizeof(address));
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    int64_t sent = 0;
    while (sent < 4 * (int64_t)KERNEL_BUFFERS && poll(&wanted, 1, 300) == 1) {
        ssize_t n = send(fd, letters, SIZE, MSG_NOSIGNAL);
        REQUIRE(n > 0 || errno == EAGAIN);
        sent += MAX(n, 0);
    }
    proxy_get_stats(p, &stats);
    CHECK(sent > SIZE && sent < 2 * (int64_t)KERNEL_BUFFERS);
    CHECK(stats.bytes_to_server < KERNEL_BUFFERS);
    close(fd);
    proxy_stop(p);
    close(listener);
    port_release(&target);
}

static void ignore(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)type, (void)state, (void)path, (void)context;
}

static bool heard_bytes(const struct proxy_stats *stats, void *unused)
{
    (void)unused;
    return stats->connections >= 2 && stats->bytes_to_server > 0;
}

TEST_CASE(not_zookeeper)
{
    zoo_set_debug_level((ZooLogLevel)0); /* it would complain on every line */
    struct proxy *servers[] = {mute_server_start(), rubbish_server_start(7)};
    for (size_t i = 0; i < G_N_ELEMENTS(servers); i++) {
        struct proxy_stats stats;
        REQUIRE(servers[i] != NULL);
        zhandle_t *zh = zookeeper_init(proxy_connect(servers[i]), ignore, 600, NULL, NULL, 0);
        REQUIRE(zh != NULL);
        CHECK(proxy_wait(servers[i], heard_bytes, NULL, 30000));
        proxy_get_stats(servers[i], &stats);
        CHECK(i == 0 ? stats.bytes_to_client == 0 : stats.bytes_to_client > 0);
        zookeeper_close(zh);
        proxy_stop(servers[i]);
    }
}
