#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/layout.h"
#include "lib/base/path.h"
#include "names.h"

/* PATIENCE_MS: how long servers have to answer; longer with TLS, since the first handshake of a
 * server's Java takes its time. OTHERS_MS: see probe_ask_all(). */
enum {
    PATIENCE_MS = 300,
    TLS_PATIENCE_MS = 2000,
    OTHERS_MS = 50,
    ANSWER_MAX = 96,
    QUESTION_MAX = 64
};

/* ---- questions, put on connections of our own, all at once, and the answers ---- */

struct question {
    size_t length;
    uint8_t bytes[QUESTION_MAX];
};

/* A connection for one question; a host may have several addresses. */
struct probe {
    guint host; /* its place in the list */
    struct address address;
    const struct question *question;
    int fd;                 /* -1: the server has closed it, or said enough */
    short events;           /* to wait for */
    struct tls_stream *tls; /* NULL: none */
    bool ready;             /* the question may be sent */
    size_t sent;            /* how much of the question the kernel has taken */
    int error;              /* the errno of a failure; 0: there was none */
    char answer[ANSWER_MAX + 1];
    size_t length;
};

static void probe_end(struct probe *p)
{
    close(p->fd);
    p->fd = -1; /* poll() passes it over */
}

static struct probe probe_begin(const char *host, guint number, const struct question *question,
                                const struct address *address, struct tls *tls)
{
    const struct sockaddr *to = (const struct sockaddr *)&address->bytes;
    struct probe p = {.host = number, .address = *address, .question = question, .ready = !tls};

    p.fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p.fd < 0) {
        p.error = errno;
    } else if (connect(p.fd, to, address->length) != 0 && errno != EINPROGRESS) {
        p.error = errno;
        probe_end(&p);
    }
    p.events = tls ? POLLOUT : POLLIN | POLLOUT;
    if (tls && p.fd >= 0)
        p.tls = tls_stream_new(tls, p.fd, host);
    return p;
}

static void probe_open_host(GArray *probes, guint number, const char *host_port,
                            const struct question *questions, guint count, struct tls *tls)
{
    const char *colon = strrchr(host_port, ':');
    char *host = g_strndup(host_port, (gsize)(colon - host_port));
    GArray *addresses = names_find(host_port);

    for (guint a = 0; a < addresses->len; a++) {
        for (guint i = 0; i < count; i++) {
            const struct probe p = probe_begin(host, number, &questions[i],
                                               &g_array_index(addresses, struct address, a), tls);
            g_array_append_val(probes, p);
        }
    }
    g_array_unref(addresses);
    g_free(host);
}

static bool probe_has_asked(const struct probe *p)
{
    return p->sent == p->question->length;
}

static void probe_ask(struct probe *p)
{
    const struct question *q = p->question;
    const uint8_t *rest = q->bytes + p->sent;
    const size_t length = q->length - p->sent;
    const ssize_t n =
        p->tls ? tls_send(p->tls, rest, length) : send(p->fd, rest, length, MSG_NOSIGNAL);

    if (n < 0) {
        p->error = errno;
        probe_end(p);
        return;
    }
    p->sent += (size_t)n;
    p->events = probe_has_asked(p) ? POLLIN : POLLIN | POLLOUT;
}

static void probe_receive(struct probe *p)
{
    char *to = p->answer + p->length;
    const size_t room = ANSWER_MAX - p->length;
    const ssize_t n = p->tls ? tls_receive(p->tls, to, room) : recv(p->fd, to, room, 0);

    if (n < 0 && p->tls && errno == EAGAIN)
        return; /* that was only a part of a TLS record */
    if (n > 0)
        p->length += (size_t)n;
    if (n < 0)
        p->error = errno;
    if (n <= 0 || p->length == ANSWER_MAX)
        probe_end(p);
}

/* Takes the next step that is possible, by the events that poll() has found. */
static void probe_go_on(struct probe *p, short events)
{
    if (p->ready) {
        if (!probe_has_asked(p) && (events & POLLOUT))
            probe_ask(p);
        else if (events & (POLLIN | POLLERR | POLLHUP))
            probe_receive(p);
        return;
    }
    switch (tls_shake_hands(p->tls)) {
    case TLS_READS:
        p->events = POLLIN;
        break;
    case TLS_WRITES:
        p->events = POLLOUT;
        break;
    case TLS_READY:
        p->ready = true;
        probe_ask(p);
        break;
    case TLS_FAILED:
        p->error = errno;
        probe_end(p);
        break;
    }
}

/* Waits for all probes that are open, and lets those that are ready go on. Returns whether any was
 * open. */
static bool probe_poll_once(GArray *probes, int timeout_ms)
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
                probe_go_on(&g_array_index(probes, struct probe, i), fds[i].revents);
        }
    }
    g_free(fds);
    return open;
}

/* Puts each question to each address of each host. Returns an array of struct probe, in that order.
 * tls may be NULL. Blocks for name resolution, and then for a short time limit. As soon as enough()
 * is true of one probe, the others have only as long again, and OTHERS_MS more. enough NULL: the
 * time limit is for all. */
static GArray *probe_ask_all(char *const *hosts, const struct question *questions, guint count,
                             struct tls *tls, bool (*enough)(const struct probe *))
{
    const int64_t patience_ms = tls ? TLS_PATIENCE_MS : PATIENCE_MS;
    GArray *probes = g_array_new(FALSE, FALSE, sizeof(struct probe));

    for (guint i = 0; hosts[i]; i++)
        probe_open_host(probes, i, hosts[i], questions, count, tls);
    struct instant end_at = instant_add(clock_now(), patience_ms * CLOCK_MS);
    for (int64_t left; (left = instant_left(clock_now(), end_at)) > 0;) {
        bool found = false;
        if (!probe_poll_once(probes, (int)(left / CLOCK_MS) + 1))
            break;
        for (guint i = 0; enough && !found && i < probes->len; i++)
            found = enough(&g_array_index(probes, struct probe, i));
        if (found) {
            const struct instant now = clock_now();
            const int64_t took = patience_ms * CLOCK_MS - instant_left(now, end_at);
            end_at = instant_add(now, MIN(took + OTHERS_MS * CLOCK_MS, instant_left(now, end_at)));
            enough = NULL;
        }
    }
    return probes;
}

static void probe_free_all(GArray *probes)
{
    for (guint i = 0; i < probes->len; i++) {
        struct probe *p = &g_array_index(probes, struct probe, i);
        tls_stream_free(p->tls);
        if (p->fd >= 0)
            probe_end(p);
    }
    g_array_unref(probes);
}

/* ---- does it speak TLS as it should? ---- */

static struct tls *probe_tls_of(const struct probe_tls *tls)
{
    return tls ? tls->tls : NULL;
}

/* Sets tls->why from the first server that is no partner. */
static void probe_explain(struct probe_tls *tls, const GArray *probes, char *const *hosts)
{
    for (guint i = 0; tls && i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        if (!tls->why && tls_why(p->tls)) {
            char *shown = path_show_hosts(hosts[p->host]);
            tls->why = g_strdup_printf("%s: %s", shown, tls_why(p->tls));
            g_free(shown);
        }
    }
}

/* ---- is that a ZooKeeper? ---- */

bool probe_is_zookeeper(const char *answer)
{
    return strstr(answer, " version: ") || strstr(answer, "srvr is not executed") ||
           strstr(answer, "This ZooKeeper instance");
}

static bool probe_is_answered(const struct probe *p)
{
    return p->length > 0 && probe_is_zookeeper(p->answer);
}

/* ---- why does it not serve? ---- */

/* A hello of TLS 1.2 at most, with ciphers that servers have had for long: a server answers, even
 * if only with a refusal. The random number need not be random. */
static const struct question hello = {
    52, {22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 3, [43] = 0, 0, 4, 0xc0, 0x2f, 0, 0x9c, 1, 0}};

/* Whether the answer is TLS: a record of a handshake, or an alert. */
static bool probe_is_tls(const struct probe *p)
{
    return p->length >= 2 && (p->answer[0] == 22 || p->answer[0] == 21) && p->answer[1] == 3;
}

static enum store_trouble probe_of_errno(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
        return TROUBLE_DESCRIPTORS;
    case ENOMEM:
    case ENOBUFS:
        return TROUBLE_MEMORY;
    case ECONNREFUSED:
        return TROUBLE_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
        return TROUBLE_NO_ROUTE;
    case ECONNRESET:
    case EPIPE:
        return TROUBLE_HANGS_UP;
    default:
        return TROUBLE_UNKNOWN;
    }
}

/* Returns the trouble that a server shows, by its answer to "srvr" or by the want of one. */
static enum store_trouble probe_trouble_of(const struct probe *p)
{
    if (probe_is_tls(p))
        return TROUBLE_TLS;
    if (p->length > 0 && !probe_is_zookeeper(p->answer))
        return TROUBLE_FOREIGN;
    if (p->length > 0)
        return strstr(p->answer, "not currently serving") ? TROUBLE_NOT_SERVING : TROUBLE_NONE;
    if (p->error != 0)
        return probe_of_errno(p->error);
    return p->fd >= 0 ? TROUBLE_SILENT : TROUBLE_HANGS_UP;
}

enum store_trouble probe_own_trouble(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const enum store_trouble trouble = fd < 0 ? probe_of_errno(errno) : TROUBLE_UNKNOWN;

    if (fd >= 0)
        close(fd);
    return trouble;
}

/* Returns the trouble that comes last in the enum, of this process and all servers. */
static enum store_trouble probe_worst(const GArray *probes)
{
    enum store_trouble trouble = probe_own_trouble();

    for (guint i = 0; i < probes->len; i++)
        trouble = MAX(trouble, probe_trouble_of(&g_array_index(probes, struct probe, i)));
    return trouble;
}

static const struct question srvr = {4, "srvr"};

/* Appends the addresses that libzookeeper may have. */
static void probe_append_good(GString *good, const GArray *probes, struct probe_found *ret)
{
    for (guint i = 0; i < probes->len; i++)
        ret->answered |= probe_is_answered(&g_array_index(probes, struct probe, i));
    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        if ((p->length > 0 && !probe_is_zookeeper(p->answer)) || tls_name_is_wrong(p->tls))
            ret->foreign = true;
        else if (ret->answered && p->fd >= 0 && p->length == 0)
            ret->silent = true;
        else
            names_append(good, &p->address);
    }
}

char *probe_hosts(const char *hosts, struct probe_tls *tls, struct probe_found *ret)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, probe_tls_of(tls), probe_is_answered);
    GString *good = g_string_new(NULL);
    bool accepted = !tls;

    *ret = (struct probe_found){.trouble = probe_worst(probes), .named = probes->len > 0};
    probe_explain(tls, probes, list);
    /* With TLS 1.3 our handshake is over before a server looks at our certificate, so only an
     * answer shows that it was accepted. If it never is, libzookeeper's handshake may wait for
     * ever. */
    for (guint i = 0; i < probes->len; i++)
        accepted |= g_array_index(probes, struct probe, i).length > 0;
    if (accepted)
        probe_append_good(good, probes, ret);
    probe_free_all(probes);
    g_strfreev(list);
    bool any = good->len > 0;
    char *text = g_string_free(good, !any);
    return any ? text : NULL;
}

char *probe_answering(const char *hosts)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, NULL, NULL);
    GString *good = g_string_new(NULL);

    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        if (probe_is_answered(p))
            names_append(good, &p->address);
    }
    probe_free_all(probes);
    g_strfreev(list);
    const bool any = good->len > 0;
    char *text = g_string_free(good, !any);
    return any ? text : NULL;
}

enum store_trouble probe_trouble(const char *hosts, struct probe_tls *tls)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, probe_tls_of(tls), NULL);
    enum store_trouble trouble = probe_worst(probes);

    probe_explain(tls, probes, list);
    probe_free_all(probes);
    if (!tls && (trouble == TROUBLE_SILENT || trouble == TROUBLE_HANGS_UP)) {
        probes = probe_ask_all(list, &hello, 1, NULL, NULL);
        for (guint i = 0; i < probes->len; i++)
            if (probe_is_tls(&g_array_index(probes, struct probe, i)))
                trouble = TROUBLE_TLS;
        probe_free_all(probes);
    }
    g_strfreev(list);
    return trouble;
}

static bool probe_does_serve(const struct probe *p)
{
    return probe_trouble_of(p) == TROUBLE_NONE;
}

bool probe_serves(const char *hosts, struct probe_tls *tls)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, probe_tls_of(tls), probe_does_serve);
    const bool serves = probe_worst(probes) == TROUBLE_NONE;

    probe_free_all(probes);
    g_strfreev(list);
    return serves;
}

/* ---- does it let us in? ---- */

/* Writes the lowest bytes of value at at, the highest of them first. Returns what follows them. */
static uint8_t *probe_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        *at++ = (uint8_t)(value >> shift);
    return at;
}

/* Makes the greeting of a client that has seen zxid, and returns with a session that nobody has.
 * The server says that the session has expired: this is the one greeting that changes nothing. Each
 * greeting has another session, since a server closes an older connection of the same one. */
static struct question probe_greeting(uint64_t zxid)
{
    enum { PASSWORD = 16, LENGTH = 4 + 8 + 4 + 8 + 4 + PASSWORD + 1 };
    uint64_t session;
    struct question q = {.length = 4 + LENGTH};
    uint8_t *at = probe_put(q.bytes, LENGTH, 4);

    layout_random(&session, sizeof session);
    at = probe_put(at, 0, 4); /* protocol */
    at = probe_put(at, zxid, 8);
    at = probe_put(at, 0, 4);                /* timeout */
    at = probe_put(at, session >> 8 | 1, 8); /* 56 random bits */
    probe_put(at, PASSWORD, 4);              /* all zero, and no wish to be read-only */
    return q;
}

/* Whether the answer has a welcome's length, with or without a last byte, and the protocol. */
static bool probe_is_welcome(const struct probe *p)
{
    static const char with[] = {0, 0, 0, 37, 0, 0, 0, 0}, without[] = {0, 0, 0, 36, 0, 0, 0, 0};

    return p->length >= 4 + 36 && (memcmp(p->answer, with, sizeof with) == 0 ||
                                   memcmp(p->answer, without, sizeof without) == 0);
}

/* Whether the server closed the connection after the greeting, without a word. */
static bool probe_is_refused(const struct probe *p)
{
    return probe_has_asked(p) && p->fd < 0 && p->length == 0;
}

/* Greets each server three times. A server that begins or ceases to serve, or takes no more
 * connections from this address, closes some of them without a word, too. So the answer to the
 * greeting with seen counts only if the server welcomes the greeting before it and the one after
 * it. */
enum rollback_evidence probe_zxid(const char *hosts, uint64_t seen, struct probe_tls *tls)
{
    const struct question greetings[] = {probe_greeting(0), probe_greeting(seen),
                                         probe_greeting(0)};
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes =
        probe_ask_all(list, greetings, G_N_ELEMENTS(greetings), probe_tls_of(tls), NULL);
    bool taken = false, refused = false;

    for (guint i = 0; i < probes->len; i += G_N_ELEMENTS(greetings)) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        bool serves = probe_is_welcome(&p[0]) && probe_is_welcome(&p[2]);
        refused |= serves && probe_is_refused(&p[1]);
        taken |= serves && !probe_is_refused(&p[1]);
    }
    probe_free_all(probes);
    g_strfreev(list);
    return taken ? ROLLBACK_SERVES : refused ? ROLLBACK_REFUSES : ROLLBACK_NONE;
}
