/* A mutex lets the callers of one handle hold the lock one after the other. If the handle does not
 * retain, each caller has a contender of its own (docs/design/local-queue.md). If it retains, the
 * callers share one contender, and recipes/retain.h decides who has the next turn
 * (docs/design/retained.md). */
#ifndef LIB_MUTEX_H
#define LIB_MUTEX_H

#include "lib/contender/contender.h"

/* TURNS_MOST: how many idle tenures a session may have. TURNS_LOCAL: how many local waiters go
 * before a rival. Tests set smaller numbers. */
enum { TURNS_MOST = 1000, TURNS_LOCAL = 16 };
extern guint turns_most;
extern uint32_t turns_local;

struct turns;

/* For tests: returns the idle tenure of t, an entry of contenders.idle. The caller holds the
 * monitor. */
struct tenure *turns_tenure(const struct turns *t);

#endif
