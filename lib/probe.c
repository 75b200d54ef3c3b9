#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum { PATIENCE_MS = 300, ANSWER_MAX = 96 };

/* One connection; a host may have several addresses. */
struct probe {
    guint host; /* its place in the list */
    int fd;
    bool asked;
    char answer[ANSWER_MAX + 1];
    size_t length;
};

static int open_to(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);

    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void open_host(GArray *probes, guint number, const char *host_port)
{
    const char *colon = strrchr(host_port, ':');
    char *host = g_strndup(host_port, (gsize)(colon - host_port));
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    if (getaddrinfo(host, colon + 1, &hints, &list) == 0) {
        for (const struct addrinfo *a = list; a; a = a->ai_next) {
            struct probe p = {.host = number, .fd = open_to(a)};
            if (p.fd >= 0)
                g_array_append_val(probes, p);
        }
        freeaddrinfo(list);
    }
    g_free(host);
}

bool probe_is_zookeeper(const char *answer)
{
    return strstr(answer, " version: ") || strstr(answer, "srvr is not executed") ||
           strstr(answer, "This ZooKeeper instance");
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
    if (n <= 0 || p->length == ANSWER_MAX)
        end(p);
}

static void step(struct probe *p, short events)
{
    if (!p->asked && (events & POLLOUT)) {
        p->asked = send(p->fd, "srvr", 4, MSG_NOSIGNAL) == 4;
        if (!p->asked)
            end(p);
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

static bool is_foreign(const GArray *probes, guint host)
{
    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        if (p->host == host && p->length > 0 && !probe_is_zookeeper(p->answer))
            return true;
    }
    return false;
}

char *probe_hosts(const char *hosts)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = g_array_new(FALSE, FALSE, sizeof(struct probe));
    GString *good = g_string_new(NULL);

    for (guint i = 0; list[i]; i++)
        open_host(probes, i, list[i]);
    struct instant end_at = instant_add(clock_now(), PATIENCE_MS * CLOCK_MS);
    for (int64_t left; (left = instant_left(clock_now(), end_at)) > 0;) {
        if (!poll_once(probes, (int)(left / CLOCK_MS) + 1))
            break;
    }
    for (guint i = 0; list[i]; i++) {
        if (!is_foreign(probes, i))
            g_string_append_printf(good, "%s%s", good->len ? "," : "", list[i]);
    }
    for (guint i = 0; i < probes->len; i++) {
        if (g_array_index(probes, struct probe, i).fd >= 0)
            end(&g_array_index(probes, struct probe, i));
    }
    g_array_unref(probes);
    g_strfreev(list);
    bool any = good->len > 0;
    char *text = g_string_free(good, !any);
    return any ? text : NULL;
}
