#include "members.h"
#include "json.h"
#include "table.h"

void member_json(GString *out, const char *key, const char *value, const zkl_member_info *m)
{
    g_autofree char *data = g_utf8_make_valid(m->data, (gssize)m->size);

    g_string_append_c(out, '{');
    if (key)
        g_string_append_printf(out, "\"%s\": \"%s\", ", key, value);
    g_string_append_printf(out, "\"token\": %" G_GUINT64_FORMAT ", \"id\": ", (guint64)m->token);
    json_string(out, m->id);
    g_string_append(out, ", \"data\": ");
    json_string(out, data);
    g_string_append_printf(out, ", \"session\": \"0x%" G_GINT64_MODIFIER "x\"}", m->session_id);
}

GString *members_table(const zkl_members *ms)
{
    static const char *const heads[] = {"ID", "TOKEN", "SESSION", "DATA"};

    if (zkl_members_count(ms) == 0)
        return g_string_new(NULL);
    struct table *table = table_new(heads, G_N_ELEMENTS(heads), 2);
    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        const zkl_member_info *m = zkl_members_get(ms, i);
        g_autofree char *data = g_utf8_make_valid(m->data, (gssize)m->size);

        table_cell(table, m->id);
        table_cell_printf(table, "%" G_GUINT64_FORMAT, (guint64)m->token);
        table_cell_printf(table, "0x%" G_GINT64_MODIFIER "x", m->session_id);
        table_cell(table, m->size > 0 ? data : "-");
    }
    return table_end(table);
}

int64_t membership_ms(zkl_member *member)
{
    g_autoptr(zkl_grant) grant = NULL;

    return zkl_member_grant(member, &grant) == 0 ? zkl_grant_remaining_ms(grant) : 0;
}

static void ignore_left(const zkl_error *err, void *data)
{
    (void)err;
    (void)data;
}

void leave_group(zkl_member *member)
{
    zkl_member_leave_async(member, 0, ignore_left, NULL);
}

void say_id_is_taken(const char *path, const char *id, const zkl_member_news *news)
{
    say("%s: session 0x%" G_GINT64_MODIFIER "x has the id %s%s%s", path, news->session_id, id,
        *news->data ? ": " : "", news->data);
}
