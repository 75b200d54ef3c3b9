/* Set after the inherited copy, so that of nested locks the inner one's values win. */
#include "environment.h"

#include <glib.h>
#include <inttypes.h>

char **command_environment(const struct hold_options *o, const char *node, uint64_t token,
                           int64_t session_id, int slot)
{
    char *decimal = g_strdup_printf("%" PRIu64, token);
    char *session = g_strdup_printf("0x%" PRIx64, (uint64_t)session_id);
    char **envp = g_get_environ();

    envp = g_environ_setenv(envp, "ZKL_PATH", o->path, TRUE);
    envp = g_environ_setenv(envp, "ZKL_NODE", node, TRUE);
    envp = g_environ_setenv(envp, "ZKL_TOKEN", decimal, TRUE);
    envp = g_environ_setenv(envp, "ZKL_SESSION", session, TRUE);
    if (o->candidate)
        envp = g_environ_setenv(envp, "ZKL_CANDIDATE", o->candidate, TRUE);
    if (slot >= 0) {
        char *number = g_strdup_printf("%d", slot);
        envp = g_environ_setenv(envp, "ZKL_SLOT", number, TRUE);
        g_free(number);
    }
    g_free(decimal);
    g_free(session);
    return envp;
}
