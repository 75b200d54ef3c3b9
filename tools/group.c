/* Reads /proc/PID/stat of every process. */
#include "group.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The fields that follow "PID (NAME) ", NAME being anything. */
static bool lives_in(const char *stat, pid_t pgid)
{
    const char *rest = strrchr(stat, ')');
    char state;
    int group;
    long threads;

    if (!rest || sscanf(rest + 1,
                        " %c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
                        " %*d %ld",
                        &state, &group, &threads) != 3)
        return false;
    if (group != pgid)
        return false;
    /* A process whose first thread has ended shows Z while its other threads run on. */
    return (state != 'Z' && state != 'X') || threads > 1;
}

enum group_state group_scan(pid_t pgid)
{
    GDir *dir = g_dir_open("/proc", 0, NULL);
    enum group_state result = GROUP_UNKNOWN;
    const char *name;

    if (!dir)
        return GROUP_UNKNOWN;
    while (result != GROUP_LIVES && (name = g_dir_read_name(dir))) {
        char *path;
        char *stat = NULL;

        if (!g_ascii_isdigit(name[0]))
            continue;
        path = g_build_filename("/proc", name, "stat", NULL);
        if (g_file_get_contents(path, &stat, NULL, NULL)) {
            result = lives_in(stat, pgid) ? GROUP_LIVES : GROUP_GONE;
            g_free(stat);
        }
        g_free(path);
    }
    g_dir_close(dir);
    return result;
}
