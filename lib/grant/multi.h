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

/* The transactions of the grants on one tenure, one under way at a time. A grant on several tenures
 * uses the line of the first one. */
struct multi_line {
    struct driver driver;
    struct tenure *tenure; /* whose this is */
    GQueue waiting;        /* of struct multi; the first is under way */
    bool asked;            /* to give way, by the node's data as last read */
    struct transaction machine;
};

/* Another request than a transaction has left that version in the tenure's node. */
void multi_go_on_from(struct tenure *t, int32_t version);

/* Whether a transaction is not decided yet, or never will be: it may be applied as long as the node
 * stands. line NULL: there was none. */
bool multi_line_is_in_doubt(const struct multi_line *line);

#endif
