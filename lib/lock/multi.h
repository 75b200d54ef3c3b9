/* Fenced transactions. Each begins with a set of the grant's own node that asks for the version
 * that node has: refused without the node, it fences, and of all that ask for one version one is
 * applied. recipes/transaction.h has what follows when an answer is lost.
 *
 * All with the monitor held. */
#ifndef LIB_MULTI_H
#define LIB_MULTI_H

#include <semaphore.h>
#include <stdint.h>

#include "lib/session/core.h"
#include "recipes/transaction.h"

/* The transactions of one grant, one under way at a time. */
struct multi_line {
    GQueue waiting; /* of struct multi, the first is under way */
    bool stepping;
    bool asked; /* to give way, by the node's data as last read */
    struct transaction machine;
};

struct multi {
    int refs; /* its line's, that of the request under way, and of who is told */
    zkl_grant *grant;
    zkl_session *session;         /* the grant's */
    struct store_change *changes; /* the first is the fence; of a whole, the other nodes follow */
    int count;
    GStringChunk *texts; /* what changes point to */
    bool release;
    bool begun;
    bool told;
    struct timer timer;
    int64_t timeout_ms;
    zkl_multi_fn fn; /* NULL: somebody waits for ended */
    void *data;
    sem_t ended;
    zkl_error error; /* .code 0: applied */
    GList link;
};

/* Puts m behind the others of its grant. From here on it is told once, by fn or ended. */
void multi_enter(struct multi *m);

void multi_on_timeout(void *multi);

void multi_end(struct multi *m); /* unref without the monitor held */

#endif
