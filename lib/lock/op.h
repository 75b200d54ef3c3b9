/* An acquisition: an attempt with a time limit and somebody who waits for it. */
#ifndef LIB_OP_H
#define LIB_OP_H

#include "contender.h"

/* Starts one, with the monitor held, as what follows; fn NULL: op_wait() will be called.
 * spec->try_only is set from timeout_ms. It stands in waiters (guarded by the monitor) until it is
 * decided. NULL: the session is closed, which is then the thread's last error. The caller has a
 * reference. */
zkl_op *op_start(zkl_session *s, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data, GQueue *waiters);

struct retained;
struct turn_caller;

/* The same, for a turn of a handle that retains. caller->tries is set from timeout_ms. */
zkl_op *op_start_turn(zkl_session *s, struct retained *r, struct turn_caller *caller,
                      int64_t timeout_ms, zkl_acquired_fn fn, void *data, GQueue *waiters);

struct multi_path;

/* The same, for all of the paths, which are in order: count of them. */
zkl_op *op_start_multi(zkl_session *s, struct contender_spec *spec, const struct multi_path *paths,
                       uint32_t count, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                       GQueue *waiters);

/* As zkl_op_cancel(), for a reason. */
void op_abort(zkl_op *op, int code, const char *text);

/* One reference more; zkl_op_free() gives it up. */
zkl_op *op_ref(zkl_op *op);

/* As contender_ahead(), of what contends by itself at one path. */
int op_ahead(const zkl_op *op);

/* Without the monitor held. Blocks until it is decided; 0 and a grant of the caller's own, or the
 * thread's last error. */
int op_wait(zkl_op *op, zkl_grant **ret);

/* What a call of the interface that does not block ends with: its own reference goes to ret, if
 * that is not NULL. op NULL: it could not begin, as the thread's last error says. */
int op_end_async(zkl_op *op, zkl_op **ret);

/* Ends all of them with that error. */
void op_abort_all(zkl_session *s, GQueue *waiters, int code, const char *text);

#endif
