/* The guard: a small process between the tool and the command. It ends the command when the lock
 * ends, even when the tool is stopped or dead. This is the tool's side of it. */
#ifndef ZKL_TOOLS_GUARD_H
#define ZKL_TOOLS_GUARD_H

#include "../events.h"
#include "channel.h"
#include "termination.h"

struct guard {
    struct termination termination; /* the tool's own means, for a guard that fails */
    int channel;                    /* -1: never started */
    bool running;                   /* the command was given to it */
    bool dead;
    uint64_t token;
    struct message start; /* what it was told to run, and: */
    char *start_text;
    char **envp; /* the command's */
};

/* Forks the guard. The main thread must do this, since the guard takes that thread's end for the
 * tool's; and before there is any other thread, so that the guard may call everything. options must
 * outlive it. shared: the memory of guard and tool, which is freed with g; NULL: new memory.
 * Returns false after a message. */
bool guard_start(struct guard *g, const struct hold_options *options, struct shared *shared,
                 struct events *events);

/* Gives the guard the session that it ends when the tool is dead and the command is gone. Before
 * the first call it ends none. */
void guard_claim(struct guard *g, zkl_session *session);

/* Tells it to run the command; front: with the terminal. false when it is dead. */
bool guard_run(struct guard *g, const zkl_grant *grant, bool front, struct events *events);

/* Tells g what other was told. */
bool guard_repeat(struct guard *g, const struct guard *other, struct events *events);

/* Frees what was made for it here, but not its shared memory. */
void guard_free(struct guard *g, struct events *events);

/* Sends the command's group a signal that was meant for it. If the signal may ask the command to
 * end, CONT follows, for one that is stopped, and the processes that it leaves end too. SIGKILL:
 * the whole tree ends at once. There is a leader, and the guard has not ended. */
void guard_signal(struct guard *g, int signo);

/* Returns the exit status for how the command ended, after a message if it could not be executed.
 * left: the lock is still ours. */
int guard_result(const struct guard *g, bool left);

/* Sends a message; from any thread. */
void guard_tell(struct guard *g, int kind, int value);

/* The command is to be ended for somebody else to lead; from any thread. */
void guard_ask(struct guard *g);

/* Takes its nudges, and sees whether it is dead. */
void guard_look(struct guard *g, struct events *events);

/* Whether the guard is dead, so that its children are ours now. Its death is seen before, when its
 * files are closed. */
bool guard_has_ended(const struct guard *g);

/* Waits for its end, and for that of --on-lost, which gets the signals that come until then. */
void guard_finish(struct guard *g, struct events *events);

/* The guard itself. It exits with STATUS_LOST if the command had to be ended and nothing of its
 * tree is left. A process that still lives below it then was left by --on-lost. */
_Noreturn void guard_main(const struct termination *termination, int channel,
                          struct events *events);

#endif
