/* The contenders below a path: they are read, asked to give way, or removed. The caller does not
 * hold the monitor, except for queue_first(), which needs no lock. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include "lib/session/core.h"
#include "recipes/rule.h"

struct queue_wish {
    enum rule first;  /* RULE_NONE: all contenders. Otherwise only the first contender for which one
                         of that rule waits: it is read after a sync, and its whole payload becomes
                         valid UTF-8 */
    bool holders;     /* only those that hold */
    const char *node; /* only the contender of that name; NULL: any */
    size_t max_nodes; /* as in zkl_queue_options */
    const zkl_queue *previous; /* as in zkl_queue_options */
};

/* Reads what wish says; otherwise as zkl_queue_read(). directory has the chroot. */
int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms);

/* Returns the first of names for which one of that rule waits; NULL: there is none. */
const char *queue_first(const char *const *names, int count, enum rule rule);

#endif
