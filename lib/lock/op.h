/* An operation (zkl_op): one acquisition, from the call until it is decided or its time has passed.
 * It is decided exactly once. */
#ifndef LIB_OP_H
#define LIB_OP_H

#include "lib/contender/contender.h"
#include "lib/session/stats.h"

/* All functions are called with the monitor held, unless they say otherwise. */

/* The operations of one handle that are not decided, in the order in which they began. */
struct op_queue {
    zkl_session *session; /* the handle has a reference to it */
    GQueue ops;           /* of zkl_op */
    struct stats_waits waits;
    struct callers callers;
};

/* Makes the queue of a handle at path, the full one. Its operations end with the session, whose
 * statistics count them at path. */
void op_queue_init(struct op_queue *q, zkl_session *s, const char *path);

/* Frees what the queue has. No operation is left in it. */
void op_queue_clear(struct op_queue *q);

/* Ends all operations of the queue with that error. */
void op_queue_abort(struct op_queue *q, int code, const char *text);

/* Starts an operation that one contender, described by spec, decides. fn NULL: op_wait() will be
 * called. The function sets spec->try_only from timeout_ms. Returns a reference; or NULL and the
 * thread's last error if the session is closed. */
zkl_op *op_start(struct op_queue *q, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data);

/* ---- the same in two steps: where callers wait before they contend, or more than one contender
 * decides ---- */

/* The functions of the object that decides an operation; context points to that object. */
struct op_ops {
    /* Ends the acquisition before it is decided: it was cancelled, its time has passed, or its
     * handle was freed. code and text say why. The function sees to it that op_decide() is called,
     * at once or later. */
    void (*abort)(void *context, int code, const char *text);
    /* Returns the contender whose node zkl_op_node() tells; NULL: there is none now. If this member
     * is NULL, there never is one. */
    const struct contender *(*waiting)(const void *context);
};

/* Begins an operation that nothing decides yet; otherwise like op_start(). If op_is_open() then,
 * the caller calls op_assign() or op_contend() next. */
zkl_op *op_begin(struct op_queue *q, int64_t timeout_ms, zkl_acquired_fn fn, void *data);

/* Whether there is an operation (op is not NULL), and it is not decided. If the session's
 * credentials were refused, op_begin() has decided it already. */
bool op_is_open(const zkl_op *op);

/* Leaves the decision to context, which calls op_decide(). */
void op_assign(zkl_op *op, const struct op_ops *ops, void *context);

/* Enters a contender, which decides the operation. */
void op_contend(zkl_op *op, const struct contender_spec *spec);

/* Whether a try has a limit now: a session timeout, from when it gets it. It has one from its
 * beginning, and none while it waits for something that no server tells. */
void op_limit_try(zkl_op *op, bool limited);

/* Decides an operation, and takes over the reference to grant; NULL: it has failed, with error. op
 * is a zkl_op: the function is a grant_decided. */
void op_decide(void *op, zkl_grant *grant, const zkl_error *error);

/* ---- for all operations ---- */

/* Counts that an operation which began at began_ns is decided. oldest_ns: when the oldest of the
 * remaining ones in waits began; 0: none remains. Both are CLOCK_BOOTTIME. */
void op_count(zkl_session *s, struct stats_waits *waits, int64_t began_ns, int64_t oldest_ns,
              zkl_grant *grant, const zkl_error *error);

/* Ends an operation as zkl_op_cancel() does, with that error. */
void op_abort(zkl_op *op, int code, const char *text);

/* Returns contender_ahead() of the contender that decides the operation (op_start()); -1: the
 * operation is decided. */
int op_ahead(const zkl_op *op);

/* Waits until the operation is decided, and releases the monitor during the wait. Returns 0 and the
 * operation's reference to the grant in *ret, or the thread's last error. */
int op_wait(zkl_op *op, zkl_grant **ret);

/* Gives up the caller's reference. Needs what grant_unref() needs: this may free the session. */
void op_unref(zkl_op *op);

/* A function of the interface that locks returns by one of these, without the monitor held. op
 * NULL: the operation could not begin, and the thread's last error says why. Both return 0 or that
 * error. */

/* Waits for op, and gives up the reference to it. The user owns the grant in *ret. */
int op_return_grant(zkl_op *op, zkl_grant **ret);

/* Gives the reference to the user; ret NULL: gives it up. */
int op_return_op(zkl_op *op, zkl_op **ret);

#endif
