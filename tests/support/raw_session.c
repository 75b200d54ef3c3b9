#include "raw.h"

#include "progress.h"

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { GREETING = 45, CLOSE = 8, REPLY_TIMEOUT_AT = 8, REPLY_MIN = 20 };

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    uint32_t big = htonl(value);
    memcpy(at, &big, sizeof(big));
    return at + sizeof(big);
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    return put32(put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    struct timeval limit = {.tv_sec = 1};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Sends greeting and close with one write, since the owner takes the session back when it can.
 * Returns true when the server answers that it has no such session. */
static bool refused(int port, int64_t session, const char passwd[16])
{
    uint8_t out[4 + GREETING + 4 + CLOSE], in[256], *at = out;
    size_t got = 0;
    at = put32(at, GREETING);
    at = put32(at, 0);     /* protocol version */
    at = put64(at, 0);     /* last zxid seen */
    at = put32(at, 10000); /* session timeout */
    at = put64(at, (uint64_t)session);
    at = put32(at, 16);
    memcpy(at, passwd, 16);
    at += 16;
    *at++ = 0; /* not read-only */
    at = put32(at, CLOSE);
    at = put32(at, 1); /* xid */
    put32(at, (uint32_t)-11);
    int fd = connect_to(port);
    if (fd < 0)
        return false;
    bool sent = send(fd, out, sizeof(out), MSG_NOSIGNAL) == (ssize_t)sizeof(out);
    for (ssize_t n = 1; sent && n > 0 && got < sizeof(in); got += (size_t)MAX(n, 0))
        n = recv(fd, in + got, sizeof(in) - got, 0); /* until the server hangs up */
    close(fd);
    uint32_t timeout;
    memcpy(&timeout, in + REPLY_TIMEOUT_AT, sizeof(timeout));
    return got >= REPLY_MIN && (int32_t)ntohl(timeout) <= 0;
}

bool raw_close_session(int port, int64_t session, const char passwd[16])
{
    /* Its owner has it, or the server is down: no event will tell. */
    return AWAIT(refused(port, session, passwd));
}

/* The server makes a session's password from its id, with java.util.Random. */
void raw_password(int64_t session, char passwd[16])
{
    const uint64_t multiplier = UINT64_C(0x5deece66d), mask = (UINT64_C(1) << 48) - 1;
    uint64_t seed = (((uint64_t)session ^ UINT64_C(0xb3415c00)) ^ multiplier) & mask;

    for (int i = 0; i < 16; i += 4) {
        seed = (seed * multiplier + 0xb) & mask;
        uint32_t word = (uint32_t)(seed >> 16);
        for (int j = 0; j < 4; j++)
            passwd[i + j] = (char)(word >> 8 * j & 0xff);
    }
}

bool raw_expire(int port, int64_t session)
{
    char passwd[16];

    raw_password(session, passwd);
    return raw_close_session(port, session, passwd);
}
