/* Runs --on-lost, a second command, after the command had to be ended. */
#ifndef ZKL_TOOLS_ON_LOST_H
#define ZKL_TOOLS_ON_LOST_H

#include "../events.h"
#include "termination.h"

/* A run of --on-lost. All is 0 before it starts. */
struct on_lost {
    const struct termination *termination;
    pid_t pid;        /* of its first process and of its process group; 0: none */
    int64_t limit_at; /* by now_ms(): it gets TERM then, and KILL at the next limit */
    bool asked;       /* we have sent it INT or TERM, or have passed one on */
};

/* Starts --on-lost, if it is wanted and nobody has started it before. envp: the command's. */
void on_lost_start(struct on_lost *o, const struct termination *e, char **envp,
                   const struct events *events);

/* Takes over the --on-lost that a dead guard has started, if that is our child now. */
void on_lost_adopt(struct on_lost *o, const struct termination *e);

/* Passes a signal on; a second INT or TERM becomes KILL. */
void on_lost_signal(struct on_lost *o, int signo);

/* Whether there is no --on-lost, or it has ended. Reaps one that has ended, and says if it has
 * failed. Ends one whose time is over, and arms events for the next look. */
bool on_lost_over(struct on_lost *o, struct events *events);

#endif
