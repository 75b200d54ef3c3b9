#include "probe_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"

enum { PATIENCE_MS = 300 };

static int open_to(const struct addrinfo *a, int *ret_error)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);

    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
        *ret_error = errno;
        close(fd);
        return -1;
    }
    if (fd < 0)
        *ret_error = errno;
    return fd;
}

static void open_host(GArray *probes, guint number, const char *host_port,
                      const struct question *questions, guint count)
{
    const char *colon = strrchr(host_port, ':');
    char *host = g_strndup(host_port, (gsize)(colon - host_port));
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    if (getaddrinfo(host, colon + 1, &hints, &list) == 0) {
        for (const struct addrinfo *a = list; a; a = a->ai_next) {
            for (guint i = 0; i < count; i++) {
                struct probe p = {.host = number, .question = &questions[i]};
                p.fd = open_to(a, &p.error);
                g_array_append_val(probes, p);
            }
        }
        freeaddrinfo(list);
    }
    g_free(host);
}

static void end(struct probe *p)
{
    close(p->fd);
    p->fd = -1; /* poll() passes it over */
}

static void hear(struct probe *p)
{
    ssize_t n = recv(p->fd, p->answer + p->length, ANSWER_MAX - p->length, 0);

    if (n > 0)
        p->length += (size_t)n;
    if (n < 0)
        p->error = errno;
    if (n <= 0 || p->length == ANSWER_MAX)
        end(p);
}

static void step(struct probe *p, short events)
{
    if (!p->asked && (events & POLLOUT)) {
        const struct question *q = p->question;
        p->asked = send(p->fd, q->bytes, q->length, MSG_NOSIGNAL) == (ssize_t)q->length;
        if (!p->asked) {
            p->error = errno;
            end(p);
        }
    } else if (events & (POLLIN | POLLERR | POLLHUP)) {
        hear(p);
    }
}

/* True while there is somebody to wait for. */
static bool poll_once(GArray *probes, int timeout_ms)
{
    struct pollfd *fds = g_new0(struct pollfd, probes->len);
    bool open = false;

    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        fds[i] = (struct pollfd){p->fd, p->asked ? POLLIN : POLLIN | POLLOUT, 0};
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

GArray *probe_ask_all(char *const *hosts, const struct question *questions, guint count)
{
    GArray *probes = g_array_new(FALSE, FALSE, sizeof(struct probe));

    for (guint i = 0; hosts[i]; i++)
        open_host(probes, i, hosts[i], questions, count);
    struct instant end_at = instant_add(clock_now(), PATIENCE_MS * CLOCK_MS);
    for (int64_t left; (left = instant_left(clock_now(), end_at)) > 0;) {
        if (!poll_once(probes, (int)(left / CLOCK_MS) + 1))
            break;
    }
    return probes;
}

void probe_free_all(GArray *probes)
{
    for (guint i = 0; i < probes->len; i++) {
        if (g_array_index(probes, struct probe, i).fd >= 0)
            end(&g_array_index(probes, struct probe, i));
    }
    g_array_unref(probes);
}
