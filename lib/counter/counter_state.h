/* Counters: the handle, one operation at the server, the same behind a fence. */
#ifndef LIB_COUNTER_STATE_H
#define LIB_COUNTER_STATE_H

#include "lib/session/core.h"
#include "recipes/counter.h"

struct zkl_counter {
    zkl_session *session;
    char *path; /* with chroot */
    unsigned width;
};

/* ---- counter_op.c ---- */

/* What zkl_counter_…() returns for the verdict of an operation but COUNTER_REFUSED, which is the
 * thread's last error then. */
int counter_result(const zkl_counter *c, enum counter_verdict verdict);

/* Does what wish says, and leaves in it what came of it: .next, .version, .czxid. absent may be
 * NULL: where COUNTER_GET did not find the node. 0, or the thread's last error. */
int counter_run(const zkl_counter *c, struct counter *wish, int64_t timeout_ms, bool *absent);

/* ---- counter_fence.c ---- */

/* The same for a wish that writes, by transactions of fence. */
int counter_run_fenced(const zkl_counter *c, struct counter *wish, zkl_grant *fence,
                       int64_t timeout_ms);

#endif
