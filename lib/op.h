/* An acquisition: an attempt with a time limit and somebody who waits for it. */
#ifndef LIB_OP_H
#define LIB_OP_H

#include "contender.h"

/* Starts one; fn NULL: op_wait() will be called. spec->try_only is set from timeout_ms. NULL: the
 * session is closed, which is then the thread's last error. The caller has a reference. */
zkl_op *op_start(zkl_session *s, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data);

/* Blocks until it is decided; 0 and a grant of the caller's own, or the thread's last error. */
int op_wait(zkl_op *op, zkl_grant **ret);

/* As zkl_op_cancel(), with another error. */
void op_abort(zkl_op *op, int code, const char *text);

#endif
