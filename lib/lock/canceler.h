/* Ending another thread's wait: the calls that wait, by the handle that ends them. */
#ifndef LIB_CANCELER_H
#define LIB_CANCELER_H

#include <zkl.h>

/* 0; ZKL_ECANCELED: too late to begin a wait at path, which may be NULL, and so may c. */
int canceler_check(zkl_canceler *c, const char *path);

/* As op_wait(), which zkl_canceler_cancel() ends. c may be NULL. */
int canceler_wait(zkl_canceler *c, zkl_op *op, zkl_grant **ret);

/* What a call of the interface that blocks ends with, and its own reference: the same. op NULL: it
 * could not begin, as the thread's last error says. */
int canceler_end_call(zkl_canceler *c, zkl_op *op, zkl_grant **ret);

#endif
