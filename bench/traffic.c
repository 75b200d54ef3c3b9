#include "traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { FILES = 1024 };

static bool former[FILES];

/* Returns how many bytes came in on a connection; -1: fd is no connection. */
static int64_t received(int fd)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t size = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return -1;
    return (int64_t)info.tcpi_bytes_received;
}

void traffic_divide(void)
{
    for (int fd = 0; fd < FILES; fd++)
        former[fd] = received(fd) >= 0;
}

int64_t traffic_received(bool others)
{
    int64_t sum = 0;

    for (int fd = 0; fd < FILES; fd++) {
        const int64_t bytes = former[fd] == others ? -1 : received(fd);
        sum += bytes > 0 ? bytes : 0;
    }
    return sum;
}
