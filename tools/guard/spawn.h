/* Starts a program in a process group of its own, with the signals that we were started with. */
#ifndef ZKL_TOOLS_SPAWN_H
#define ZKL_TOOLS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "../events.h"
#include "cgroup.h"
#include "shared.h"

struct spawn {
    char **argv; /* PATH is searched */
    char **envp;
    const struct events *events; /* has the mask and the action at SIGCHLD for the program */
    struct shared *shared; /* if the program is the command: it begins only under the lock, and dies
                              with the caller, a process of one thread; NULL for other programs */
    const struct cgroup *cgroup; /* in which the command is to be, if possible; NULL: ours */
    pid_t front;   /* takes the terminal that is its standard input from this group; 0: from none */
    bool no_input; /* its standard input is /dev/null */
};

/* Starts the program. Returns its pid, or -1 with errno set. */
pid_t spawn(const struct spawn *s);

#endif
