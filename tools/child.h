/* The command: one process group of its own, from fork to the last member. */
#ifndef ZKL_TOOLS_CHILD_H
#define ZKL_TOOLS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "events.h"
#include "terminal.h"

struct child {
    pid_t pid;      /* and the group's id: not reused as long as the leader is not reaped */
    int exec_error; /* pipe that brings errno when exec failed, or its end */
    bool reaped;
    int signo; /* that ended the reaped leader, 0 for none */
};

/* Forks and executes argv (PATH is searched) with envp, our signals undone, in front of the
 * terminal if we are, and dying with us. To be called by the main thread: the parent-death signal
 * belongs to the thread that forks. false after a message. */
bool child_start(struct child *c, char **argv, char **envp, struct terminal *terminal,
                 const struct events *events);

/* Sends to the whole group. */
void child_signal(const struct child *c, int signo);

/* Whether the leader has ended; it stays unreaped. */
bool child_ended(const struct child *c);

/* The signal that has just stopped the leader, 0 for none. */
int child_stopped(const struct child *c);

/* Whether any member of the group still lives: zombies do not. */
bool child_group_lives(const struct child *c);

/* Reaps the ended leader and gives the exit status for it, after a message if it never ran. */
int child_reap(struct child *c, const char *name);

#endif
