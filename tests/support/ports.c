#include "ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int bound_socket(int port, int flags)
{
    int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

bool port_hold(struct held_port *ret)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    ret->port = 0;
    ret->fd = bound_socket(0, 0);
    if (ret->fd < 0)
        return false;
    if (getsockname(ret->fd, (struct sockaddr *)&address, &length) == 0)
        ret->port = ntohs(address.sin_port);
    return ret->port > 0;
}

void port_release(struct held_port *p)
{
    if (p->port > 0)
        close(p->fd);
    *p = (struct held_port){.fd = -1};
}

int port_listen(const struct held_port *p)
{
    int fd = bound_socket(p->port, SOCK_NONBLOCK);
    if (fd >= 0 && listen(fd, 128) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}
