/* Reads /proc/PID/stat of every process. */
#include "group.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    bool dead;
    bool guard;
};

/* "PID (NAME) " and more fields, NAME being anything. */
static bool parse(const char *stat, struct process *p)
{
    const char *name = strchr(stat, '(');
    const char *rest = strrchr(stat, ')');
    char state;
    long threads;

    if (!name || !rest ||
        sscanf(rest + 1, " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
               &state, &p->parent, &p->group, &threads) != 4)
        return false;
    p->pid = (pid_t)strtol(stat, NULL, 10);
    p->guard = g_str_has_prefix(name + 1, GUARD_NAME ")");
    /* A process whose first thread has ended shows Z while its other threads run on. */
    p->dead = (state == 'Z' || state == 'X') && threads <= 1;
    return true;
}

static bool counts(const struct process *p, pid_t pgid, pid_t tool, pid_t guard)
{
    if (p->dead)
        return false;
    if (p->group == pgid)
        return true;
    return p->guard && p->pid != guard && (p->parent == guard || p->parent == tool);
}

/* Of another pid namespace it would tell of others' processes. */
static bool proc_is_ours(void)
{
    char text[32] = "";

    return readlink("/proc/self", text, sizeof text - 1) > 0 && strtol(text, NULL, 10) == getpid();
}

enum group_state group_scan(pid_t pgid, pid_t tool, pid_t guard)
{
    GDir *dir = proc_is_ours() ? g_dir_open("/proc", 0, NULL) : NULL;
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
            struct process p;

            result = parse(stat, &p) && counts(&p, pgid, tool, guard) ? GROUP_LIVES : GROUP_GONE;
            g_free(stat);
        }
        g_free(path);
    }
    g_dir_close(dir);
    return result;
}
