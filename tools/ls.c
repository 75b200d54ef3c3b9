/* zkl ls: shows the queue of one path, or the members of a group there, or all queues below it; for
 * people or as JSON. */
#include <stdio.h>

#include "children.h"
#include "connect.h"
#include "contenders.h"
#include "json.h"
#include "members.h"
#include "table.h"

#include <string.h>

/* Returns the status after a read that has failed. A path that does not exist is no failure. */
static int status_of_look(const char *path)
{
    return zkl_last_error(NULL) == ZKL_ENOENT ? STATUS_OK : contenders_failed(path);
}

/* Shows the members if path is a group; *ret_shown: it is. A path is taken for a group only if one
 * of its nodes is ephemeral. */
static int show_members(zkl_session *session, const char *path, int64_t timeout_ms, bool json,
                        bool *ret_shown)
{
    g_autoptr(zkl_members) ms = NULL;

    if (zkl_members_read(&ms, session, path, ZKL_MEMBER_GROUP, timeout_ms) != 0)
        return status_of_look(path);
    for (size_t i = 0; i < zkl_members_count(ms); i++)
        *ret_shown |= zkl_members_get(ms, i)->session_id != 0;
    if (!*ret_shown)
        return STATUS_OK;
    GString *out = json ? g_string_new("[") : members_table(ms);
    for (size_t i = 0; json && i < zkl_members_count(ms); i++) {
        g_string_append(out, i == 0 ? "\n  " : ",\n  ");
        member_json(out, "kind", "member", zkl_members_get(ms, i));
    }
    if (json)
        g_string_append(out, "\n]\n");
    print_text(out);
    return STATUS_OK;
}

/* Shows the queue of path, or the members, or the last run of zkl once. */
static int ls_show(zkl_session *session, const char *path, int64_t timeout_ms, bool json)
{
    g_autoptr(zkl_queue) q = NULL;
    g_autoptr(zkl_once) once = NULL;
    g_autoptr(zkl_once_run) run = NULL;
    bool shown = false;
    int status = contenders_read(&q, session, path, timeout_ms);

    if (status == STATUS_OK && zkl_queue_count(q) == 0)
        status = show_members(session, path, timeout_ms, json, &shown);
    if (status != STATUS_OK || shown)
        return status;
    if (json) {
        contenders_print_json(q);
        return status;
    }
    contenders_print(q, path);
    if (zkl_once_new(&once, session, path, NULL) == 0 &&
        zkl_once_done(once, timeout_ms, &run) == 0) {
        g_autofree char *text = contenders_run_text(run);
        printf("%s\n", text);
        return STATUS_OK;
    }
    /* Any program may use the name of the record, so one that is none of zkl's is ignored. */
    return zkl_last_error(NULL) == ZKL_ELAYOUT ? STATUS_OK : status_of_look(path);
}

/* ---- -r: every queue below a path, a line each ---- */

/* A walk through the paths. It may miss paths that come or go while it runs. It does not enter
 * contenders, which have no children. */
struct walk {
    const struct settings *settings;
    zkl_session *session;
    struct table *table; /* NULL for JSON: */
    GString *json;
    size_t found;
};

/* Whether path is the servers' own, where the library reads no queue. In a chroot none is. */
static bool is_of_servers(const struct walk *w, const char *path)
{
    static const char own[] = "/zookeeper";
    const size_t length = strlen(own);

    return !*connect_chroot(w->settings) && strncmp(path, own, length) == 0 &&
           (path[length] == '\0' || path[length] == '/');
}

/* Whether a name ends with ten digits, as those of contenders do. */
static bool is_numbered(const char *name)
{
    const size_t length = strlen(name), digits = 10;

    return length >= digits && strspn(name + length - digits, G_CSET_DIGITS) == digits;
}

/* Shows who holds and how many wait at path, if anybody contends there. Adds the names of the
 * contenders to contenders. Reads only the first contender's node. */
static int show_queue(struct walk *w, const char *path, GHashTable *contenders)
{
    g_autoptr(zkl_queue) q = contenders_first(w->session, path, 1, w->settings->connect_timeout_ms);
    const size_t count = zkl_queue_count(q), holding = contenders_holding(q);

    if (!q)
        return status_of_look(path);
    for (size_t i = 0; i < count; i++)
        g_hash_table_add(contenders, g_strdup(zkl_queue_get(q, i)->node));
    if (count == 0)
        return STATUS_OK;
    if (w->table) {
        g_autofree char *holder = identity_sentence(zkl_queue_get(q, 0));
        g_autoptr(GString) text = g_string_new(holder);

        if (holding > 1)
            g_string_append_printf(text, " and %zu more", holding - 1);
        table_cell(w->table, path);
        table_cell(w->table, text->str);
        table_cell_printf(w->table, "%zu", count - holding);
    } else {
        g_string_append_printf(w->json, "%s\n  {\"path\": ", w->found > 0 ? "," : "");
        json_string(w->json, path);
        g_string_append_printf(w->json,
                               ", \"holding\": %zu, \"waiting\": %zu, \"holder\": ", holding,
                               count - holding);
        contender_json(w->json, zkl_queue_get(q, 0), 0);
        g_string_append_c(w->json, '}');
    }
    w->found++;
    return STATUS_OK;
}

/* Shows the queues at path and below it. The recursion goes no deeper than a path is long. Returns
 * STATUS_CONFLICT, without a message, if there is no such path. */
static int descend(struct walk *w, const char *path)
{
    g_autoptr(GHashTable) contenders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) names = NULL;
    bool numbered = false;
    int status = children_read(w->settings, w->session, path, &names);

    if (status != STATUS_OK)
        return status;
    for (guint i = 0; i < names->len && !numbered; i++)
        numbered = is_numbered(names->pdata[i]);
    if (numbered && strcmp(path, "/") != 0 && !is_of_servers(w, path))
        status = show_queue(w, path, contenders);
    const bool known = status == STATUS_OK;
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *below = g_strconcat(strcmp(path, "/") == 0 ? "" : path, "/", name, NULL);
        if (known ? !g_hash_table_contains(contenders, name) &&
                        (is_of_servers(w, path) || !is_of_servers(w, below))
                  : !is_numbered(name)) {
            const int of_child = descend(w, below);
            if (of_child != STATUS_CONFLICT) /* a path that has gone is no failure of the whole */
                status = MAX(status, of_child);
        }
    }
    return status;
}

/* Writes who holds and how many wait at path, which may be "/", and everywhere below it. */
static int ls_tree_show(const struct settings *settings, zkl_session *session, const char *path,
                        bool json)
{
    static const char *const heads[] = {"PATH", "HOLDS", "WAIT"};
    struct walk w = {.settings = settings, .session = session};

    if (json)
        w.json = g_string_new("[");
    else
        w.table = table_new(heads, G_N_ELEMENTS(heads), 1U << 2);
    const int status = descend(&w, path);
    g_autoptr(GString) text = json ? w.json : table_end(w.table);
    if (json)
        g_string_append(text, w.found > 0 ? "\n]\n" : "]\n");
    if (status == STATUS_CONFLICT)
        say_path_is_missing(path);
    if (w.found == 0 && !json && status == STATUS_OK)
        say("%s: no contenders", path);
    if (w.found > 0 || (json && status == STATUS_OK))
        print_text(g_steal_pointer(&text));
    return status;
}

/* ---- the verb ---- */

int verb_ls(struct settings *settings, int argc, char **argv)
{
    gboolean json = FALSE, children = FALSE, tree = FALSE;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Write a JSON array", NULL},
        {"recursive", 'r', 0, G_OPTION_ARG_NONE, &tree,
         "Show the holder and the number of waiters of PATH and of all paths below it", NULL},
        {"children", 0, 0, G_OPTION_ARG_NONE, &children,
         "Write the names of all children of PATH, which may be /", NULL},
        G_OPTION_ENTRY_NULL};
    const char *summary = "Shows who holds the lock PATH and who waits, in order.";
    g_autoptr(zkl_session) session = NULL;
    const char *path;
    int status = options_parse_path(settings, entries, summary, argc, argv, &path, NULL, NULL);

    if (status == GO_ON && tree && children)
        status = fail(STATUS_USAGE, "-r and --children exclude each other");
    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status != GO_ON)
        return status;
    return children ? children_show(settings, session, path, json)
           : tree   ? ls_tree_show(settings, session, path, json)
                    : ls_show(session, path, settings->connect_timeout_ms, json);
}
