/* Paths and connect strings. The input is one text, taken as either. */
#include "targets.h"

#include "input.h"
#include "lib/base/path.h"
#include "runner.h"
#include "text.h"

static bool is_refused(int32_t c)
{
    return c == TEXT_INVALID || text_is_control(c) || (c >= 0xd800 && c <= 0xf8ff) ||
           (c >= 0xfff0 && c <= 0xffff);
}

/* Whether every part is a name, and the server takes every character. */
static bool is_path(const char *path)
{
    size_t length = strlen(path), bytes;
    bool good = path[0] == '/' && path[1] && length <= PATH_LENGTH_MAX;
    char **parts = g_strsplit(path, "/", -1);

    for (char **part = parts; good && *part && *++part;)
        good = **part && strcmp(*part, ".") != 0 && strcmp(*part, "..") != 0;
    g_strfreev(parts);
    for (size_t i = 0; good && i < length; i += bytes)
        good = !is_refused(text_character(path + i, length - i, &bytes));
    return good;
}

/* "host:port", the port being what follows the last colon, as libzookeeper reads it. */
static void check_host(const char *host)
{
    const char *colon = strrchr(host, ':');
    guint64 port;

    if (!CHECK(colon && colon > host))
        return;
    CHECK(g_ascii_string_to_unsigned(colon + 1, 10, 1, 65535, &port, NULL));
    for (const char *at = host; at < colon; at++)
        CHECK(*at > ' ' && *at < 0x7f && *at != ',' && *at != '/');
}

/* Written anew with brackets, and read again, it is the same. */
static void check_again(char **hosts, const char *joined, const char *chroot)
{
    GString *text = g_string_new(NULL);
    char *hosts_again = NULL, *chroot_again = NULL;

    for (char **host = hosts; *host; host++) {
        const char *colon = strrchr(*host, ':');
        g_string_append_printf(text, "%s[%.*s]%s", text->len ? " ,\t" : "", (int)(colon - *host),
                               *host, colon);
    }
    g_string_append(text, chroot);
    /* In brackets, a bracket would end the name. */
    if (strchr(joined, ']') == NULL &&
        CHECK_STR(path_split_connect(text->str, &hosts_again, &chroot_again), NULL)) {
        CHECK_STR(hosts_again, joined);
        CHECK_STR(chroot_again, chroot);
    }
    g_free(hosts_again);
    g_free(chroot_again);
    g_string_free(text, TRUE);
}

static void check_connect(const char *text)
{
    char *hosts = NULL, *chroot = NULL;
    const char *slash = strchr(text, '/');
    const char *wrong = path_split_connect(text, &hosts, &chroot);

    if (wrong) {
        CHECK(*wrong && !hosts && !chroot);
        return;
    }
    char **list = g_strsplit(hosts, ",", -1), **given = g_strsplit(text, ",", -1);
    CHECK_STR(chroot, slash && slash[1] ? slash : "");
    CHECK(!*chroot || is_path(chroot));
    CHECK(*hosts);
    if (!slash)
        CHECK_INT(g_strv_length(list), g_strv_length(given));
    for (char **host = list; *host; host++)
        check_host(*host);
    check_again(list, hosts, chroot);
    g_strfreev(given);
    g_strfreev(list);
    g_free(hosts);
    g_free(chroot);
}

void fuzz_paths(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    char *text = input_until(&in, '\0', NULL);

    CHECK_INT(path_check(text) == NULL, is_path(text));
    check_connect(text);
    g_free(text);
}
