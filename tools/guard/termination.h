/* Ends a command and all that it has started. The guard does that; if the guard fails, the tool
 * does. */
#ifndef ZKL_TOOLS_TERMINATION_H
#define ZKL_TOOLS_TERMINATION_H

#include "hold_options.h"
#include "pace.h"
#include "shared.h"
#include "sweep.h"

/* The time between two looks at an ending tree: the first, and the longest. It grows because many
 * guards may look at the same time, and the processes that are to end need the processors. */
#define LOOK_MS 20
#define LOOK_LAST_MS 200

struct termination {
    struct shared *shared;
    const struct hold_options *options;
    pid_t tool;
    pid_t parent; /* the guard's: the tool, or its zygote */
    pid_t guard;
    int64_t ending_at; /* by now_ms(): the first TERM; then, once there was one, the first KILL */
    int64_t kill_at;   /* by now_ms(): when KILL follows TERM, whatever a late renewal brings */

    /* By now_ms(): what KILL has not ended then never ends; 0: KILL was not sent. */
    int64_t give_up_at;
    bool given_up; /* it was said that a process does not end */

    /* While the command runs: */
    struct pace pace;
    int64_t watch_began; /* by now_ms(): when the look under way began; 0: none is */
    int64_t watch_cpu;   /* the processor time of this process at that moment, in ms */
    int64_t watched_at;  /* by now_ms(): when the last look was over */
    int64_t watch_pause; /* from then to the next look, in ms */
    bool outgrown;       /* it was said that the tree takes too long to end */

    struct sweep sweep;
    int64_t kill_began; /* the first KILL; by now_ms(), like all times below; 0: not yet */
    int64_t killed_at;  /* the first KILL that went to other zkl as well */
    int64_t look_at;    /* the earliest time of the next look at the whole tree */

    /* The earliest time to find out again whether the living children are members. */
    int64_t wait_at;
    int64_t wait_most; /* the time to do so even if nothing happens */
    bool wait_news;    /* something has happened since the last look */

    int64_t rest_since; /* when the leader had ended, and the rest had to be ended */
    bool rest_asked;    /* the rest has got TERM */
    bool rest_killed;   /* the rest has got KILL */
};

/* Says what /proc will not show of a tree, if anything. zkl calls it once, before all else. */
void termination_say_unseen(const struct hold_options *o);

/* Begins the sweep of the command's tree. The guard calls it, and so does the tool, before it has
 * children of its own. root and helper: as in struct tree. */
void termination_tree_init(struct termination *e, pid_t root, pid_t helper);
void termination_tree_free(struct termination *e);

/* Looks at the running command's tree, if that is due, to measure how long its end would take. Says
 * if it would take longer than the lock can wait. Only the guard calls this. */
void termination_watch(struct termination *e);

/* Returns in how many ms termination_watch() is to be called again. */
int64_t termination_watch_ms(const struct termination *e);

/* Returns the time from KILL to the deadline: the larger the tree, the longer. When half of that
 * time is over, the tool steps in. */
int64_t termination_margin_ms(const struct termination *e);

/* Returns the time from TERM to the deadline. It may be no more than the margin, which leaves no
 * time for TERM. */
int64_t termination_grace_ms(const struct termination *e);

/* Sends STOP to each process that is not stopped yet, but to no zkl and no guard, which go on
 * renewing their locks. */
void termination_tree_stop(struct termination *e);

/* Sends CONT to the processes that termination_tree_stop() has stopped. */
void termination_tree_continue(struct termination *e);

/* Sends KILL to the tree. nested: to another zkl and what is below it too, but for a while not to
 * the guard of that zkl, which then ends its own command. Once --on-lost was started, nobody gets
 * KILL. The time from look to look grows. */
void termination_tree_kill(struct termination *e, bool nested);

/* Says which processes of the tree cannot be signalled, as those of another user: they do not end
 * with the command. */
void termination_say_unreachable(struct termination *e);

/* Returns why a lock ends that nobody has given up: it is lost already, or its deadline comes. */
enum exit_cause termination_reason(const struct termination *e);

/* Begins to end the command, with no way back: TERM now and KILL before the grace is over, or KILL
 * now if the deadline is too near for TERM. */
void termination_begin(struct termination *e, enum exit_cause why);

/* Kills the tree. why becomes the cause, unless one is decided already. Does nothing if the command
 * has ended by itself. */
void termination_kill(struct termination *e, enum exit_cause why);

/* Returns whether the leader has ended. The first call that sees it, by the leader's parent,
 * records and tells it. The leader is not reaped, so nobody else gets its pid, which is the group's
 * id. */
bool termination_leader_ended(struct termination *e);

/* Returns in how many ms a tree that is ending is to be looked at again, if no child of ours ends
 * before. */
int64_t termination_look_ms(const struct termination *e);

/* Returns whether the tree is gone, or is not waited for any more. If so, lets the tool delete the
 * node (shared.gone), and writes to --status-fd that the lock is lost. */
bool termination_over(struct termination *e);

/* Whether the lock is kept for what the leader has left (--wait-children). It is not if the leader
 * was ended by a signal, or was asked to end. Call it when the leader has ended. */
bool termination_keeps_rest(const struct termination *e);

/* Whether the lock is kept for a process that lives and that the leader has left. Call it while the
 * lock is ours; the guard does at each event. */
bool termination_waits(struct termination *e);

/* Returns in how many ms termination_waits() is to be called again, if there is no event before. */
int64_t termination_waits_ms(const struct termination *e);

/* Call it when the leader has ended while the lock is ours. Returns whether the rest of its tree
 * must be ended and still has a process. The rest gets TERM, then KILL after --kill-after; a lock
 * within ours gets twice that time. */
bool termination_rest(struct termination *e);

/* Returns in how many ms the rest is to be looked at again. */
int64_t termination_rest_ms(const struct termination *e);

/* Returns the word for a cause. */
const char *exit_cause_name(enum exit_cause cause);

/* Returns the word for how the lock was lost before its deadline; NULL if it was not, or if that is
 * not known. */
const char *termination_loss_name(const struct termination *e);

#endif
