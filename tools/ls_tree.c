/* The tree is walked as it is: paths that come or go meanwhile may be missed. Contenders have no
 * children, so the walk enters only nodes with other names. */
#include "ls_tree.h"
#include "children.h"
#include "contenders.h"
#include "identity.h"
#include "json.h"
#include "table.h"

#include <stdio.h>
#include <string.h>

struct walk {
    const struct settings *settings;
    zkl_session *session;
    struct table *table; /* NULL: */
    GString *json;
    size_t found;
};

static void count(const zkl_queue *q, size_t *ret_holding, size_t *ret_waiting)
{
    *ret_holding = *ret_waiting = 0;
    for (size_t i = 0; i < zkl_queue_count(q); i++)
        ++*(zkl_queue_get(q, i)->holds ? ret_holding : ret_waiting);
}

static void table_queue(const struct walk *w, const char *path, const zkl_queue *q)
{
    size_t holding, waiting;
    char *holder = identity_sentence(zkl_queue_get(q, 0));
    GString *text = g_string_new(holder);

    count(q, &holding, &waiting);
    if (holding > 1)
        g_string_append_printf(text, " and %zu more", holding - 1);
    table_cell(w->table, path);
    table_cell(w->table, text->str);
    table_cell_printf(w->table, "%zu", waiting);
    g_string_free(text, TRUE);
    g_free(holder);
}

static void json_queue(const struct walk *w, const char *path, const zkl_queue *q)
{
    size_t holding, waiting;

    count(q, &holding, &waiting);
    g_string_append_printf(w->json, "%s\n  {\"path\": ", w->found > 0 ? "," : "");
    json_string(w->json, path);
    g_string_append_printf(w->json, ", \"holding\": %zu, \"waiting\": %zu, \"holder\": ", holding,
                           waiting);
    contender_json(w->json, zkl_queue_get(q, 0), 0);
    g_string_append_c(w->json, '}');
}

/* Only the first contender is read. */
static void visit(struct walk *w, const char *path)
{
    zkl_queue *q = contenders_first(w->session, path, 1, w->settings->connect_timeout_ms);

    if (zkl_queue_count(q) > 0) {
        if (w->table)
            table_queue(w, path, q);
        else
            json_queue(w, path, q);
        w->found++;
    }
    zkl_queue_free(q);
}

static bool is_contender(const char *name)
{
    const size_t length = strlen(name), digits = 10;

    return length >= digits && strspn(name + length - digits, G_CSET_DIGITS) == digits;
}

/* Deep trees are no deeper than a path is long. */
static int descend(struct walk *w, const char *path)
{
    GPtrArray *names;
    bool contended = false;
    int status = children_read(w->settings, w->session, path, &names);

    if (status != STATUS_OK)
        return status;
    for (guint i = 0; i < names->len && !contended; i++)
        contended = is_contender(names->pdata[i]);
    if (contended && strcmp(path, "/") != 0)
        visit(w, path);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        char *below = g_strconcat(strcmp(path, "/") == 0 ? "" : path, "/", name, NULL);
        if (!is_contender(name) && strcmp(below, "/zookeeper") != 0) {
            const int other = descend(w, below);
            status = other == STATUS_CONFLICT ? status : MAX(status, other);
        }
        g_free(below);
    }
    g_ptr_array_unref(names);
    return status;
}

int ls_tree_show(const struct settings *settings, zkl_session *session, const char *path, bool json)
{
    static const char *const heads[] = {"PATH", "HOLDS", "WAIT"};
    struct walk w = {.settings = settings, .session = session};
    int status;

    if (json)
        w.json = g_string_new("[");
    else
        w.table = table_new(heads, G_N_ELEMENTS(heads), 1U << 2);
    status = descend(&w, path);
    GString *text = json ? w.json : table_end(w.table);
    if (json)
        g_string_append(text, w.found > 0 ? "\n]\n" : "]\n");
    if (w.found == 0 && !json && status == STATUS_OK)
        say("%s: no contenders", path);
    else if (w.found > 0 || json)
        fputs(text->str, stdout);
    g_string_free(text, TRUE);
    return status;
}
