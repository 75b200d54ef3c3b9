/* Lends the terminal to the command's process group, and takes it back. */
#ifndef ZKL_TOOLS_TERMINAL_H
#define ZKL_TOOLS_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
    int fd;      /* the terminal's; -1: none is known */
    bool opened; /* fd is ours to close */
    pid_t own;   /* our process group */
    pid_t lent;  /* the group to which we have lent the terminal; 0: none */
    bool wanted; /* the terminal is to be lent while our group is in front */
};

/* Whether fd is a terminal that can be drawn upon. */
bool terminal_draws(int fd);

/* Begins with stdin, if that is a terminal. Changes nothing of the terminal. */
void terminal_init(struct terminal *t);

/* Looks for the controlling terminal if stdin is no terminal. Returns whether there is one. */
bool terminal_find(struct terminal *t);

/* Whether the terminal is ours: our group is in front. */
bool terminal_is_ours(const struct terminal *t);

/* Whether no other process of our group can wait for keys. That holds if leader (we, or the process
 * that forked us) leads the group, and neither stdout nor stderr is a pipe: its reader may be a
 * pager. */
bool terminal_job_is_alone(const struct terminal *t, pid_t leader);

/* Lends the terminal to a group, if .wanted is set and the terminal is ours. */
void terminal_lend(struct terminal *t, pid_t group);

/* Takes the terminal back, unless the shell has given it to somebody else since. */
void terminal_take_back(struct terminal *t);

void terminal_close(struct terminal *t);

/* Stops our whole group, as the terminal would: a shell counts a job as stopped only when all of it
 * is. Returns true when somebody has continued us. Returns false if the kernel did not stop us,
 * because nobody could ever continue us (an orphaned group). */
bool terminal_stop_us(int signo);

/* Lets a signal that is blocked and pending stop us. */
void terminal_let_stop(int signo);

#endif
