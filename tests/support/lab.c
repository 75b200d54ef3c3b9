#include "lab.h"

#include "process.h"
#include "progress.h"

#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BRIDGE "zklbr0"
#define NOBODY "02:00:00:00:00:fe"

G_GNUC_PRINTF(1, 2)
static bool run(const char *format, ...)
{
    char *error = NULL;
    int status = -1;
    va_list ap;

    va_start(ap, format);
    char *line = g_strdup_vprintf(format, ap);
    va_end(ap);
    bool ok = g_spawn_command_line_sync(line, NULL, &error, &status, NULL) && status == 0;
    if (!ok)
        fprintf(stderr, "%s: %s\n", line, error ? error : "cannot be run");
    g_free(error);
    g_free(line);
    return ok;
}

const char *lab_enter(void)
{
    char *ip = g_find_program_in_path("ip"), *nsenter = g_find_program_in_path("nsenter");
    const char *why = NULL;

    if (geteuid() != 0)
        why = "network namespaces need root";
    else if (!ip || !nsenter)
        why = "there is no ip (package iproute2) or no nsenter";
    else if (unshare(CLONE_NEWNET) != 0)
        why = "this machine gives us no network namespace";
    else if (!run("ip link set lo up") || !run("ip link add " BRIDGE " type bridge") ||
             !run("ip link set " BRIDGE " up") || !run("ip addr add 10.77.0.254/24 dev " BRIDGE))
        why = "this machine gives us no bridge";
    g_free(ip);
    g_free(nsenter);
    return why;
}

/* unshare(1) has made its namespace when it differs from ours. */
static bool await_namespace(pid_t pid)
{
    char *path = g_strdup_printf("/proc/%d/ns/net", (int)pid);
    char *ours = g_file_read_link("/proc/self/ns/net", NULL);
    bool apart = false;

    while (!apart && !progress_is_late()) {
        char *theirs = g_file_read_link(path, NULL);
        apart = theirs && strcmp(theirs, ours) != 0;
        g_free(theirs);
        if (!apart)
            g_usleep(2000);
    }
    g_free(ours);
    g_free(path);
    return apart;
}

static bool start_host(struct lab *lab, int i)
{
    static const char *const argv[] = {"unshare", "--net", "sleep", "infinity", NULL};
    const struct process_options o = {.argv = argv, .input = -1};

    lab->pid[i] = process_spawn(&o);
    if (lab->pid[i] <= 0 || !await_namespace(lab->pid[i]))
        return false;
    int pid = (int)lab->pid[i];
    g_snprintf(lab->pid_text[i], sizeof lab->pid_text[i], "%d", pid);
    g_snprintf(lab->address[i], sizeof lab->address[i], "10.77.0.%d", i + 1);
    const char *within[] = {"nsenter", "-n", "-t", lab->pid_text[i], "--", NULL};
    memcpy(lab->within[i], within, sizeof within);
    return run("ip link add zklv%d type veth peer name eth0 netns %d", i, pid) &&
           run("ip link set zklv%d master " BRIDGE " up", i) &&
           run("nsenter -n -t %d ip addr add %s/24 dev eth0", pid, lab->address[i]) &&
           run("nsenter -n -t %d ip link set eth0 up", pid) &&
           run("nsenter -n -t %d ip link set lo up", pid);
}

bool lab_start(struct lab *lab, int hosts)
{
    *lab = (struct lab){.hosts = hosts};
    for (int i = 0; i < hosts; i++)
        if (!start_host(lab, i))
            return false;
    return true;
}

void lab_stop(struct lab *lab)
{
    for (int i = 0; i < lab->hosts; i++) {
        if (lab->pid[i] <= 0)
            continue;
        run("ip link del zklv%d", i);
        process_end(lab->pid[i], SIGKILL);
    }
    *lab = (struct lab){0};
}

bool lab_cut(struct lab *lab, int from, int to)
{
    return run("nsenter -n -t %s ip neigh replace %s lladdr " NOBODY " nud permanent dev eth0",
               lab->pid_text[from], lab->address[to]);
}

bool lab_mend(struct lab *lab, int from, int to)
{
    return run("nsenter -n -t %s ip neigh del %s dev eth0", lab->pid_text[from], lab->address[to]);
}
