/* Fenced transactions. Each begins with a set of the grant's own node that asks for the node's
 * version. The servers refuse that set if the node is gone, so it fences. They apply at most one of
 * all sets that ask for one version. recipes/transaction.h has what follows when an answer is lost.
 *
 * The caller holds the monitor; the functions of the interface, at the end of multi.c, take it. */
#ifndef LIB_MULTI_H
#define LIB_MULTI_H

#include "grant.h"
#include "lib/session/driver.h"
#include "recipes/transaction.h"

/* The transactions of the grants on one tenure, one under way at a time. Those of a grant on
 * several tenures are in the queue of the first one. */
struct multi_queue {
    struct driver driver;
    struct tenure *tenure; /* has this queue, and frees it */
    GQueue waiting;        /* of struct multi; the first is under way */
    bool asked;            /* the node's data, as last read, ask the holder to give way */
    struct transaction machine;
};

/* Sets the version for which the next transaction asks, after another request of ours has set the
 * tenure's node. */
void multi_go_on_from(struct tenure *t, int32_t version);

/* Whether a transaction may still be applied as long as the node stands: it is under way, or its
 * outcome stays unknown. q NULL: there was no transaction. */
bool multi_is_in_doubt(const struct multi_queue *q);

#endif
