#include "path.h"

#include <glib.h>
#include <string.h>

#include "error.h"

#define DEFAULT_PORT "2181"
#define SYSTEM_PATH "/zookeeper"

/* Refuses what a server refuses, too. A server sees a character beyond U+FFFF as two surrogates, so
 * it refuses all of these. */
const char *path_check_characters(const char *text)
{
    if (!g_utf8_validate(text, -1, NULL))
        return "it is not UTF-8";
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0)
            return "it has a character that ZooKeeper refuses";
    }
    return NULL;
}

static bool is_dots(const char *part, size_t length)
{
    return (length == 1 && part[0] == '.') || (length == 2 && memcmp(part, "..", 2) == 0);
}

const char *path_check(const char *path)
{
    if (!path)
        return "it is NULL";
    if (!*path)
        return "it is empty";
    if (*path != '/')
        return "it must begin with a slash";
    if (!path[1])
        return "the root cannot hold contenders";
    if (strnlen(path, PATH_LENGTH_MAX + 1) > PATH_LENGTH_MAX)
        return "it is longer than 8192 bytes";
    for (const char *part = path + 1;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0)
            return part[0] ? "it has an empty part (//)" : "it must not end with a slash";
        if (is_dots(part, length))
            return "it has a part that is . or ..";
        part += length;
        if (!*part)
            break;
    }
    return path_check_characters(path);
}

/* Returns what is wrong with a path as the servers have it, without a chroot; NULL: nothing. */
static const char *check_whole(const char *path)
{
    const char *wrong = path_check(path);

    return !wrong && path_is_within(path, SYSTEM_PATH) ? "/zookeeper is the servers' own" : wrong;
}

int path_error(const char *chroot, const char *path)
{
    const char *wrong = *chroot ? path_check(path) : check_whole(path);

    if (!wrong)
        return 0;
    return error_set(ZKL_EINVAL, path, "path \"%.100s\": %s", path ? path : "", wrong);
}

/* Whether part is an IPv6 address without brackets. The end of such an address may be a group or a
 * port. */
static bool is_bare_ipv6(const char *part)
{
    char *host = g_strndup(part, (gsize)(strrchr(part, ':') - part));
    const bool is =
        g_hostname_is_ip_address(part) || (strchr(host, ':') && g_hostname_is_ip_address(host));

    g_free(host);
    return is;
}

/* Appends host:port for one "host", "host:port", "[v6]" or "[v6]:port". Returns what is wrong;
 * NULL: nothing. libzookeeper takes what follows the last colon for the port, and wants no
 * brackets. */
static const char *append_host(GString *to, const char *part)
{
    const char *port = DEFAULT_PORT, *end = part + strlen(part);
    guint64 number;

    if (*part == '[') {
        const char *close = strchr(part, ']');
        if (!close || (close[1] && close[1] != ':'))
            return "a bracket is not closed";
        if (close[1])
            port = close + 2;
        part++;
        end = close;
    } else if (strchr(part, ':')) {
        if (is_bare_ipv6(part))
            return "an IPv6 address needs brackets, as in [::1]:2181";
        end = strchr(part, ':');
        port = end + 1;
    }
    if (end == part)
        return "a host name is empty";
    for (const char *at = part; at < end; at++) {
        if (!g_ascii_isgraph(*at))
            return "a host name has an invalid character";
    }
    if (!g_ascii_string_to_unsigned(port, 10, 1, 65535, &number, NULL))
        return "a port is not a number from 1 to 65535";
    if (to->len)
        g_string_append_c(to, ',');
    g_string_append_len(to, part, end - part);
    g_string_append_printf(to, ":%s", port);
    return NULL;
}

uint32_t path_count_above(const char *path)
{
    uint32_t count = 0;

    while ((path = strchr(path + 1, '/')))
        count++;
    return count;
}

char *path_above(const char *path, uint32_t i)
{
    const char *at = path;

    do
        at = strchr(at + 1, '/');
    while (at && i-- > 0);
    return at ? g_strndup(path, (gsize)(at - path)) : g_strdup(path);
}

bool path_is_within(const char *path, const char *root)
{
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Refuses a comma, although it is legal in a path. After the first slash it stands mostly where
 * each server was given its chroot, and hosts that write the list otherwise would take other
 * locks. */
static const char *check_chroot(const char *chroot)
{
    return strchr(chroot, ',') ? "the chroot is written once, after the last server, as in "
                                 "\"host1,host2/chroot\", and has no comma"
                               : check_whole(chroot);
}

const char *path_split_connect(const char *connect, char **ret_hosts, char **ret_chroot)
{
    const char *slash, *wrong = NULL;
    GString *to;
    char *hosts, **parts;

    if (!connect || !*connect)
        return "it is empty";
    slash = strchr(connect, '/');
    if (slash && slash[1])
        wrong = check_chroot(slash);
    if (wrong)
        return wrong;
    to = g_string_new(NULL);
    hosts = g_strndup(connect, slash ? (gsize)(slash - connect) : strlen(connect));
    parts = g_strsplit(hosts, ",", -1);
    if (!*parts)
        wrong = "it names no host";
    for (char **part = parts; *part && !wrong; part++)
        wrong = append_host(to, g_strstrip(*part));
    g_strfreev(parts);
    g_free(hosts);
    if (wrong) {
        g_string_free(to, TRUE);
        return wrong;
    }
    *ret_hosts = g_string_free(to, FALSE);
    *ret_chroot = g_strdup(slash && slash[1] ? slash : "");
    return NULL;
}

char *path_show_hosts(const char *hosts)
{
    char **parts = g_strsplit(hosts, ",", -1);
    GString *shown = g_string_new(NULL);

    for (char **part = parts; *part; part++) {
        const char *port = strrchr(*part, ':');
        const bool ipv6 = strchr(*part, ':') != port;
        g_string_append_printf(shown, "%s%s%.*s%s%s", shown->len ? "," : "", ipv6 ? "[" : "",
                               (int)(port - *part), *part, ipv6 ? "]" : "", port);
    }
    g_strfreev(parts);
    return g_string_free(shown, FALSE);
}

char *path_full(const char *chroot, const char *path)
{
    char *full = g_strconcat(chroot, path, NULL), *shared = g_ref_string_new(full);

    g_free(full);
    return shared;
}
