/* Our variables replace inherited ones, so that of nested locks the inner one's values count. */
#include "environment.h"
#include "../tool.h"
#include "deadline.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

/* Stands between nodes and tokens. Neither contains it, or the end of a line. */
#define DIVIDER '\t'

char *grant_text(const zkl_grant *grant)
{
    GString *text = g_string_new(NULL);
    g_autoptr(GString) tokens = g_string_new(NULL);
    zkl_part part;

    for (size_t i = 0; zkl_grant_part(grant, i, &part) == 0; i++) {
        g_string_append_printf(text, "%s%s", i == 0 ? "" : "\n", part.node);
        g_string_append_printf(tokens, "%c%" PRIu64, i == 0 ? DIVIDER : '\n', part.token);
    }
    g_string_append(text, tokens->str);
    return g_string_free(text, FALSE);
}

char **command_environment(const struct hold_options *o, const char *grant_text, uint64_t token,
                           int64_t session_id, int slot)
{
    /* These variables of a zkl around this one are not about this lock. */
    static const char *const of_others[] = {"ZKL_CANDIDATE", "ZKL_SLOT", "ZKL_LOST", "ZKL_LOST_BY",
                                            DEADLINE_VARIABLE};
    const char *divider = strchr(grant_text, DIVIDER);
    g_autofree char *nodes = g_strndup(grant_text, (gsize)(divider - grant_text)),
                    *node = g_strndup(nodes, strcspn(nodes, "\n")),
                    *others = o->others ? g_strjoinv("\n", o->others) : NULL,
                    *paths = g_strconcat(o->path, others ? "\n" : NULL, others, NULL),
                    *decimal = g_strdup_printf("%" PRIu64, token),
                    *session = g_strdup_printf("0x%" PRIx64, (uint64_t)session_id);
    char **envp = g_get_environ();

    for (size_t i = 0; i < G_N_ELEMENTS(of_others); i++)
        envp = g_environ_unsetenv(envp, of_others[i]);
    envp = g_environ_setenv(envp, "ZKL_PATH", o->path, TRUE);
    envp = g_environ_setenv(envp, "ZKL_PATHS", paths, TRUE);
    envp = g_environ_setenv(envp, "ZKL_NODE", node, TRUE);
    envp = g_environ_setenv(envp, "ZKL_NODES", nodes, TRUE);
    envp = g_environ_setenv(envp, "ZKL_TOKEN", decimal, TRUE);
    envp = g_environ_setenv(envp, "ZKL_TOKENS", divider + 1, TRUE);
    envp = g_environ_setenv(envp, "ZKL_SESSION", session, TRUE);
    if (o->settings->connect)
        envp = g_environ_setenv(envp, "ZKL_CONNECT", o->settings->connect, TRUE);
    if (o->candidate)
        envp = g_environ_setenv(envp, "ZKL_CANDIDATE", o->candidate, TRUE);
    if (slot >= 0) {
        g_autofree char *number = g_strdup_printf("%d", slot);
        envp = g_environ_setenv(envp, "ZKL_SLOT", number, TRUE);
    }
    return envp;
}
