/* Reads processes from /proc. */
#ifndef ZKL_TOOLS_PROCESSES_H
#define ZKL_TOOLS_PROCESSES_H

#include "tree.h"

#include <glib.h>

/* The name of a guard. "pkill zkl" and "pidof zkl" do not match it, because tool and guard are not
 * to be killed together. */
#define GUARD_NAME "lock-guard"

/* The name of a guard that runs --on-lost: a lock around ours does not wait for it. */
#define ON_LOST_NAME "lock-on-lost"

/* The name of a process that closes a session: it works for no lock, and ends soon by itself. */
#define CLOSING_NAME "zkl-closing"

/* Keeps spare descriptors for the functions below, so that a process that has no others can still
 * look. Call it before the first look; children inherit the descriptors. false with errno set. */
bool processes_reserve(void);

/* Whether errno says that memory or descriptors were short. A look that failed so says nothing of
 * processes. */
bool processes_are_short(void);

enum processes_sight {
    SIGHT_ALL,
    SIGHT_OWN, /* /proc shows nothing of other users' processes (hidepid) */
    SIGHT_NONE /* /proc is missing, or is another PID namespace's */
};

/* Returns how much /proc shows us. */
enum processes_sight processes_sight(void);

/* Opens a pidfd. Returns -1 with errno set if that fails. */
int process_open(pid_t pid);

/* Returns all processes, sorted: a GArray of struct process. Returns NULL with errno set if /proc
 * is missing, if it is another namespace's and shows that one's processes, or if memory or
 * descriptors were short. */
GArray *processes_read(void);

/* Reads the processes below root and helper of a tree, but not those below prior ones. It reads the
 * lists of children again and again until it finds nobody new, because an orphan may come to a
 * process whose list was read before. Returns NULL if the kernel does not tell, or if one of the
 * processes is hidden: then only a look at all processes finds what is below it. */
GArray *processes_below(const struct tree *tree);

/* A look that does the same in parts. */
struct processes_look {
    GArray *list;
    GHashTable *seen;
    guint next;   /* whose children are read next */
    guint before; /* how many had been found when this round began */
    int rounds;   /* how many are left; one that finds nobody new is the last */
};

enum processes_looked { LOOK_UNFINISHED, LOOK_FINISHED, LOOK_UNTOLD };

#define LOOK_ROUNDS_MOST 16

/* Begins a look that makes that many rounds at most. */
void processes_look_begin(struct processes_look *look, int rounds);

/* Reads the children of up to most parents. LOOK_UNTOLD: processes_below() would return NULL. */
enum processes_looked processes_look_on(const struct tree *tree, struct processes_look *look,
                                        guint most);

/* Ends a look. Returns the processes that it has found so far, sorted. */
GArray *processes_look_end(struct processes_look *look);

/* Reads a single process; a tree_read_fn. Returns false if it cannot be read. */
bool process_read(pid_t pid, struct process *ret, void *unused);

/* Lists the children of all threads of a process, dead ones included, the newest last: a GArray of
 * pid_t. Returns NULL with errno set where the kernel does not tell, or where memory or descriptors
 * were short. */
GArray *processes_children(pid_t parent);

/* Returns the present time in clock ticks since the boot, as process.start has it. */
uint64_t processes_clock(void);

#endif
