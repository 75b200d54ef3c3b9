/* What /proc says of processes. */
#ifndef ZKL_TOOLS_PROCESSES_H
#define ZKL_TOOLS_PROCESSES_H

#include "tree.h"

#include <glib.h>

/* The name of a guard: not of a kind that "pkill zkl" and "pidof zkl" match, for tool and guard are
 * not to be killed together. */
#define GUARD_NAME "lock-guard"

/* Of one that runs --on-lost: a lock around ours does not wait for it. */
#define ON_LOST_NAME "lock-on-lost"

/* Of a process that closes a session: it works for no lock, and ends soon by itself. */
#define CLOSING_NAME "zkl-closing"

/* All of them, sorted: a GArray of struct process. NULL where /proc is missing or another
 * namespace's, which would tell of others' processes. */
GArray *processes_read(void);

/* One; a tree_read_fn. */
bool process_read(pid_t pid, struct process *ret, void *unused);

/* The children of all threads of a process, dead ones included, the newest last: a GArray of pid_t.
 * NULL where the kernel does not tell. */
GArray *processes_children(pid_t parent);

/* As struct process counts it. */
uint64_t processes_clock(void);

#endif
