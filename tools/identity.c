#include "identity.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The library takes no longer name. */
#define NAME_MAX_BYTES 1024

/* Columns of a name in a sentence. */
#define NAME_COLUMNS 32

/* "HOST pid N", and what is behind it; false: text begins with something else. */
static bool read_process(const char *text, struct identity *ret, const char **ret_end)
{
    const size_t length = strcspn(text, " ");
    unsigned long long pid;
    int end = 0;

    if (length == 0 || sscanf(text + length, " pid %18llu%n", &pid, &end) != 1 || pid == 0)
        return false;
    ret->host = text;
    ret->host_length = length;
    ret->pid = (int64_t)pid;
    *ret_end = text + length + end;
    return true;
}

static bool is_thread(const char *text)
{
    unsigned long long thread;
    int end = 0;

    return !*text ||
           (sscanf(text, " thread %20llu%n", &thread, &end) == 1 && text[(size_t)end] == '\0');
}

/* Behind a name. */
static bool read_named(const char *text, struct identity *ret)
{
    const char *open = g_strrstr(text, " ("), *end;

    if (!open || open == text || !read_process(open + 2, ret, &end) || strcmp(end, ")") != 0)
        return false;
    ret->name_length = (size_t)(open - text);
    return true;
}

/* A thread is no name of anybody's; without one only our own nodes are believed. */
struct identity identity_of(const zkl_contender *c)
{
    const struct identity plain = {.name = c->owner, .name_length = strlen(c->owner)};
    const bool ours = c->client == ZKL_CLIENT_ZKL;
    struct identity i = plain;
    const char *end;

    if (read_process(c->owner, &i, &end) && is_thread(end) && (ours || *end))
        return i;
    i = plain;
    return ours && read_named(c->owner, &i) ? i : plain;
}

char *identity_text(const char *name)
{
    g_autofree char *text =
        name ? g_strdup_printf("%s (%s pid %d)", name, g_get_host_name(), (int)getpid()) : NULL;

    return text && strlen(text) > NAME_MAX_BYTES ? g_strdup(name) : g_steal_pointer(&text);
}

int64_t identity_age_ms(const zkl_contender *c)
{
    const int64_t age = g_get_real_time() / 1000 - c->ctime_ms;

    return age > 0 ? age : 0;
}

static void identity_append_time(GString *out, int64_t ms)
{
    const int64_t s = ms / 1000;

    if (s < 60)
        g_string_append_printf(out, "%" PRId64 " s", s);
    else if (s < 3600)
        g_string_append_printf(out, "%" PRId64 " min", s / 60);
    else if (s < 48 * 3600)
        g_string_append_printf(out, "%" PRId64 " h", s / 3600);
    else
        g_string_append_printf(out, "%" PRId64 " days", s / 86400);
}

static void append_name(GString *out, const char *text, size_t length)
{
    g_autofree char *part = g_strndup(text, length);
    g_autoptr(GString) visible = g_string_new(NULL);

    append_visible(visible, part);
    append_fitting(out, visible->str, NAME_COLUMNS);
}

char *identity_sentence(const zkl_contender *c)
{
    const struct identity i = identity_of(c);
    GString *text = g_string_new(NULL);
    const bool named = i.host && i.name_length < strlen(c->owner);

    if (named || (!i.host && i.name_length > 0))
        append_name(text, i.name, i.name_length);
    else if (!i.host)
        g_string_append(text, "somebody");
    if (named)
        g_string_append(text, " on ");
    if (i.host)
        append_name(text, i.host, i.host_length);
    g_string_append(text, " (");
    if (i.pid > 0)
        g_string_append_printf(text, "pid %" PRId64 ", ", i.pid);
    g_string_append(text, "for ");
    identity_append_time(text, identity_age_ms(c));
    g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}
