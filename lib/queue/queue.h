/* Reading who contends below a path. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include <semaphore.h>

#include "lib/session/core.h"
#include "recipes/child.h"

struct queue_wish {
    enum child_kind only; /* CHILD_FOREIGN: contenders of every kind */
    bool sync;            /* the server is to catch up with its leader before */
    bool head;            /* nobody but the first; its payload complete, as valid UTF-8 */
    size_t max_nodes;     /* of zkl_queue_options, as the next */
    const zkl_queue *previous;
};

/* A snapshot, and while it is being read the reading: requests under way hold it. */
struct zkl_queue {
    int refs; /* guarded by the monitor while reading */
    zkl_session *session;
    char *directory; /* with chroot */
    struct queue_wish wish;
    GArray *list;      /* of zkl_contender, in order from the list on */
    GHashTable *known; /* of zkl_contender by name: those of wish.previous that were read */
    unsigned left;     /* requests under way */
    bool again;        /* its session ended, or the first one left: it is all asked anew */
    bool over;         /* the caller has its answer */
    sem_t done;
    struct timer timer;
    zkl_error error;
};

/* ---- queue.c ---- */

/* 0, or ZKL_EINVAL with the thread's last error set. */
int queue_take_options(struct queue_wish *wish, const zkl_queue_options *options);

/* As zkl_queue_read(); directory has the chroot. */
int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms);

void queue_unref(zkl_queue *q);

/* How long the payload is in what a read of that child was answered: without what a fenced
 * transaction of ours leaves behind it, which none has yet where the version is 0. */
int queue_payload_length(const char *name, const struct store_reply *reply);

/* Who holds, by kinds and order. */
void queue_mark_holders(zkl_queue *q);

/* Whether c waits, and wish.previous has what is to be read of it, which is then filled in. */
bool queue_recall(const zkl_queue *q, zkl_contender *c);

/* ---- queue_read.c ---- */

/* Reads into q what its wish says; waits. 0 and nobody else has q any more, or the thread's last
 * error. */
int queue_fill(zkl_queue *q, int64_t timeout_ms);

/* The first contender of that kind among names; NULL: there is none. */
const char *queue_first(char *const *names, int count, enum child_kind kind);

#endif
