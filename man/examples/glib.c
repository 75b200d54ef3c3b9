#include <zkl-glib.h>

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *loop)
{
    g_print("%s\n", err ? err->text : "acquired, in the main loop");
    zkl_grant_release(grant);
    g_main_loop_quit(loop);
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    g_autoptr(zkl_session) s = NULL;
    g_autoptr(zkl_mutex) m = NULL;

    options.dispatch = 1;
    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", &options, NULL) != 0)
        return 1;
    g_autoptr(GSource) source = zkl_glib_source_new(s);
    g_source_attach(source, NULL);
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) != 0 ||
        zkl_mutex_lock_async(m, 10000, on_acquired, loop, NULL) != 0)
        return 1;
    g_main_loop_run(loop);
    g_source_destroy(source);
    return 0;
}

/* It prints:
 * acquired, in the main loop */
