/* ACLs as text, against a regular expression. */
#include "targets.h"

#include "input.h"
#include "lib/base/acl.h"
#include "runner.h"

static bool oracle(const char *entry)
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
        good = oracle(*entry);
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
