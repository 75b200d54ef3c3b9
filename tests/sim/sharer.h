/* A host that shares shards with others: it decides by tools/shards_plan.h, over a member, locks
 * and zkl_shards_plan(), as zkl shards does it for commands. It has a session for its member and
 * one for its locks. */
#ifndef SIM_SHARER_H
#define SIM_SHARER_H

#include <zkl.h>

#include "client.h"
#include "tools/shards_plan.h"

enum { SHARDS = 6, SHARER_DRAIN_MS = 800 };

struct shard_slot {
    struct sharer *sharer;
    zkl_mutex *mutex;
    zkl_op *op;
    zkl_grant *grant;
    struct shard_plan plan;
    bool owned, granted, wanted;
    bool over; /* lost, or not granted */
    struct {
        int64_t from, ends_at; /* ms; 0: none is under way */
        bool finds;            /* another contender */
    } look;
    int64_t looked_at;
    bool waits;
    bool asked;      /* somebody else was in line since another one should have it: the oracle's */
    int64_t ends_at; /* its command, which was told to end; ms; 0: it was not */
};

struct sharer {
    char id[2];
    struct client *client, *locker;
    void (*careless)(const struct shard_slot *s, struct shard_facts *f); /* it decides otherwise */
    unsigned count, weight;                                              /* what it says */
    zkl_member *member;
    zkl_watch *watch;
    uint64_t joined, seen; /* as in tools/shards.c */
    bool confirmed;
    int64_t confirmed_since;
    bool stops; /* it gives up its shards, or has */
    bool ended;
    struct shard_slot slots[SHARDS];
    unsigned grants;
    struct alarm turn;
};

/* Joins, and begins to observe. All but id, client, locker, careless, count and weight is 0. */
void sharer_begin(struct sharer *h);
void sharer_stop(struct sharer *h);          /* leaves, and then gives up its shards */
bool sharer_is_idle(const struct sharer *h); /* it has none */
void sharer_go_on(struct sharer *h);         /* joins again: it was stopped, and is idle */
void sharer_end(struct sharer *h);           /* for good, whatever it has */

/* After each step: who is in line. */
void sharer_look(struct sharer *h);

/* Its command runs. A guard ends it by the deadline of its lock. */
bool sharer_works(const struct sharer *h, int shard);

#endif
