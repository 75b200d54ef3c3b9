#include "acl.h"

#include <stdbool.h>
#include <string.h>

static void clear_entry(void *data)
{
    struct acl_entry *entry = data;

    g_free(entry->scheme);
    g_free(entry->id);
}

/* Splits "scheme:id:perms" into *ret. An id may contain colons: so the scheme ends at the first
 * one, and the permissions begin after the last. Returns false if text is wrong. */
static bool parse_entry(const char *text, struct acl_entry *ret)
{
    static const char letters[] = "rwcda"; /* in the order of ZooKeeper's bits */
    const char *first = strchr(text, ':'), *last = strrchr(text, ':');

    if (!first || first == text || first == last)
        return false;
    for (const char *letter = last + 1; *letter; letter++) {
        const char *bit = strchr(letters, *letter);
        if (!bit)
            return false;
        ret->perms |= 1 << (bit - letters);
    }
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
