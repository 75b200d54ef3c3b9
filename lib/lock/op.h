/* An acquisition: an attempt with a time limit and somebody who waits for it. */
#ifndef LIB_OP_H
#define LIB_OP_H

#include "lib/contender/contender.h"

/* The acquisitions of one handle that are not decided, in order. With the monitor held. */
struct op_queue {
    zkl_session *session; /* the owner has a reference */
    GQueue ops;           /* of zkl_op */
    struct callers callers;
};

/* From here on all end with the session. */
void op_queue_init(struct op_queue *q, zkl_session *s);
void op_queue_clear(struct op_queue *q); /* none is left */

/* Ends all of them with that error. */
void op_queue_abort(struct op_queue *q, int code, const char *text);

/* Starts an operation; fn NULL: op_wait() will be called. It sets spec->try_only from timeout_ms.
 * Returns NULL if the session is closed, which is then the thread's last error. The caller gets a
 * reference. This function and those below need the monitor. */
zkl_op *op_start(struct op_queue *q, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data);

struct turns;
struct turn_caller;

/* The same, for a caller of a mutex. caller->tries is set from timeout_ms. */
zkl_op *op_start_turn(struct op_queue *q, struct turns *t, struct turn_caller *caller,
                      int64_t timeout_ms, zkl_acquired_fn fn, void *data);

struct multi_path;

/* The same, for all of the paths, which are in order: count of them. */
zkl_op *op_start_multi(struct op_queue *q, struct contender_spec *spec,
                       const struct multi_path *paths, uint32_t count, int64_t timeout_ms,
                       zkl_acquired_fn fn, void *data);

/* As zkl_op_cancel(), for a reason. */
void op_abort(zkl_op *op, int code, const char *text);

/* As contender_ahead(), of what contends by itself at one path. */
int op_ahead(const zkl_op *op);

/* Blocks until the operation is decided. The caller holds the monitor, which is given up meanwhile.
 * Returns 0 and a grant of the caller's own, or the thread's last error. */
int op_wait(zkl_op *op, zkl_grant **ret);

/* The caller's reference. */
void op_unref(zkl_op *op);

/* What a call of the interface ends with, without the monitor held. The first is for a call that
 * blocks: it gives up its own reference, and its user owns the grant. The second leaves the
 * reference in ret, if that is not NULL. op NULL: the operation could not begin, as the thread's
 * last error says. */
int op_end_call(zkl_op *op, zkl_grant **ret);
int op_end_async(zkl_op *op, zkl_op **ret);

#endif
