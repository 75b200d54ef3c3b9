/* zkl ls: the queue of one path, or the members of a group there, for people or as JSON. */
#include "children.h"
#include "connect.h"
#include "contenders.h"
#include "ls_tree.h"
#include "members.h"

#include <stdio.h>

static void print_json(const zkl_queue *q)
{
    GString *out = g_string_new(NULL);

    contenders_json(out, q, "\n  ");
    g_string_append(out, zkl_queue_count(q) ? "\n]\n" : "]\n");
    fputs(out->str, stdout);
    g_string_free(out, TRUE);
}

static bool has_ephemeral(const zkl_members *ms)
{
    for (size_t i = 0; i < zkl_members_count(ms); i++)
        if (zkl_members_get(ms, i)->session_id != 0)
            return true;
    return false;
}

static void print_members(const zkl_members *ms, bool json)
{
    GString *out = json ? g_string_new("[") : members_table(ms);

    for (size_t i = 0; json && i < zkl_members_count(ms); i++) {
        g_string_append(out, i == 0 ? "\n  " : ",\n  ");
        member_json(out, "kind", "member", zkl_members_get(ms, i));
    }
    if (json)
        g_string_append(out, "\n]\n");
    fputs(out->str, stdout);
    g_string_free(out, TRUE);
}

/* Nobody contends there: is it a group? */
static bool show_members(zkl_session *session, const char *path, int64_t timeout_ms, bool json)
{
    zkl_members *ms;

    if (zkl_members_read(&ms, session, path, ZKL_MEMBER_GROUP, timeout_ms) != 0)
        return false;
    const bool group = has_ephemeral(ms);
    if (group)
        print_members(ms, json);
    zkl_members_free(ms);
    return group;
}

static int ls_show(zkl_session *session, const char *path, int64_t timeout_ms, bool json)
{
    zkl_queue *q;
    int status = contenders_read(&q, session, path, timeout_ms);

    if (status != STATUS_OK)
        return status;
    const bool group = zkl_queue_count(q) == 0 && show_members(session, path, timeout_ms, json);
    if (!group && json)
        print_json(q);
    else if (!group)
        contenders_print(q, path);
    zkl_queue_free(q);
    return status;
}

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
    zkl_session *session = NULL;
    const char *path;
    int status = options_parse_path(settings, entries, summary, argc, argv, &path, NULL, NULL);

    if (status == GO_ON && tree && children)
        status = fail(STATUS_USAGE, "-r and --children exclude each other");
    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status == GO_ON)
        status = children ? children_show(settings, session, path, json)
                 : tree   ? ls_tree_show(settings, session, path, json)
                          : ls_show(session, path, settings->connect_timeout_ms, json);
    zkl_session_close(session);
    return status;
}
