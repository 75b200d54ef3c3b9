/* libzookeeper opens its sockets without SOCK_CLOEXEC and shows them to nobody. We find them by the
 * server's address at the other end. A socket of the program's own to that port is hardly meant to
 * be inherited either. */
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "names.h"
#include "store_zk.h"

enum {
    STUCK_MS = 1000,
    AGAIN_MS = 1000,    /* at most until TCP sends what was lost again */
    SYN_SENT = 2,       /* as in netinet/tcp.h, which linux/tcp.h excludes */
    RTO_MAX_OPTION = 44 /* TCP_RTO_MAX_MS of Linux 6.15 */
};

/* getpeername() knows none before the server has answered. */
static bool leads_to(int fd, const struct address *server)
{
    struct address peer = {.length = server->length};

    return getsockopt(fd, SOL_SOCKET, SO_PEERNAME, &peer.bytes, &peer.length) == 0 &&
           peer.length == server->length && memcmp(&peer.bytes, &server->bytes, peer.length) == 0;
}

/* If packets get lost, TCP sends the first one again after 3 s, and then only after 6 s: a deadline
 * may come before. This shortens that time. A kernel that cannot change it refuses. */
static bool keep(int fd, const void *server)
{
    const int again_ms = AGAIN_MS;

    if (!leads_to(fd, server))
        return false;
    setsockopt(fd, IPPROTO_TCP, RTO_MAX_OPTION, &again_ms, sizeof again_ms);
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

/* Whether nothing at all has come back, although the first packet was sent a second ago, and so
 * once more, or the first request a while ago. */
static bool is_stuck(int fd)
{
    struct tcp_info info = {.tcpi_last_data_sent = 0};
    socklen_t length = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && length == sizeof info &&
           (info.tcpi_state == SYN_SENT
                ? info.tcpi_retransmits > 0
                : info.tcpi_bytes_received == 0 && info.tcpi_last_data_sent >= STUCK_MS);
}

/* Uses a descriptor of our own, since the library may close its one, and another thread get the
 * number. A descriptor that is closed on exec is not the library's, or was connected. */
static bool drop(int fd, const void *servers)
{
    const GArray *all = servers;
    bool dropped = false;

    const int copy = fcntl(fd, F_GETFD) == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0)
        return false;
    for (guint i = 0; i < all->len && !dropped; i++)
        dropped = leads_to(copy, &g_array_index(all, struct address, i)) && is_stuck(copy) &&
                  shutdown(copy, SHUT_RDWR) == 0;
    close(copy);
    return dropped;
}

/* Whether fn was true of one. */
static bool for_descriptors(bool (*fn)(int fd, const void *data), const void *data)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    const char *name;
    bool any = false;

    while (dir && (name = g_dir_read_name(dir)))
        any |= fn(atoi(name), data);
    if (dir)
        g_dir_close(dir);
    return any;
}

void store_zk_keep_socket(zhandle_t *zh, struct address *ret)
{
    *ret = (struct address){.length = sizeof ret->bytes};
    if (zookeeper_get_connected_host(zh, (struct sockaddr *)&ret->bytes, &ret->length))
        for_descriptors(keep, ret);
    else
        ret->length = 0;
}

bool store_zk_drop_stuck(const GArray *servers)
{
    return for_descriptors(drop, servers);
}
