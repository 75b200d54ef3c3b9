#include "proxy_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Read no more into a direction that holds so much. */
enum { QUEUE_MAX = 1 << 20, READ_SIZE = 1 << 16 };

static bool frozen(const struct link *l, int direction)
{
    unsigned bit = direction == UP ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
    return l->proxy->orders.frozen & (l->late ? PROXY_BOTH : bit);
}

/* The connect itself goes on in the background: a paused server answers it late. */
static int connect_target(int port, bool *connecting)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    *connecting = connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0;
    if (!*connecting || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

static void close_fd(int fd, bool reset)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (fd < 0)
        return;
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

static uint32_t next_noise(struct proxy *p)
{
    p->noise ^= p->noise << 13;
    p->noise ^= p->noise >> 17;
    p->noise ^= p->noise << 5;
    return p->noise >> 8;
}

struct link *link_new(struct proxy *p, int client)
{
    struct link *l = g_new0(struct link, 1);
    int on = 1;
    l->proxy = p;
    l->late = p->orders.frozen != 0;
    l->torn_at = INT64_MAX;
    if (p->orders.tear_ms > 0)
        l->torn_at = g_get_monotonic_time() + next_noise(p) % (unsigned)p->orders.tear_ms * 1000LL;
    l->fd[UP] = client;
    l->fd[DOWN] = -1;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (p->kind != KIND_PROXY)
        l->stream[UP].raw = l->stream[DOWN].raw = true;
    if (p->orders.mangle)
        l->whole = g_byte_array_new();
    if (p->kind == KIND_PROXY || p->kind == KIND_RAW) {
        l->fd[DOWN] = connect_target(p->target_port, &l->connecting);
        if (l->fd[DOWN] < 0) {
            link_free(l, true);
            return NULL;
        }
        setsockopt(l->fd[DOWN], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return l;
}

void link_free(struct link *l, bool reset)
{
    close_fd(l->fd[UP], reset);
    close_fd(l->fd[DOWN], reset);
    g_queue_clear_full(&l->stream[UP].chunks, g_free);
    g_queue_clear_full(&l->stream[DOWN].chunks, g_free);
    if (l->whole)
        g_byte_array_unref(l->whole);
    g_free(l);
}

static int64_t delay_us(struct proxy *p, int direction)
{
    int64_t ms = p->orders.delay_ms[direction];
    int jitter = p->orders.jitter_ms[direction];
    if (jitter > 0)
        ms += next_noise(p) % (unsigned)jitter;
    return ms * 1000;
}

void stream_push(struct link *l, int direction, const uint8_t *bytes, size_t length)
{
    struct proxy *p = l->proxy;
    struct chunk *c = g_malloc(sizeof(*c) + length);
    c->due = g_get_monotonic_time() + delay_us(p, direction);
    c->length = length;
    c->sent = 0;
    memcpy(c->bytes, bytes, length);
    g_queue_push_tail(&l->stream[direction].chunks, c);
    l->stream[direction].queued += length;
    *(direction == UP ? &p->stats.bytes_to_server : &p->stats.bytes_to_client) += length;
}

/* Descriptors without wishes are left out: poll would report their hang-up for ever. */
void link_ask(struct link *l, struct pollfd fds[2], int64_t now, int64_t *wake_at)
{
    short events[2] = {0, 0};
    *wake_at = MIN(*wake_at, l->torn_at);
    for (int d = UP; d <= DOWN; d++) {
        struct stream *s = &l->stream[d];
        struct chunk *c = g_queue_peek_head(&s->chunks);
        if (frozen(l, d))
            continue;
        size_t queued = l->fd[DOWN] < 0 ? l->stream[DOWN].queued : s->queued;
        if (!s->eof && queued < QUEUE_MAX && !(l->connecting && d == DOWN))
            events[d] |= POLLIN;
        if (c && c->due <= now)
            events[!d] |= POLLOUT;
        else if (c)
            *wake_at = MIN(*wake_at, c->due);
    }
    if (l->connecting)
        events[DOWN] = POLLOUT;
    for (int d = UP; d <= DOWN; d++)
        fds[d] = (struct pollfd){.fd = events[d] ? l->fd[d] : -1, .events = events[d]};
}

static void answer_noise(struct link *l)
{
    struct proxy *p = l->proxy;
    uint8_t noise[256];
    size_t length = 40;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(next_noise(p) >> 16);
    if (p->stats.connections % 2 == 0) /* a handshake's length; what follows is noise */
        memcpy(noise, "\0\0\0\x24", 4);
    else
        length = 1 + noise[0];
    stream_push(l, DOWN, noise, length);
}

/* What a server says of itself comes in one piece, and first. */
static void announce_otherwise(struct link *l, uint8_t *bytes, size_t length)
{
    const char *from = l->proxy->announced;
    uint8_t *at = from && !l->announced ? memmem(bytes, length, from, strlen(from)) : NULL;

    l->announced = true;
    if (at)
        memcpy(at, l->proxy->announce, strlen(from));
}

static bool read_some(struct link *l, int d)
{
    uint8_t buf[READ_SIZE];
    struct stream *s = &l->stream[d];
    ssize_t n = read(l->fd[d], buf, sizeof(buf));
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0) {
        s->eof = true;
        return true;
    }
    if (d == UP)
        announce_otherwise(l, buf, (size_t)n);
    if (l->fd[DOWN] >= 0)
        return messages_feed(l, d, buf, (size_t)n);
    l->proxy->stats.bytes_to_server += (uint64_t)n;
    if (l->proxy->kind == KIND_RUBBISH)
        answer_noise(l);
    return true;
}

static bool write_some(struct link *l, int d)
{
    struct stream *s = &l->stream[d];
    int64_t now = g_get_monotonic_time();
    for (struct chunk *c; (c = g_queue_peek_head(&s->chunks)) && c->due <= now;) {
        size_t length = c->length - c->sent;
        if (l->proxy->orders.segment > 0)
            length = MIN(length, (size_t)l->proxy->orders.segment);
        ssize_t n = send(l->fd[!d], c->bytes + c->sent, length, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        l->proxy->stats.writes++;
        c->sent += (size_t)n;
        s->queued -= (size_t)n;
        if (c->sent == c->length)
            g_free(g_queue_pop_head(&s->chunks));
    }
    if (s->eof && !s->shut && g_queue_is_empty(&s->chunks)) {
        shutdown(l->fd[!d], SHUT_WR);
        s->shut = true;
    }
    return true;
}

static bool connected(struct link *l)
{
    int err = 0;
    socklen_t length = sizeof(err);
    l->connecting = false;
    return getsockopt(l->fd[DOWN], SOL_SOCKET, SO_ERROR, &err, &length) == 0 && err == 0;
}

bool link_serve(struct link *l, const struct pollfd fds[2])
{
    bool ok = true;
    if (g_get_monotonic_time() >= l->torn_at)
        return false;
    if (l->connecting && fds[DOWN].revents)
        ok = connected(l);
    for (int d = UP; ok && d <= DOWN; d++) {
        bool readable = (fds[d].events & POLLIN) && (fds[d].revents & ~POLLOUT);
        if (readable && !frozen(l, d))
            ok = read_some(l, d);
    }
    for (int d = UP; d <= DOWN; d++) {
        bool open = l->fd[!d] >= 0 && !(l->connecting && d == UP);
        if (open && !frozen(l, d) && !write_some(l, d))
            ok = false;
    }
    if (ok && l->fd[DOWN] < 0)
        return !l->stream[UP].eof;
    return ok && !(l->stream[UP].shut && l->stream[DOWN].shut);
}
