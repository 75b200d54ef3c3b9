/* A run: a session, an attempt to get a grant in it, and the command under that grant. zkl lock has
 * one run, zkl elect one after the other. */
#ifndef ZKL_TOOLS_RUN_H
#define ZKL_TOOLS_RUN_H

#include "guard/guard.h"
#include "lock_options.h"
#include "metrics.h"

/* An attempt to get a grant. The library's thread fills it, and sets .done last. */
struct attempt {
    struct events *events;
    zkl_grant *grant; /* owned; NULL: there is none */
    zkl_error error;
    atomic_bool done;
    bool lent; /* .end has left the grant to a thread, which uses it until .close */
};

/* How the grant is acquired. The main thread calls these functions with self. */
struct acquire_ops {
    /* Makes the handle. Returns 0, or the library's error. */
    int (*open)(void *self, zkl_session *session);

    /* Begins to seek the grant. Returns 0, or the library's error. If it returns 0, attempt_end()
     * is called once after that. */
    int (*seek)(void *self, int64_t timeout_ms, struct attempt *attempt);

    /* Is called once a second during the wait. NULL: does nothing. */
    void (*look)(void *self);

    /* Writes the path of the node that waits, as zkl_op_node() does. NULL: nothing is shown of a
     * wait. */
    int (*node)(void *self, char *buf, size_t size);

    /* Makes the attempt end soon. */
    void (*give_up)(void *self);

    /* Is called if the work for which the lock is sought was done already (ZKL_EEXIST). Returns the
     * exit status. NULL: that is an error. */
    int (*done)(void *self);

    /* Is called when the command has ended with status, and the lock is still ours. asked: the
     * signal that asked the command to end before, or 0. Returns the exit status. NULL: does
     * nothing. */
    int (*end)(void *self, const zkl_grant *grant, int status, int asked);

    /* Is called when the grant was lost and nothing of the command is left, but --on-lost may still
     * run. NULL: does nothing. */
    void (*over)(void *self);

    /* Frees the handle, after the close of the session. */
    void (*close)(void *self);
};

struct run {
    const struct settings *settings;
    struct lock_options *options;
    struct events *events; /* opened before there is any thread but the main one */
    struct shared *shared; /* for the guard; NULL: it makes its own */
    const struct acquire_ops *ops;
    void *self;

    struct metrics_gauge *gauges; /* NULL: none */

    zkl_session *session;
    struct metrics *metrics; /* the session's; NULL: none */
    struct attempt attempt;
    struct guard guard;
    struct hold *hold;
};

/* Runs the command under a grant, and gives the grant back. Returns the exit status. */
int run_once(struct run *t);

/* Does the same with a cgroup of the command's own, and closes the events, which are open. */
int run_under_cgroup(struct run *t);

/* Ends an attempt, as the callback of an acquisition. data is the attempt, which then owns grant;
 * error if grant is NULL. */
void attempt_end(zkl_grant *grant, const zkl_error *error, void *data);

#endif
