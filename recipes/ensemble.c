#include "ensemble.h"

#include <string.h>

enum { HOST_MAX = 255, PORT_MAX = 65535, PORT_DIGITS = 5 };

/* A part of a text: from at up to end, without *end. */
struct text {
    const char *at, *end;
};

static int text_length(struct text t)
{
    return (int)(t.end - t.at);
}

static bool reads_as(struct text t, const char *word)
{
    return strlen(word) == (size_t)text_length(t) && memcmp(t.at, word, strlen(word)) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct text strip_blanks(struct text t)
{
    while (t.at < t.end && is_blank(*t.at))
        t.at++;
    while (t.at < t.end && is_blank(t.end[-1]))
        t.end--;
    return t;
}

/* Returns what is before the first mark, or all; *t is left with what is after it. */
static struct text cut_first(struct text *t, char mark)
{
    const char *found = memchr(t->at, mark, (size_t)text_length(*t));
    const struct text first = {t->at, found ? found : t->end};

    t->at = found ? found + 1 : t->end;
    return first;
}

/* Returns what is after the last colon, or all; *t is left with what is before it. */
static struct text cut_last(struct text *t)
{
    struct text last = *t;

    for (last.at = t->end; last.at > t->at && last.at[-1] != ':';)
        last.at--;
    t->end = last.at > t->at ? last.at - 1 : t->at;
    return last;
}

static bool is_port_number(struct text t)
{
    long value = 0;

    for (const char *c = t.at; c < t.end; c++) {
        if (*c < '0' || *c > '9')
            return false;
        value = value <= PORT_MAX ? value * 10 + (*c - '0') : value;
    }
    return value > 0 && value <= PORT_MAX && text_length(t) <= PORT_DIGITS;
}

static struct text unbracket(struct text t)
{
    if (text_length(t) >= 2 && *t.at == '[' && t.end[-1] == ']')
        return (struct text){t.at + 1, t.end - 1};
    return t;
}

/* Whether host is 0.0.0.0 or :: in any way to write them, or nothing at all. */
static bool is_wildcard(struct text host)
{
    while (host.at < host.end && (*host.at == '0' || *host.at == '.' || *host.at == ':'))
        host.at++;
    return host.at == host.end;
}

static bool is_host(struct text host)
{
    static const char others[] = ".-_:";

    for (const char *c = host.at; c < host.end; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9') && !memchr(others, *c, sizeof others - 1))
            return false;
    }
    return text_length(host) <= HOST_MAX && !is_wildcard(host);
}

struct reading {
    struct ensemble_member *ret;
    size_t count;
};

static void add_address(struct reading *r, struct text host, struct text port, bool votes)
{
    if (r->count < ENSEMBLE_MAX && is_host(host))
        r->ret[r->count++] =
            (struct ensemble_member){host.at, port.at, text_length(host), text_length(port), votes};
}

/* Adds the addresses for clients of one server. servers is HOST:PORT:PORT[|…], without the role;
 * client is [HOST:]PORT. */
static void add_server(struct reading *r, struct text servers, struct text client, bool votes)
{
    const struct text port = cut_last(&client), host = unbracket(client);

    if (!is_port_number(port))
        return;
    if (!is_wildcard(host)) {
        add_address(r, host, port, votes);
        return;
    }
    while (servers.at < servers.end) {
        struct text server = cut_first(&servers, '|');
        const bool election = is_port_number(cut_last(&server)),
                   quorum = is_port_number(cut_last(&server));
        if (election && quorum)
            add_address(r, unbracket(server), port, votes);
    }
}

struct server_line {
    struct text number, servers; /* HOST:PORT:PORT[|…] */
    struct text client;          /* [HOST:]PORT, or nothing */
    bool observes;
};

/* Reads a line. Returns false if it is not about a server. */
static bool read_server(struct text line, struct server_line *ret)
{
    const struct text key = strip_blanks(cut_first(&line, '='));
    struct text value = strip_blanks(line);

    if (text_length(key) < 8 || memcmp(key.at, "server.", 7) != 0)
        return false;
    *ret = (struct server_line){.number = {key.at + 7, key.end}, .servers = cut_first(&value, ';')};
    ret->client = cut_first(&value, ';'); /* more may follow */
    struct text rest = ret->servers, role = cut_last(&rest);
    ret->observes = reads_as(role, "observer");
    if (ret->observes || reads_as(role, "participant"))
        ret->servers = rest;
    return true;
}

size_t ensemble_read(const char *config, size_t size, struct ensemble_member *ret)
{
    struct reading r = {ret, 0};
    struct text all = {config, config + size};
    struct server_line line;

    while (all.at < all.end) {
        if (read_server(cut_first(&all, '\n'), &line))
            add_server(&r, line.servers, line.client, !line.observes);
    }
    return r.count;
}

static int last_byte(struct text number)
{
    unsigned value = 0;

    for (const char *c = number.at; c < number.end; c++)
        value = value * 10 + (unsigned)(*c - '0');
    return value & 0xff;
}

bool ensemble_observes(const char *config, size_t size, int server)
{
    struct text all = {config, config + size};
    struct server_line line;
    bool found = false;

    while (all.at < all.end && !found)
        found = read_server(cut_first(&all, '\n'), &line) && line.observes &&
                (server == ENSEMBLE_ANY || last_byte(line.number) == server);
    return found;
}

static bool list_has(const char *list, const char *address)
{
    struct text all = {list, list + strlen(list)};
    bool found = false;

    while (all.at < all.end && !found)
        found = reads_as(cut_first(&all, ','), address);
    return found;
}

bool ensemble_knows(const char *members, const char *server)
{
    return list_has(members, server);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "::1:", 4) == 0;
}

/* Leaves out an address of loopback that another machine names. It would lead to our own machine,
 * where another ensemble may serve. */
enum ensemble_use ensemble_uses(const char *address, const char *own, const char *added,
                                const char *server, bool known)
{
    if (list_has(own, address) || (is_loopback(address) && !is_loopback(server)))
        return ENSEMBLE_LEFT;
    if (list_has(added, address))
        return ENSEMBLE_KEPT;
    return known ? ENSEMBLE_ASKED : ENSEMBLE_LEFT;
}
