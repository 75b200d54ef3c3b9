/* Tests of the test support itself. */
#include "selftest.h"

#include <glib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--planted") == 0)
        return selftest_planted(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "--watched") == 0)
        return selftest_watched(argc - 1, argv + 1);
    if (argc > 2 && strcmp(argv[1], "--die") == 0)
        return selftest_die(argv[2]);
    return runner_main(argc, argv);
}

char *selftest_again(const char *const *arguments, const char *const *environment, int *status)
{
    GPtrArray *argv = g_ptr_array_new();
    char **env = g_get_environ();
    char *output = NULL;
    g_ptr_array_add(argv, (gpointer)(uintptr_t) "/proc/self/exe");
    for (; *arguments; arguments++)
        g_ptr_array_add(argv, (gpointer)(uintptr_t)*arguments);
    g_ptr_array_add(argv, NULL);
    for (; environment && *environment; environment += 2)
        env = g_environ_setenv(env, environment[0], environment[1], TRUE);
    GError *error = NULL;
    if (!g_spawn_sync(NULL, (char **)argv->pdata, env, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                      &output, NULL, status, &error)) {
        runner_fail(__FILE__, __LINE__, "cannot run myself: %s", error->message);
        g_error_free(error);
        *status = -1;
    }
    g_strfreev(env);
    g_ptr_array_free(argv, TRUE);
    return output ? output : g_strdup("");
}
