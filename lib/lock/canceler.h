/* Ending another thread's wait: the calls that wait, by the handle that ends them. */
#ifndef LIB_CANCELER_H
#define LIB_CANCELER_H

#include <stdbool.h>
#include <zkl.h>

/* Too late to begin a wait. */
bool canceler_is_canceled(zkl_canceler *c);

/* As op_wait(), which zkl_canceler_cancel() ends. c may be NULL. */
int canceler_wait(zkl_canceler *c, zkl_op *op, zkl_grant **ret);

#endif
