#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/layout.h"

enum { PATIENCE_MS = 300, ANSWER_MAX = 96, QUESTION_MAX = 64 };

struct question {
    size_t length;
    uint8_t bytes[QUESTION_MAX];
};

/* One connection, for one question; a host may have several addresses. */
struct probe {
    guint host; /* its place in the list */
    const struct question *question;
    int fd; /* -1: the server has closed it, or said enough */
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
                struct probe p = {.host = number, .question = &questions[i], .fd = open_to(a)};
                g_array_append_val(probes, p);
            }
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
        const struct question *q = p->question;
        p->asked = send(p->fd, q->bytes, q->length, MSG_NOSIGNAL) == (ssize_t)q->length;
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

/* Puts each question to each address of each host; of struct probe, in that order. */
static GArray *ask_all(char *const *hosts, const struct question *questions, guint count)
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

static void free_all(GArray *probes)
{
    for (guint i = 0; i < probes->len; i++) {
        if (g_array_index(probes, struct probe, i).fd >= 0)
            end(&g_array_index(probes, struct probe, i));
    }
    g_array_unref(probes);
}

/* ---- is that a ZooKeeper? ---- */

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
    static const struct question srvr = {4, "srvr"};
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = ask_all(list, &srvr, 1);
    GString *good = g_string_new(NULL);

    for (guint i = 0; list[i]; i++) {
        if (!is_foreign(probes, i))
            g_string_append_printf(good, "%s%s", good->len ? "," : "", list[i]);
    }
    free_all(probes);
    g_strfreev(list);
    bool any = good->len > 0;
    char *text = g_string_free(good, !any);
    return any ? text : NULL;
}

/* ---- does it let us in? ---- */

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        *at++ = (uint8_t)(value >> shift);
    return at;
}

/* As a client begins that has seen zxid and returns with a session that is nobody's: the server
 * says that it has expired. An unknown session is the one greeting that changes nothing; each is
 * another, since a server closes an older connection of the same one. */
static struct question greeting(uint64_t zxid)
{
    enum { PASSWORD = 16, LENGTH = 4 + 8 + 4 + 8 + 4 + PASSWORD + 1 };
    uint64_t session;
    struct question q = {.length = 4 + LENGTH};
    uint8_t *at = put(q.bytes, LENGTH, 4);

    layout_random(&session, sizeof session);
    at = put(at, 0, 4); /* protocol */
    at = put(at, zxid, 8);
    at = put(at, 0, 4);                /* timeout */
    at = put(at, session >> 8 | 1, 8); /* 56 random bits */
    put(at, PASSWORD, 4);              /* all zero, and no wish to be read-only */
    return q;
}

/* Its length, with or without a last byte, and the protocol. */
static bool is_welcome(const struct probe *p)
{
    static const char with[] = {0, 0, 0, 37, 0, 0, 0, 0}, without[] = {0, 0, 0, 36, 0, 0, 0, 0};

    return p->length >= 4 + 36 && (memcmp(p->answer, with, sizeof with) == 0 ||
                                   memcmp(p->answer, without, sizeof without) == 0);
}

/* The server read the greeting and closed the connection without a word. */
static bool is_refused(const struct probe *p)
{
    return p->asked && p->fd < 0 && p->length == 0;
}

/* A server that begins or ceases to serve, or takes no more connections from this address, closes
 * some of them without a word, too: so it is to welcome one before and one behind. */
enum rollback_evidence probe_zxid(const char *hosts, uint64_t seen)
{
    const struct question greetings[] = {greeting(0), greeting(seen), greeting(0)};
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = ask_all(list, greetings, G_N_ELEMENTS(greetings));
    bool taken = false, refused = false;

    for (guint i = 0; i < probes->len; i += G_N_ELEMENTS(greetings)) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        bool serves = is_welcome(&p[0]) && is_welcome(&p[2]);
        refused |= serves && is_refused(&p[1]);
        taken |= serves && !is_refused(&p[1]);
    }
    free_all(probes);
    g_strfreev(list);
    return taken ? ROLLBACK_SERVES : refused ? ROLLBACK_REFUSES : ROLLBACK_NONE;
}
