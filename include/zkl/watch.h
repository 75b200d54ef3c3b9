/* A watch: the calls of a function at every change of a queue or of an election's leader. */
#ifndef ZKL_WATCH_H
#define ZKL_WATCH_H

#include <zkl/api.h>

ZKL_BEGIN

/* Ends it: no call begins any more, and one under way on another thread is waited for, except in a
 * callback. NULL is ignored. Since 0.1. */
ZKL_API void zkl_watch_free(zkl_watch *w);

ZKL_END

#endif
