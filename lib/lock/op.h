/* An operation (zkl_op): one acquisition, from the call until it is decided or its time has passed.
 * It is decided exactly once. */
#ifndef LIB_OP_H
#define LIB_OP_H

#include "lib/contender/contender.h"
#include "lib/session/stats.h"

/* The acquisitions of one handle that are not decided, in order. With the monitor held. */
struct op_queue {
    zkl_session *session; /* the owner has a reference */
    GQueue ops;           /* of zkl_op */
    struct stats_waits waits;
    struct callers callers;
};

/* From now on all end with the session, and are counted at path. */
void op_queue_init(struct op_queue *q, zkl_session *s, const char *path);
void op_queue_clear(struct op_queue *q); /* none is left */

/* Ends all of them with that error. */
void op_queue_abort(struct op_queue *q, int code, const char *text);

/* Starts an operation by one contender; fn NULL: op_wait() will be called. It sets spec->try_only
 * from timeout_ms. Returns NULL if the session is closed, which is then the thread's last error.
 * The caller gets a reference. This function and those below need the monitor. */
zkl_op *op_start(struct op_queue *q, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data);

/* ---- the same for what is more than a contender ---- */

/* What an operation goes through until op_decide(). */
struct op_way {
    /* The caller gives up; op_decide() comes of it, with code and text. */
    void (*abort)(void *on_way, int code, const char *text);
    /* The contender whose node the user may know. Returns NULL if there is none now. If this member
     * is NULL, there never is one. */
    const struct contender *(*waiting)(const void *on_way);
};

/* Begins what op_start() starts. If op_is_open() then, op_go() or op_contend() comes next. */
zkl_op *op_begin(struct op_queue *q, int64_t timeout_ms, zkl_acquired_fn fn, void *data);

/* False for NULL, and for what is decided: with the session's credentials refused it is at once. */
bool op_is_open(const zkl_op *op);

void op_go(zkl_op *op, const struct op_way *way, void *on_way);

/* From here on one contender will decide it. */
void op_contend(zkl_op *op, const struct contender_spec *spec);

/* op is a zkl_op. It takes over the grant; NULL: it has failed. */
void op_decide(void *op, zkl_grant *grant, const zkl_error *error);

/* ---- of all kinds ---- */

/* One that has waited since began_ns, CLOCK_BOOTTIME, is decided; oldest_ns: of those left, or 0.
 */
void op_count(zkl_session *s, struct stats_waits *waits, int64_t began_ns, int64_t oldest_ns,
              zkl_grant *grant, const zkl_error *error);

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
