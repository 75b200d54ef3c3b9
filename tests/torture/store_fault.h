/* One fault in what the library asks of the store: its n-th request, made to fail in one way. Over
 * the simulated ZooKeeper, in one thread. */
#ifndef TORTURE_STORE_FAULT_H
#define TORTURE_STORE_FAULT_H

#include <stdbool.h>

#include "lib/store/store.h"

enum way {
    WAY_NONE,
    /* An answer or a connection is lost: */
    WAY_NOT_SENT,
    WAY_UNKNOWN_UNDONE, /* on a connection that stands */
    WAY_UNKNOWN_DONE,
    WAY_BREAK_BEFORE,
    WAY_BREAK_AFTER,
    WAY_LATE,         /* and it is done soon after its repetition */
    WAY_LATE_AT_LAST, /* as long as the library reckons with it */
    /* It is refused: */
    WAY_NOAUTH,
    WAY_BAD,
    WAY_BAD_AT_ONCE, /* before submit returns */
    /* A third party takes away: */
    WAY_NONODE,         /* what it is about, just before */
    WAY_EXPIRED_BEFORE, /* the session, with the request on its way */
    WAY_EXPIRED_BEHIND, /* the session, with the answer on its way */
    WAYS
};

extern const char *const way_names[WAYS];

static inline bool way_is_loss(enum way way)
{
    return way >= WAY_NOT_SENT && way <= WAY_LATE_AT_LAST;
}

static inline bool way_is_late(enum way way)
{
    return way == WAY_LATE || way == WAY_LATE_AT_LAST;
}

/* world_store with the fault. */
extern const struct store_ops fault_store;

/* Counting begins. nth counts from 1. */
void store_fault_set(enum way way, unsigned nth);
/* Besides, the first create of a contender gets no answer; done: but is done. */
void store_fault_lose_create(bool done);
/* Nothing fails or counts any more. */
void store_fault_end(void);

unsigned store_fault_count(void);
bool store_fault_reached(void);
enum store_kind store_fault_kind(void); /* of what failed, if it was reached */

#endif
