#include "runner.h"

#include <glib.h>
#include <stddef.h>

int main(int argc, char **argv)
{
    /* A wrong call of GLib's ends the program, where it would only print a line. */
    g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
    runner_starts_over = true;
    return runner_main(argc, argv);
}
