/* Set after the inherited copy, so that of nested locks the inner one's values win. */
#include "environment.h"

#include <glib.h>
#include <inttypes.h>

char **command_environment(const char *path, const zkl_grant *grant)
{
    char *token = g_strdup_printf("%" PRIu64, zkl_grant_token(grant));
    char *session = g_strdup_printf("0x%" PRIx64, (uint64_t)zkl_grant_session_id(grant));
    char **envp = g_get_environ();

    envp = g_environ_setenv(envp, "ZKL_PATH", path, TRUE);
    envp = g_environ_setenv(envp, "ZKL_NODE", zkl_grant_node(grant), TRUE);
    envp = g_environ_setenv(envp, "ZKL_TOKEN", token, TRUE);
    envp = g_environ_setenv(envp, "ZKL_SESSION", session, TRUE);
    g_free(token);
    g_free(session);
    return envp;
}
