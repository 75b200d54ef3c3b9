/* Finds the processes that belong to a command: the descendants of its guard, wherever they went,
 * and its process group. Pure: a table of processes in, members out. docs/design/guard.md has the
 * argument. */
#ifndef ZKL_TOOLS_TREE_H
#define ZKL_TOOLS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    uint64_t start; /* in clock ticks since the boot; pid and start name it for ever */
    bool dead;      /* no thread of it runs any more */
    bool stopped;   /* by STOP or another signal */
    bool guard;     /* a guard */
    bool closing;   /* it closes the session of a zkl that has ended: no member */
    char name[16];
};

/* Processes in ascending order of pids, as tree_sort() makes it. */
struct process_table {
    const struct process *list;
    size_t count;
};

struct tree {
    pid_t root;   /* whose descendants are meant: guard, tool or supervisor */
    pid_t helper; /* a child of root that is no member, though processes below it may be; 0: none */
    pid_t group;  /* all of it are members: its leader is not reaped; 0: none */
    pid_t session; /* root's; with leave_sessions, processes of other sessions are left alone */
    bool leave_sessions;
    /* Children that root had before: they and what is below them are no members. */
    struct process_table prior;
};

enum tree_place {
    TREE_UNKNOWN,
    TREE_ON_THE_WAY, /* a search has passed it; its ancestors decide */
    TREE_INSIDE,
    TREE_OUTSIDE
};

struct member {
    const struct process *process;
    enum tree_place place; /* TREE_INSIDE */
    int nesting;           /* how many guards of other locks are above it */
    bool tool;             /* the process is a zkl that has a guard of its own */
};

void tree_sort(struct process *list, size_t count);

/* Finds the living members. ret has room for all of the table. Returns how many there are. */
size_t tree_members(const struct tree *tree, struct process_table table, struct member *ret);

/* Whether p is one of the prior processes. */
bool tree_is_prior(const struct tree *tree, const struct process *p);

/* Whether p is no member, wherever it is. */
bool tree_exempts(const struct tree *tree, const struct process *p);

/* Reads a process anew; false if there is none. */
typedef bool tree_read_fn(pid_t pid, struct process *ret, void *data);

/* Whether the member's pid still means the process of the table, and has done so since we got hold
 * of it. Each parent is read after its child. If the parent's pid still means the process of the
 * table, that process was the parent when the child was read, and not a prior one whose pid was
 * used again. */
bool tree_still(const struct tree *tree, struct process_table table, const struct process *member,
                tree_read_fn *read, void *data);

#endif
