#include "changes.h"
#include "contenders.h"

#include <inttypes.h>

void append_time(GString *out, int64_t time_ms)
{
    GDateTime *time = g_date_time_new_from_unix_utc(time_ms / 1000);
    char *text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");

    g_string_append_printf(out, "%s.%03dZ", text, (int)(time_ms % 1000));
    g_free(text);
    g_date_time_unref(time);
}

void change_line(GString *out, int64_t time_ms, const char *event)
{
    append_time(out, time_ms);
    g_string_append_printf(out, " %s\n", event);
}

/* In one piece: a blank would begin the next column. */
static void append_word(GString *out, const char *text)
{
    GString *word = g_string_new(NULL);

    append_visible(word, text);
    g_string_replace(word, " ", "\\x20", 0);
    g_string_append(out, word->str);
    g_string_free(word, TRUE);
}

static void contender_line(GString *out, int64_t time_ms, const char *event, const zkl_contender *c)
{
    char *host = contender_host(c), *owner = contender_owner(c);
    const char *client = contender_client(c);

    append_time(out, time_ms);
    g_string_append_printf(out, " %s %" PRIu64 " %s %s ", event, c->token, contender_kind(c),
                           client ? client : "?");
    append_word(out, host ? host : "-");
    g_string_append_c(out, ' ');
    append_word(out, c->node);
    g_string_append_printf(out, " %s\n", owner);
    g_free(host);
    g_free(owner);
}

static GHashTable *changes_by_name(const zkl_queue *q)
{
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);

    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);

        g_hash_table_insert(table, (void *)(uintptr_t)c->node, (void *)(uintptr_t)c);
    }
    return table;
}

/* The same one: a name may be used again, a token only by nodes that were made at once. */
static const zkl_contender *changes_same(GHashTable *table, const zkl_contender *c)
{
    const zkl_contender *found = g_hash_table_lookup(table, c->node);

    return found && found->token == c->token ? found : NULL;
}

static void compare(GString *out, int64_t time_ms, const zkl_contender *old,
                    const zkl_contender *new)
{
    const bool began = new->holds > (old ? old->holds : 0);

    if (!old || old->holds != new->holds)
        contender_line(out, time_ms, new->holds ? "holds" : "waits", new);
    if (began && new->retains)
        contender_line(out, time_ms, "retains", new);
    if (contender_is_asked(new) && (!old || !contender_is_asked(old)))
        contender_line(out, time_ms, "asked", new);
}

void changes_between(GString *out, int64_t time_ms, const zkl_queue *old, const zkl_queue *new)
{
    GHashTable *before = changes_by_name(old), *after = changes_by_name(new);

    for (size_t i = 0; i < zkl_queue_count(old); i++) {
        const zkl_contender *c = zkl_queue_get(old, i);

        if (!changes_same(after, c))
            contender_line(out, time_ms, "left", c);
    }
    for (size_t i = 0; i < zkl_queue_count(new); i++) {
        const zkl_contender *c = zkl_queue_get(new, i);

        compare(out, time_ms, changes_same(before, c), c);
    }
    g_hash_table_unref(before);
    g_hash_table_unref(after);
}
