#include "probe_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* The first handshake of a server's Java takes its time. */
enum { PATIENCE_MS = 300, TLS_PATIENCE_MS = 2000, OTHERS_MS = 50 };

static int open_to(const struct address *a, int *ret_error)
{
    int fd = socket(a->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a->bytes, a->length) != 0 &&
        errno != EINPROGRESS) {
        *ret_error = errno;
        close(fd);
        return -1;
    }
    if (fd < 0)
        *ret_error = errno;
    return fd;
}

static struct probe begin(const char *host, guint number, const struct question *question,
                          const struct address *address, struct tls *tls)
{
    struct probe p = {.host = number, .address = *address, .question = question, .ready = !tls};

    p.fd = open_to(address, &p.error);
    p.events = tls ? POLLOUT : POLLIN | POLLOUT;
    if (tls && p.fd >= 0)
        p.tls = tls_stream_new(tls, p.fd, host);
    return p;
}

static void open_host(GArray *probes, guint number, const char *host_port,
                      const struct question *questions, guint count, struct tls *tls)
{
    const char *colon = strrchr(host_port, ':');
    char *host = g_strndup(host_port, (gsize)(colon - host_port));
    GArray *addresses = names_find(host_port);

    for (guint a = 0; a < addresses->len; a++) {
        for (guint i = 0; i < count; i++) {
            const struct probe p = begin(host, number, &questions[i],
                                         &g_array_index(addresses, struct address, a), tls);
            g_array_append_val(probes, p);
        }
    }
    g_array_unref(addresses);
    g_free(host);
}

static void end(struct probe *p)
{
    close(p->fd);
    p->fd = -1; /* poll() passes it over */
}

static void ask(struct probe *p)
{
    const struct question *q = p->question;
    const ssize_t sent = p->tls ? tls_send(p->tls, q->bytes, q->length)
                                : send(p->fd, q->bytes, q->length, MSG_NOSIGNAL);

    p->asked = sent == (ssize_t)q->length;
    p->events = POLLIN;
    if (!p->asked) {
        p->error = errno;
        end(p);
    }
}

static void hear(struct probe *p)
{
    char *to = p->answer + p->length;
    const size_t room = ANSWER_MAX - p->length;
    const ssize_t n = p->tls ? tls_receive(p->tls, to, room) : recv(p->fd, to, room, 0);

    if (n < 0 && p->tls && errno == EAGAIN)
        return; /* a part of a record */
    if (n > 0)
        p->length += (size_t)n;
    if (n < 0)
        p->error = errno;
    if (n <= 0 || p->length == ANSWER_MAX)
        end(p);
}

static void shake_hands(struct probe *p)
{
    switch (tls_shake_hands(p->tls)) {
    case TLS_READS:
        p->events = POLLIN;
        break;
    case TLS_WRITES:
        p->events = POLLOUT;
        break;
    case TLS_READY:
        p->ready = true;
        ask(p);
        break;
    case TLS_FAILED:
        p->error = errno;
        end(p);
        break;
    }
}

static void step(struct probe *p, short events)
{
    if (!p->ready)
        shake_hands(p);
    else if (!p->asked && (events & POLLOUT))
        ask(p);
    else if (events & (POLLIN | POLLERR | POLLHUP))
        hear(p);
}

/* True while there is somebody to wait for. */
static bool poll_once(GArray *probes, int timeout_ms)
{
    struct pollfd *fds = g_new0(struct pollfd, probes->len);
    bool open = false;

    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        fds[i] = (struct pollfd){p->fd, p->events, 0};
        open = open || p->fd >= 0;
    }
    int ready = open ? poll(fds, probes->len, timeout_ms) : 0;
    if (ready < 0 && errno != EINTR)
        open = false;
    if (ready > 0) {
        for (guint i = 0; i < probes->len; i++) {
            if (fds[i].revents)
                step(&g_array_index(probes, struct probe, i), fds[i].revents);
        }
    }
    g_free(fds);
    return open;
}

static bool is_enough(const GArray *probes, bool (*enough)(const struct probe *))
{
    for (guint i = 0; enough && i < probes->len; i++)
        if (enough(&g_array_index(probes, struct probe, i)))
            return true;
    return false;
}

GArray *probe_ask_all(char *const *hosts, const struct question *questions, guint count,
                      struct tls *tls, bool (*enough)(const struct probe *))
{
    const int64_t patience_ms = tls ? TLS_PATIENCE_MS : PATIENCE_MS;
    GArray *probes = g_array_new(FALSE, FALSE, sizeof(struct probe));

    for (guint i = 0; hosts[i]; i++)
        open_host(probes, i, hosts[i], questions, count, tls);
    struct instant end_at = instant_add(clock_now(), patience_ms * CLOCK_MS);
    for (int64_t left; (left = instant_left(clock_now(), end_at)) > 0;) {
        if (!poll_once(probes, (int)(left / CLOCK_MS) + 1))
            break;
        if (is_enough(probes, enough)) {
            const struct instant now = clock_now();
            const int64_t took = patience_ms * CLOCK_MS - instant_left(now, end_at);
            end_at = instant_add(now, MIN(took + OTHERS_MS * CLOCK_MS, instant_left(now, end_at)));
            enough = NULL;
        }
    }
    return probes;
}

void probe_free_all(GArray *probes)
{
    for (guint i = 0; i < probes->len; i++) {
        struct probe *p = &g_array_index(probes, struct probe, i);
        tls_stream_free(p->tls);
        if (p->fd >= 0)
            end(p);
    }
    g_array_unref(probes);
}
