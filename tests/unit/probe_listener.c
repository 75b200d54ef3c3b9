#include "probe_listener.h"

#include <arpa/inet.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner.h"

void probe_listen(struct probe_listener *ret, void *(*serve)(void *server), void *server)
{
    enum { MANY = 100 };
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ret->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(bind(ret->fd, (struct sockaddr *)&address, sizeof address) == 0);
    REQUIRE(listen(ret->fd, MANY) == 0);
    REQUIRE(getsockname(ret->fd, (struct sockaddr *)&address, &size) == 0);
    g_snprintf(ret->hosts, sizeof ret->hosts, "127.0.0.1:%d", ntohs(address.sin_port));
    REQUIRE(pthread_create(&ret->thread, NULL, serve, server) == 0);
}

void probe_listen_end(struct probe_listener *listener)
{
    shutdown(listener->fd, SHUT_RDWR);
    pthread_join(listener->thread, NULL);
    close(listener->fd);
}
