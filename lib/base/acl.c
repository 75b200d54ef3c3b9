#include "acl.h"

#include <stdbool.h>
#include <string.h>

static void clear_entry(void *data)
{
    struct acl_entry *entry = data;

    g_free(entry->scheme);
    g_free(entry->id);
}

/* Returns ZooKeeper's bits for the letters of text; 0 if one is unknown or there is none. */
static int32_t parse_perms(const char *text)
{
    static const char letters[] = "rwcda";
    int32_t perms = 0;

    for (; *text; text++) {
        const char *at = strchr(letters, *text);
        if (!at)
            return 0;
        perms |= 1 << (at - letters);
    }
    return perms;
}

/* Splits "scheme:id:perms" into *ret. An id may contain colons: so the scheme ends at the first
 * one, and the permissions begin after the last. Returns false if text is wrong. */
static bool parse_entry(const char *text, struct acl_entry *ret)
{
    const char *first = strchr(text, ':'), *last = strrchr(text, ':');

    if (!first || first == text || first == last)
        return false;
    ret->perms = parse_perms(last + 1);
    if (ret->perms == 0)
        return false;
    ret->scheme = g_strndup(text, (gsize)(first - text));
    ret->id = g_strndup(first + 1, (gsize)(last - first - 1));
    return true;
}

GArray *acl_parse(const char *text)
{
    GArray *list = g_array_new(FALSE, TRUE, sizeof(struct acl_entry));
    char **parts = g_strsplit(text ? text : "world:anyone:cdrwa", ",", -1);
    bool good = parts[0] != NULL;

    g_array_set_clear_func(list, clear_entry);
    for (char **part = parts; *part && good; part++) {
        struct acl_entry entry = {0, NULL, NULL};
        good = parse_entry(*part, &entry);
        if (good)
            g_array_append_val(list, entry);
    }
    g_strfreev(parts);
    if (good)
        return list;
    g_array_unref(list);
    return NULL;
}
