/* The guard: a small process between the tool, which is zkl itself, and the command. It ends the
 * command when the lock ends, even when the tool is stopped or dead. The command's first process is
 * the leader; with all that it has started it is the tree. This is the tool's side of the guard. */
#ifndef ZKL_TOOLS_GUARD_H
#define ZKL_TOOLS_GUARD_H

#include "../events.h"
#include "channel.h"
#include "termination.h"

struct guard {
    struct termination termination; /* the tool's means to end the command if the guard fails */
    int channel;                    /* -1: never started */
    bool running;                   /* the guard was sent .start */
    bool dead;
    uint64_t token;       /* the grant's */
    struct message start; /* the order to run the command */
    char *start_text;     /* the text of .start */
    char **envp;          /* the command's */
};

/* Forks the guard. The main thread must do this, since the guard takes that thread's end for the
 * tool's; and before there is any other thread, so that the guard may call everything. options must
 * outlive g. shared: the memory of guard and tool, which guard_finish() frees; NULL: new memory.
 * Returns false after a message. */
bool guard_start(struct guard *g, const struct hold_options *options, struct shared *shared,
                 struct events *events);

/* Tells the guard which session it ends when the tool is dead and the command is gone. Before the
 * first call it ends none. */
void guard_claim(struct guard *g, zkl_session *session);

/* Tells the guard to run the command under grant. front: the command gets the terminal. Returns
 * false if the guard is dead. */
bool guard_run(struct guard *g, const zkl_grant *grant, bool front, struct events *events);

/* Tells g to run the same as other. Returns false if the guard g is dead. */
bool guard_repeat(struct guard *g, const struct guard *other, struct events *events);

/* Frees what this process has for the guard, but not the shared memory. */
void guard_free(struct guard *g, struct events *events);

/* Sends the command's group a signal that was meant for the command. If the signal may ask the
 * command to end, CONT follows, so that a stopped command can take it. The processes that the
 * command then leaves end, too. After SIGKILL the whole tree ends at once. Call this only if there
 * is a leader and the guard has not ended. */
void guard_signal(struct guard *g, int signo);

/* Returns the exit status for how the command ended, after a message if it could not be executed.
 * held: the lock is still ours. */
int guard_result(const struct guard *g, bool held);

/* Sends a message of that kind. Any thread may call it. */
void guard_tell(struct guard *g, int kind, int value);

/* Asks the guard to end the command, because somebody else is to lead. Any thread may call it. */
void guard_ask_to_end(struct guard *g);

/* Takes the guard's nudges, and sees whether the guard is dead: .dead. */
void guard_look(struct guard *g, struct events *events);

/* Whether the guard has ended, so that its children are ours now. guard_look() sees its death
 * before that, as soon as its files are closed. */
bool guard_has_ended(const struct guard *g);

/* Waits for the end of the guard and of --on-lost, which gets the signals that come until then.
 * Then frees g and the shared memory. */
void guard_finish(struct guard *g, struct events *events);

/* Does the work of the guard. It exits with STATUS_LOST if the command had to be ended and nothing
 * of its tree is left. A process that still lives below the guard then was left by --on-lost. */
_Noreturn void guard_main(const struct termination *termination, int channel,
                          struct events *events);

#endif
