/* Reading who contends below a path. */
#ifndef LIB_QUEUE_H
#define LIB_QUEUE_H

#include "lib/session/call.h"
#include "lib/session/request.h"
#include "recipes/child.h"

struct queue_wish {
    enum rule first;  /* nobody but the first that one of that rule waits for, behind a sync, with
                         the complete payload as valid UTF-8; RULE_NONE: all, whatever they are */
    bool holders;     /* nobody but those who hold */
    const char *node; /* nobody but the one of that name; NULL: whoever it is */
    size_t max_nodes; /* of zkl_queue_options, as the next */
    const zkl_queue *previous;
};

/* A snapshot. While it is read or changed an exchange has a reference, too. */
struct zkl_queue {
    int refs; /* guarded by the monitor meanwhile */
    zkl_session *session;
    char *directory; /* with chroot */
    struct queue_wish wish;
    GArray *list;           /* of zkl_contender, in order from the list on */
    uint64_t made, changed; /* the directory, and its children last: the list's zxids */
    GHashTable *known;      /* of zkl_contender by name: those of wish.previous that were read */
    int32_t limit;          /* of a semaphore of ours; 0: there is none */
    uint64_t limit_zxid;    /* when it was changed; 0: not since the directory was made */
    bool limit_read;
    bool unknown; /* whether a node was removed */
};

/* Many requests about it, and one answer: a call that begins anew with each session. */
struct queue_exchange {
    struct call call; /* the first member */
    zkl_queue *queue;
    void (*begin)(struct queue_exchange *x); /* what it asks the server first */
    unsigned left;                           /* requests under way */
    bool again; /* its session ended, or the first one left: it is all asked anew */
};

/* ---- queue.c ---- */

/* As zkl_queue_read(); directory has the chroot. */
int queue_read(zkl_queue **ret, zkl_session *s, const char *directory,
               const struct queue_wish *wish, int64_t timeout_ms);

/* Takes out whom queue_forget() was called for. */
void queue_compact(zkl_queue *q);

void queue_unref(zkl_queue *q);

/* How long the payload is in what a read of that child was answered: without what a fenced
 * transaction of ours leaves behind it, or numbered permits, which none has yet where the version
 * is 0. */
int queue_payload_length(const char *name, const char *data, int length, int32_t version);

/* Who holds, by kinds and order. Until the end of the reading some have another number than 0 and
 * 1. */
void queue_mark_holders(zkl_queue *q);

/* c, of which that was read, holds permits if an earlier limit may have admitted it. */
void queue_mark_earlier(const zkl_queue *q, zkl_contender *c, const struct store_reply *reply);

/* Whether c waits, and wish.previous has what is to be read of it, which is then filled in. */
bool queue_recall(const zkl_queue *q, zkl_contender *c);

/* ---- queue_read.c ---- */

/* Asks the server by begin; waits until all is answered. 0 and nobody else has q any more; or the
 * thread's last error, and q is freed. */
int queue_run(zkl_queue *q, void (*begin)(struct queue_exchange *x), int64_t timeout_ms);

/* Reads what its wish says: for queue_run(). */
void queue_begin_reading(struct queue_exchange *x);

/* For what else is begun so. A request about a contender, not sent yet; its done, whose context is
 * the exchange, ends in queue_answered(). Where nothing was to be asked, queue_end() says so. */
struct request *queue_request(struct queue_exchange *x, enum store_kind kind, guint contender,
                              void (*done)(struct request *r, const struct store_reply *reply));
void queue_answered(struct queue_exchange *x, enum store_rc rc);
void queue_refused(struct queue_exchange *x, enum store_rc rc); /* that is the error */
void queue_end(struct queue_exchange *x);

/* The contender has left. */
void queue_forget(zkl_contender *c);

/* The first among names for whom one of that rule waits; NULL: there is none. */
const char *queue_first(const char *const *names, int count, enum rule rule);

#endif
