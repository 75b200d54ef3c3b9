/* A mutex: the callers of one handle, in turn. Where nothing is retained each has a contender of
 * its own, one after the other (docs/design/local-queue.md). Where the handle retains they share
 * one, and recipes/retain.h decides (docs/design/retained.md). What stands in a table of
 * functions is called with the monitor held, but handle_kind.take, and so is what it calls. The
 * functions of the interface are called without it. */
#ifndef LIB_MUTEX_H
#define LIB_MUTEX_H

#include "lib/contender/contender.h"

/* How many idle tenures a session may have, and how many local waiters go before a rival. Tests set
 * smaller numbers. */
enum { TURNS_MOST = 1000, TURNS_LOCAL = 16 };
extern guint turns_most;
extern uint32_t turns_local;

/* For tests: the tenure that t keeps for nobody; t is an entry of contenders.idle. The caller holds
 * the monitor. */
struct turns;
struct tenure *turns_tenure(const struct turns *t);

#endif
