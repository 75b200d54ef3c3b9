/* Sends signals to a whole tree of processes, and finds out whether any of it is left. */
#ifndef ZKL_TOOLS_SWEEP_H
#define ZKL_TOOLS_SWEEP_H

#include "cgroup.h"
#include "processes.h"

#include <glib.h>

struct sweep {
    struct tree tree;
    GArray *prior; /* the processes of tree.prior */
    GArray *found; /* those that sweep_init() has found; NULL: none */
    /* Processes by process_key(): those that have got KILL or STOP, and those that we may not
     * signal. */
    GHashTable *killed, *stopped, *refused;
    bool alone;      /* root had no child at the beginning: all that it has now are members */
    pid_t asked;     /* how many pids after our own, and after 0, were tried as children */
    bool all_killed; /* the last look was for KILL, spared nobody and found nobody new */
    struct processes_look look; /* the look that sweep_look_on() makes in parts */
    GArray *known;              /* what the last look has found; NULL: there is none */
    GHashTable *own;    /* pids of our children: until we reap them, they mean nobody else */
    GHashTable *struck; /* pids of those children that have got KILL */
    const struct cgroup *cgroup; /* which only the tree is in; NULL: there is none */

    /* Is called once for each living process that we may not signal. If /proc does not show the
     * process, its start is 0 and its name is empty. */
    void (*on_refused)(const struct process *p, void *data);
    void *data;
};

/* The living processes that one look has found. */
struct swept {
    bool blind;           /* there is no /proc of ours, or no descriptor for it */
    size_t sent;          /* how many were signalled now; with KILL and STOP, for the first time */
    size_t others;        /* members that are no guards */
    size_t spared;        /* members that were not chosen */
    struct process first; /* a member, and no guard unless all are; pid 0: there is none */
};

/* Begins the sweep of a tree. The caller is root itself, and a subreaper. The children that it has
 * already are no members. */
void sweep_init(struct sweep *s, pid_t root, pid_t helper, bool leave_sessions);
void sweep_free(struct sweep *s);

/* Takes processes, a GArray of struct process. They, the children that sweep_init() has found, and
 * what is below any of these are no members. They replace the processes of an earlier call. */
void sweep_spare(struct sweep *s, GArray *processes);

/* Looks at a part of the tree, so that the tree is known before its end. Returns true when all was
 * looked at; the next call then begins anew. */
bool sweep_look_on(struct sweep *s);

/* Returns how many members the last of these looks has found. */
size_t sweep_count(const struct sweep *s);

/* Sends signo once to each member that choose chooses; choose NULL: to nobody. signo 0 only finds
 * out whether a signal is allowed. */
typedef bool sweep_choose_fn(const struct member *m, void *data);
sweep_choose_fn sweep_everybody; /* chooses all */
struct swept sweep_signal(struct sweep *s, int signo, sweep_choose_fn *choose, void *data);

/* Sends TERM and CONT in the same way, but to nobody from the moment until (by now_ms()) on. If the
 * look takes longer than half of the time till then, the signals go to the members that are known
 * until then. */
void sweep_term(struct sweep *s, int64_t until, sweep_choose_fn *choose, void *data);

/* Sends KILL to all that are chosen: first to those that are known from the last look, then again
 * until a look finds nobody new. If no member is spared, it kills the whole cgroup too, and our own
 * children again and again. The cgroup's KILL reaches processes that we may not signal, and each of
 * these two reaches processes that fork faster than we look. Without a /proc of ours it reaches
 * only our own children, some at each call. Only the thread that reaps calls this. */
struct swept sweep_kill(struct sweep *s, sweep_choose_fn *choose, void *data);

/* Kills only the children that have come since the last sweep_kill(). Does nothing if that has
 * spared a member or has found somebody new. */
void sweep_kill_children(struct sweep *s, sweep_choose_fn *choose, void *data);

/* Sends STOP to all that are chosen and run, again and again until a look finds nobody new. */
struct swept sweep_stop(struct sweep *s, sweep_choose_fn *choose, void *data);

/* Sends CONT to the processes that sweep_stop() has stopped; and to a zkl that has stopped since,
 * as a zkl does with its command on a terminal. */
struct swept sweep_continue(struct sweep *s);

enum sweep_left { SWEEP_GONE, SWEEP_LIVES, SWEEP_UNKNOWN };

/* Whether the caller has a living child; it costs one system call. Without a child of root no
 * member is left. A child need not be a member. */
bool sweep_has_child(void);

/* Whether a member lives, even one that /proc hides. The kernel gives orphans to their subreaper,
 * so the root has a living child as long as a member is left. Reaps dead children, except the
 * helper and the leader of tree.group, whose id is the group's. Without a /proc of ours every child
 * of root is a member; SWEEP_UNKNOWN if it may have others. */
enum sweep_left sweep_left(struct sweep *s);

#endif
