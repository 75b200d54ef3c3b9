#include "view.h"
#include "contenders.h"
#include "json.h"

#include <inttypes.h>

static const zkl_queue *queue_of(const struct view *v)
{
    return v->reading ? v->reading->queue : NULL;
}

static bool is_missing(const struct view *v)
{
    return v->reading && !v->reading->queue;
}

static size_t holding(const zkl_queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < zkl_queue_count(q); i++)
        n += zkl_queue_get(q, i)->holds != 0;
    return n;
}

/* ---- as lines: what became of a queue between two snapshots ---- */

/* 2026-11-21T23:06:47.123Z */
static void append_time(GString *out, int64_t time_ms)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(time_ms / 1000);
    g_autofree char *text = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");

    g_string_append_printf(out, "%s.%03dZ", text, (int)(time_ms % 1000));
}

/* "TIME EVENT" */
static void change_line(GString *out, int64_t time_ms, const char *event)
{
    append_time(out, time_ms);
    g_string_append_printf(out, " %s\n", event);
}

/* In one piece: a blank would begin the next column. */
static void append_word(GString *out, const char *text)
{
    g_autoptr(GString) word = g_string_new(NULL);

    append_visible(word, text);
    g_string_replace(word, " ", "\\x20", 0);
    g_string_append(out, word->str);
}

static void contender_line(GString *out, int64_t time_ms, const char *event, const zkl_contender *c)
{
    g_autofree char *host = contender_host(c), *owner = contender_owner(c);
    const char *client = contender_client(c);

    append_time(out, time_ms);
    g_string_append_printf(out, " %s %" PRIu64 " %s %s ", event, c->token, contender_kind(c),
                           client ? client : "?");
    append_word(out, host ? host : "-");
    g_string_append_c(out, ' ');
    append_word(out, c->node);
    g_string_append_printf(out, " %s\n", owner);
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

/* Adds a line for each contender that left, then for each that came, holds now or was asked to give
 * up. NULL instead of a snapshot means an empty queue. */
static void changes_between(GString *out, int64_t time_ms, const zkl_queue *old,
                            const zkl_queue *new)
{
    g_autoptr(GHashTable) before = changes_by_name(old), after = changes_by_name(new);

    for (size_t i = 0; i < zkl_queue_count(old); i++) {
        const zkl_contender *c = zkl_queue_get(old, i);

        if (!changes_same(after, c))
            contender_line(out, time_ms, "left", c);
    }
    for (size_t i = 0; i < zkl_queue_count(new); i++) {
        const zkl_contender *c = zkl_queue_get(new, i);

        compare(out, time_ms, changes_same(before, c), c);
    }
}

GString *view_lines(const struct view *old, const struct view *new)
{
    GString *out = g_string_new(NULL);

    if (old->up != new->up)
        change_line(out, new->since_ms, new->up ? "connected" : "disconnected");
    if (!new->reading || new->reading == old->reading)
        return out;
    if (is_missing(old) && !is_missing(new))
        change_line(out, new->reading->time_ms, "exists");
    changes_between(out, new->reading->time_ms, queue_of(old), queue_of(new));
    if (is_missing(new) && !is_missing(old))
        change_line(out, new->reading->time_ms, "missing");
    return out;
}

/* ---- as JSON ---- */

GString *view_json(const char *path, const struct view *v)
{
    const zkl_queue *q = queue_of(v);
    const size_t holders = holding(q);
    GString *out = g_string_new("{\"time\": \"");

    append_time(out, v->up && v->reading ? v->reading->time_ms : v->since_ms);
    g_string_append(out, "\", \"path\": ");
    json_string(out, path);
    g_string_append_printf(out, ", \"connected\": %s, \"exists\": %s", v->up ? "true" : "false",
                           q ? "true" : "false");
    g_string_append_printf(out, ", \"holding\": %zu, \"waiting\": %zu, \"contenders\": ", holders,
                           zkl_queue_count(q) - holders);
    contenders_json(out, q, "");
    g_string_append(out, "]}\n");
    return out;
}

/* ---- on a terminal ---- */

/* Takes time. */
static void append_clock(GString *out, GDateTime *time)
{
    g_autofree char *text = g_date_time_format(time, "%H:%M:%S");

    g_string_append(out, text);
    g_date_time_unref(time);
}

static void append_state(GString *out, const struct view *v)
{
    if (!v->up) {
        g_string_append(out, "disconnected, as of ");
        append_clock(out, g_date_time_new_from_unix_local(v->since_ms / 1000));
    } else if (!v->reading) {
        g_string_append(out, "reading");
    } else if (is_missing(v)) {
        g_string_append(out, "no such path, waiting for it");
    } else {
        g_string_append(out, "connected");
    }
}

static void append_title(GString *out, const char *path, const struct view *v)
{
    const zkl_queue *q = queue_of(v);
    const size_t holders = holding(q), waiting = zkl_queue_count(q) - holders;

    append_visible(out, path);
    g_string_append_printf(out, "  %zu hold%s, %zu wait%s  ", holders, holders == 1 ? "s" : "",
                           waiting, waiting == 1 ? "s" : "");
    append_state(out, v);
    g_string_append(out, "  ");
    append_clock(out, g_date_time_new_now_local());
}

GString *view_screen(const char *path, const struct view *v, int rows)
{
    const zkl_queue *q = queue_of(v);
    const size_t count = zkl_queue_count(q);
    size_t fit = rows > 2 ? (size_t)rows - 2 : 0; /* below title and heads */
    GString *out = g_string_new(NULL);

    append_title(out, path, v);
    if (count == 0)
        return out;
    if (count > fit && fit > 0)
        fit--; /* for the last line */
    g_autoptr(GString) table = contenders_table(q, fit, true);
    g_string_append_c(out, '\n');
    g_string_append_len(out, table->str, (gssize)table->len - 1);
    if (count > fit)
        g_string_append_printf(out, "\n… %zu more", count - fit);
    return out;
}
