/* A single time of holding: a session, a way to the grant, and the command under it. zkl lock has
 * one, and zkl elect one after the other. */
#ifndef ZKL_TOOLS_RUN_H
#define ZKL_TOOLS_RUN_H

#include "guard/guard.h"
#include "lock_options.h"
#include "metrics.h"

/* An attempt to acquire, filled by the library's thread before done is set. */
struct attempt {
    struct events *events;
    zkl_grant *grant; /* owned; NULL: there is none */
    zkl_error error;
    atomic_bool done;
};

/* How the grant is acquired; the functions get self, on the main thread. */
struct acquire_ops {
    /* Makes the handle. 0, or the library's error. */
    int (*open)(void *self, zkl_session *session);

    /* Begins to seek the lock. Returns 0, or the library's error. attempt_end() is called once
     * after that, unless this fails. */
    int (*seek)(void *self, int64_t timeout_ms, struct attempt *attempt);

    /* Is called once a second during the wait; NULL for nothing. */
    void (*look)(void *self);

    /* The node with which it waits, as zkl_op_node(); NULL: nothing is shown of a wait. */
    int (*node)(void *self, char *buf, size_t size);

    /* Makes the attempt end soon. */
    void (*give_up)(void *self);

    /* The work for which the lock is sought was done already (ZKL_EEXIST). Returns the exit status.
     * NULL: that is an error. */
    int (*done)(void *self);

    /* The command has ended with that status, and the lock is still ours. asked: the signal that
     * asked it to end before it had, or 0. Returns the exit status. NULL: does nothing. */
    int (*end)(void *self, const zkl_grant *grant, int status, int asked);

    /* The grant was lost and nothing of the command is left, but --on-lost may still run. NULL:
     * does nothing. */
    void (*over)(void *self);

    /* The session is closed already. */
    void (*close)(void *self);
};

struct run {
    const struct settings *settings;
    struct lock_options *options;
    struct events *events; /* no thread has been made yet */
    struct shared *shared; /* of the guard; NULL: its own */
    const struct acquire_ops *ops;
    void *self;

    struct metrics_gauge *gauges; /* NULL: none */

    zkl_session *session;
    struct metrics *metrics; /* of it; NULL: none */
    struct attempt attempt;
    struct guard guard;
    struct hold *hold;
};

/* All of it; returns the exit status. */
int run_once(struct run *t);

/* The same with the events open, which it closes, and with a cgroup of its own. */
int run_under_cgroup(struct run *t);

/* The callback of an acquisition. data is the attempt, which owns the grant; error when there is
 * none. */
void attempt_end(zkl_grant *grant, const zkl_error *error, void *data);

#endif
