/* Targets whose input is one text. */
#include "input.h"
#include "lib/base/acl.h"
#include "lib/base/path.h"
#include "lib/store/probe.h"
#include "runner.h"
#include "targets.h"
#include "text.h"
#include "tools/duration.h"

/* ---- ACLs, against a regular expression ---- */

static bool acl_oracle(const char *entry)
{
    static GRegex *regex;

    if (!regex)
        regex = g_regex_new("\\A[^:]+:.*:[rwcda]+\\z", G_REGEX_RAW | G_REGEX_DOTALL, 0, NULL);
    return g_regex_match(regex, entry, 0, NULL);
}

static void append_entry(GString *to, const struct acl_entry *entry)
{
    static const char letters[] = "rwcda";

    g_string_append_printf(to, "%s%s:%s:", to->len ? "," : "", entry->scheme, entry->id);
    for (int i = 0; i < 5; i++)
        if (entry->perms & 1 << i)
            g_string_append_c(to, letters[i]);
}

static GString *format(const GArray *list)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < list->len; i++)
        append_entry(text, &g_array_index(list, struct acl_entry, i));
    return text;
}

/* Each letter of the permissions once, in the order of the bits. */
static void append_sorted(GString *to, const char *entry)
{
    const char *perms = strrchr(entry, ':') + 1;

    if (to->len)
        g_string_append_c(to, ',');
    g_string_append_len(to, entry, perms - entry);
    for (const char *letter = "rwcda"; *letter; letter++)
        if (strchr(perms, *letter))
            g_string_append_c(to, *letter);
}

void fuzz_acl(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    char *text = input_until(&in, '\0', NULL);
    char **entries = g_strsplit(text, ",", -1);
    GString *expected = g_string_new(NULL);
    bool good = *text != '\0';

    for (char **entry = entries; *entry && good; entry++) {
        good = acl_oracle(*entry);
        if (good)
            append_sorted(expected, *entry);
    }
    GArray *list = acl_parse(text);
    CHECK_INT(list != NULL, good);
    if (list) {
        GString *again = format(list);
        CHECK_STR(again->str, expected->str);
        g_string_free(again, TRUE);
        g_array_unref(list);
    }
    g_string_free(expected, TRUE);
    g_strfreev(entries);
    g_free(text);
}

/* ---- times of a command line ---- */

/* Behind text is end; its time, -1: it is none. */
static int64_t with(const char *text, const char *end)
{
    char *whole = g_strconcat(text, end, NULL);
    int64_t ms = -1;

    if (!duration_parse(whole, &ms))
        CHECK_INT(ms, -1);
    g_free(whole);
    return ms;
}

/* That is a number: bare, it counts seconds. */
static void check_number(const char *text)
{
    const int64_t s = with(text, "s"), ms = with(text, "ms");

    CHECK_INT(with(text, ""), s);
    if (ms >= 0 && s >= 0)
        CHECK_INT(s, ms * 1000);
    if (ms >= 0 && with(text, "h") >= 0)
        CHECK_INT(with(text, "h"), with(text, "m") * 60);
}

void fuzz_durations(const uint8_t *data, size_t size)
{
    static const char number[] = "+-.0123456789eE";
    struct input in = {data, size};
    char *text = input_until(&in, '\0', NULL);
    const size_t digits = strspn(text, number);
    const char *unit = text + digits;
    const int64_t ms = with(text, "");
    const bool known = !*unit || strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 ||
                       strcmp(unit, "m") == 0 || strcmp(unit, "h") == 0;

    CHECK(ms <= INT64_C(320000000000));
    CHECK(ms < 0 || (known && digits > 0));
    CHECK(ms < 0 || strpbrk(text, "0123456789"));
    if (!*unit)
        check_number(text);
    g_free(text);
}

/* ---- paths and connect strings: the text is taken as either ---- */

static bool is_refused(int32_t c)
{
    return c == TEXT_INVALID || text_is_control(c) || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
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

/* ---- what answers a four-letter word: judged as the first bytes of it say ---- */

enum { HEARD_MAX = 96 };

static bool holds(const uint8_t *data, size_t size, const char *words)
{
    return size >= strlen(words) && memmem(data, size, words, strlen(words));
}

/* A server's own words are known behind anything that is no NUL; a prefix of them is not enough. */
static void check_words(const char *words)
{
    for (size_t n = 0; n <= strlen(words); n++) {
        char *answer = g_strndup(words, n);
        CHECK_INT(probe_is_zookeeper(answer), n == strlen(words));
        g_free(answer);
    }
}

void fuzz_probe(const uint8_t *data, size_t size)
{
    size_t heard = MIN(size, HEARD_MAX);
    const uint8_t *nul = heard ? memchr(data, 0, heard) : NULL;
    size_t length = nul ? (size_t)(nul - data) : heard;
    char *answer = g_strndup(length ? (const char *)data : "", length);
    bool expected = holds(data, length, " version: ") ||
                    holds(data, length, "srvr is not executed") ||
                    holds(data, length, "This ZooKeeper instance");

    CHECK_INT(probe_is_zookeeper(answer), expected);
    check_words(" version: ");
    check_words("srvr is not executed");
    check_words("This ZooKeeper instance");
    g_free(answer);
}
