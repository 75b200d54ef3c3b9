#include "view.h"
#include "changes.h"
#include "contenders.h"
#include "json.h"

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

static void append_clock(GString *out, GDateTime *time)
{
    char *text = g_date_time_format(time, "%H:%M:%S");

    g_string_append(out, text);
    g_free(text);
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
    GString *out = g_string_new(NULL), *table;

    append_title(out, path, v);
    if (count == 0)
        return out;
    if (count > fit && fit > 0)
        fit--; /* for the last line */
    table = contenders_table(q, fit, true);
    g_string_append_c(out, '\n');
    g_string_append_len(out, table->str, (gssize)table->len - 1);
    if (count > fit)
        g_string_append_printf(out, "\n… %zu more", count - fit);
    g_string_free(table, TRUE);
    return out;
}
