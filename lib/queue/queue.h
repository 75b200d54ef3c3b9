/* Who contends below a path: read, asked to give way, removed. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include "lib/session/core.h"
#include "recipes/rule.h"

struct queue_wish {
    enum rule first;  /* only the first contender for which one of that rule waits, read after a
                         sync, with the complete payload as valid UTF-8; RULE_NONE: all
                         contenders */
    bool holders;     /* nobody but those who hold */
    const char *node; /* nobody but the one of that name; NULL: whoever it is */
    size_t max_nodes; /* of zkl_queue_options, as the next */
    const zkl_queue *previous;
};

/* The same as zkl_queue_read(); directory has the chroot. */
int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms);

/* The first among names for whom one of that rule waits; NULL: there is none. */
const char *queue_first(const char *const *names, int count, enum rule rule);

#endif
