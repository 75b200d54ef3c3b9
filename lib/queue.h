/* Reading who contends below a path. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include "core.h"
#include "recipes/child.h"

struct queue_wish {
    enum child_kind only; /* CHILD_FOREIGN: contenders of every kind */
    bool sync;            /* the server is to catch up with its leader before */
    bool head;            /* nobody but the first; its payload complete, as valid UTF-8 */
};

/* As zkl_queue_read(); directory has the chroot. */
int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms);

/* The first contender of that kind among names; NULL: there is none. */
const char *queue_first(char *const *names, int count, enum child_kind kind);

#endif
