#include "probe.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/layout.h"
#include "lib/base/path.h"
#include "probe_ask.h"

/* ---- does it speak TLS as it should? ---- */

static struct tls *of(const struct probe_tls *tls)
{
    return tls ? tls->tls : NULL;
}

static void explain(struct probe_tls *tls, const GArray *probes, char *const *hosts)
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

/* Where no server does, libzookeeper's handshake may wait for ever. An answer is needed: by TLS 1.3
 * a server looks at our certificate when we think that all is done. */
static bool does_any_answer(const GArray *probes)
{
    bool any = false;

    for (guint i = 0; i < probes->len; i++)
        any |= g_array_index(probes, struct probe, i).length > 0;
    return any;
}

/* ---- is that a ZooKeeper? ---- */

bool probe_is_zookeeper(const char *answer)
{
    return strstr(answer, " version: ") || strstr(answer, "srvr is not executed") ||
           strstr(answer, "This ZooKeeper instance");
}

static bool is_answered(const struct probe *p)
{
    return p->length > 0 && probe_is_zookeeper(p->answer);
}

static bool is_silent(const struct probe *p)
{
    return p->fd >= 0 && p->length == 0;
}

static bool is_foreign(const struct probe *p)
{
    return (p->length > 0 && !probe_is_zookeeper(p->answer)) || tls_name_is_wrong(p->tls);
}

/* ---- why does it not serve? ---- */

/* TLS 1.2 at most, with ciphers that servers had for long: some answer, if only that it will not
 * do. The random number need not be one. */
static const struct question hello = {
    52, {22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 3, [43] = 0, 0, 4, 0xc0, 0x2f, 0, 0x9c, 1, 0}};

/* A record of a handshake, or an alert. */
static bool is_tls(const struct probe *p)
{
    return p->length >= 2 && (p->answer[0] == 22 || p->answer[0] == 21) && p->answer[1] == 3;
}

static enum store_trouble of_errno(int error)
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

/* What it says to "srvr". */
static enum store_trouble of_probe(const struct probe *p)
{
    if (is_tls(p))
        return TROUBLE_TLS;
    if (p->length > 0 && !probe_is_zookeeper(p->answer))
        return TROUBLE_FOREIGN;
    if (p->length > 0)
        return strstr(p->answer, "not currently serving") ? TROUBLE_NOT_SERVING : TROUBLE_NONE;
    if (p->error != 0)
        return of_errno(p->error);
    return p->fd >= 0 ? TROUBLE_SILENT : TROUBLE_HANGS_UP;
}

enum store_trouble probe_own_trouble(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const enum store_trouble trouble = fd < 0 ? of_errno(errno) : TROUBLE_UNKNOWN;

    if (fd >= 0)
        close(fd);
    return trouble;
}

static enum store_trouble worst(const GArray *probes)
{
    enum store_trouble trouble = probe_own_trouble();

    for (guint i = 0; i < probes->len; i++)
        trouble = MAX(trouble, of_probe(&g_array_index(probes, struct probe, i)));
    return trouble;
}

static const struct question srvr = {4, "srvr"};

static void append_good(GString *good, const GArray *probes, struct probe_found *ret)
{
    for (guint i = 0; i < probes->len; i++)
        ret->answered |= is_answered(&g_array_index(probes, struct probe, i));
    for (guint i = 0; i < probes->len; i++) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        if (is_foreign(p))
            ret->foreign = true;
        else if (ret->answered && is_silent(p))
            ret->silent = true;
        else
            names_append(good, &p->address);
    }
}

char *probe_hosts(const char *hosts, struct probe_tls *tls, struct probe_found *ret)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, of(tls), is_answered);
    GString *good = g_string_new(NULL);

    *ret = (struct probe_found){.trouble = worst(probes), .named = probes->len > 0};
    explain(tls, probes, list);
    if (!tls || does_any_answer(probes))
        append_good(good, probes, ret);
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
        if (is_answered(p))
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
    GArray *probes = probe_ask_all(list, &srvr, 1, of(tls), NULL);
    enum store_trouble trouble = worst(probes);

    explain(tls, probes, list);
    probe_free_all(probes);
    if (!tls && (trouble == TROUBLE_SILENT || trouble == TROUBLE_HANGS_UP)) {
        probes = probe_ask_all(list, &hello, 1, NULL, NULL);
        for (guint i = 0; i < probes->len; i++)
            if (is_tls(&g_array_index(probes, struct probe, i)))
                trouble = TROUBLE_TLS;
        probe_free_all(probes);
    }
    g_strfreev(list);
    return trouble;
}

static bool does_serve(const struct probe *p)
{
    return of_probe(p) == TROUBLE_NONE;
}

bool probe_serves(const char *hosts, struct probe_tls *tls)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, &srvr, 1, of(tls), does_serve);
    const bool serves = worst(probes) == TROUBLE_NONE;

    probe_free_all(probes);
    g_strfreev(list);
    return serves;
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
enum rollback_evidence probe_zxid(const char *hosts, uint64_t seen, struct probe_tls *tls)
{
    const struct question greetings[] = {greeting(0), greeting(seen), greeting(0)};
    char **list = g_strsplit(hosts, ",", -1);
    GArray *probes = probe_ask_all(list, greetings, G_N_ELEMENTS(greetings), of(tls), NULL);
    bool taken = false, refused = false;

    for (guint i = 0; i < probes->len; i += G_N_ELEMENTS(greetings)) {
        const struct probe *p = &g_array_index(probes, struct probe, i);
        bool serves = is_welcome(&p[0]) && is_welcome(&p[2]);
        refused |= serves && is_refused(&p[1]);
        taken |= serves && !is_refused(&p[1]);
    }
    probe_free_all(probes);
    g_strfreev(list);
    return taken ? ROLLBACK_SERVES : refused ? ROLLBACK_REFUSES : ROLLBACK_NONE;
}
