/* libzookeeper opens its sockets without SOCK_CLOEXEC and shows them to nobody. They are those with
 * the server's address at the other end; a socket of the program's own to that port is hardly to be
 * inherited either. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "names.h"
#include "store_zk.h"

static bool leads_to(int fd, const struct address *server)
{
    struct address peer = {.length = sizeof peer.bytes};

    return getpeername(fd, (struct sockaddr *)&peer.bytes, &peer.length) == 0 &&
           peer.length == server->length && memcmp(&peer.bytes, &server->bytes, peer.length) == 0;
}

void store_zk_keep_socket(zhandle_t *zh)
{
    struct address server = {.length = sizeof server.bytes};
    const char *name;
    GDir *dir;

    if (!zookeeper_get_connected_host(zh, (struct sockaddr *)&server.bytes, &server.length))
        return;
    dir = g_dir_open("/proc/self/fd", 0, NULL);
    while (dir && (name = g_dir_read_name(dir))) {
        const int fd = atoi(name);

        if (leads_to(fd, &server))
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    if (dir)
        g_dir_close(dir);
}
