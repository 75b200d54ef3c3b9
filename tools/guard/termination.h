/* How the guard ends a command and all that it has started; if the guard fails, the tool does
 * it. */
#ifndef ZKL_TOOLS_TERMINATION_H
#define ZKL_TOOLS_TERMINATION_H

#include "hold_options.h"
#include "pace.h"
#include "shared.h"
#include "sweep.h"

/* The time between two looks at an ending tree: at first, and at most. It grows because many guards
 * may look at the same time, and the processes that they end need the processor. */
#define LOOK_MS 20
#define LOOK_LAST_MS 200

struct termination {
    struct shared *shared;
    const struct hold_options *options;
    pid_t tool;
    pid_t parent; /* of the guard: the tool, or its zygote */
    pid_t guard;
    int64_t ending_at;  /* by now_ms(): the last of TERM and KILL was sent first */
    int64_t kill_at;    /* by now_ms(): after TERM, whatever a late renewal brings */
    int64_t give_up_at; /* by now_ms(): what KILL does not end by then never ends; 0: not sent */
    bool given_up;      /* that was said */

    /* While the command runs: */
    struct pace pace;
    int64_t watch_began; /* by now_ms(): this look; 0: there is none now */
    int64_t watch_cpu;   /* of this process, in ms, at that moment */
    int64_t watched_at;  /* by now_ms(): the last look was over */
    int64_t watch_pause; /* from then to the next */
    bool outgrown;       /* that was said */

    struct sweep sweep;
    int64_t kill_began; /* by now_ms(), like all of these; 0: not yet */
    int64_t killed_at;  /* also to other zkl */
    int64_t look_at;    /* not before: the whole tree is looked at once more */

    int64_t wait_at;   /* not before: what is waited for is looked at once more */
    int64_t wait_most; /* by then it is, even if nothing happens */
    bool wait_news;    /* something has happened since the last look */

    int64_t rest_since; /* the command was ended by a signal, and this is what it leaves */
    bool rest_asked;
    bool rest_killed;
};

/* Says what /proc will not show of a tree, if anything; by zkl, once, before all else. */
void termination_say_unseen(const struct hold_options *o);

/* Is called by the guard or by the tool (then helper is the guard), before it has children of its
 * own. */
void termination_tree_init(struct termination *e, pid_t root, pid_t helper);
void termination_tree_free(struct termination *e);

/* Looks at the running command's tree, if that is due, to measure how long its end would take; only
 * the guard does. Tells if that is longer than the lock can wait. */
void termination_watch(struct termination *e);

/* Returns in how many ms it is to be called again. */
int64_t termination_watch_ms(const struct termination *e);

/* From KILL to the deadline: the larger the tree, the longer. The tool steps in when half of it is
 * over. */
int64_t termination_margin_ms(const struct termination *e);

/* The grace; not less than the margin, which then leaves no time for TERM. */
int64_t termination_grace_ms(const struct termination *e);

/* The first sends STOP to each process that is not stopped yet, but to no zkl and no guard, which
 * go on renewing their locks. The second sends CONT to the processes that the first has stopped. */
void termination_tree_stop(struct termination *e);
void termination_tree_continue(struct termination *e);

/* Sends KILL. nested: to another zkl and what is below it too, but for a while not to its guard,
 * which then sees to its own. Once --on-lost was started, nobody gets it. The time from look to
 * look grows. */
void termination_tree_kill(struct termination *e, bool nested);

/* Tells of each process that cannot be signalled. */
void termination_tree_probe(struct termination *e);

/* Why a lock ends that nobody has given up. */
enum exit_cause termination_reason(const struct termination *e);

/* The lock is given up: TERM now and KILL before the grace is over, or KILL now if the deadline is
 * nearer than that. There is no way back. */
void termination_begin(struct termination *e, enum exit_cause why);

/* KILL, if not yet decided for that reason; nothing if the command has ended well. */
void termination_kill(struct termination *e, enum exit_cause why);

/* Whether the leader has ended. Its parent sees that first. It stays unreaped, so that nobody else
 * can get its id, which is the group's. */
bool termination_leader_ended(struct termination *e);

/* When a tree that is ending is to be looked at again, if no child of ours ends before. */
int64_t termination_look_ms(const struct termination *e);

/* Whether the tree is gone, or will never be; then everybody is told. */
bool termination_over(struct termination *e);

/* The leader has ended. Whether that was by itself, and what it has left runs on under the lock as
 * the leader did: --wait-children. */
bool termination_keeps_rest(const struct termination *e);

/* The same while the lock is ours, and that such a process lives. The guard asks at each of its
 * events. */
bool termination_waits(struct termination *e);

/* Returns in how many ms the caller is to ask again, if it has no event before. */
int64_t termination_waits_ms(const struct termination *e);

/* The leader has ended while the lock is ours. Returns whether the rest of its tree must be ended
 * and still has a process. The rest gets TERM, then KILL after --kill-after; a lock within ours
 * gets twice that time. */
bool termination_rest(struct termination *e);

/* In how many ms the rest is to be looked at again. */
int64_t termination_rest_ms(const struct termination *e);

/* The word for it. */
const char *exit_cause_name(enum exit_cause cause);

/* The word for how a lock was lost before its deadline, if it was and that is known; or NULL. */
const char *termination_loss_name(const struct termination *e);

#endif
