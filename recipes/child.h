/* What a recipe knows of a child of its directory. Names stay with the driver. */
#ifndef RECIPES_CHILD_H
#define RECIPES_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum child_kind {
    CHILD_FOREIGN, /* no contender */
    CHILD_LOCK,    /* waits for locks; so does a candidate of a selector's election */
    CHILD_LATCH,   /* a candidate of a latch's election: waits for latches */
    CHILD_APACHE,  /* a lock of Apache's own recipes: waits for both sorts of lock */
    CHILD_RUBY,    /* a lock of zk-ruby */
    CHILD_READ,    /* a read-write lock's readers and writers */
    CHILD_WRITE,
    CHILD_LEASE, /* a semaphore's */
    CHILD_KINDS
};

/* Valid within one snapshot. */
struct child {
    uint32_t id; /* the driver's index of the name */
    enum child_kind kind;
    int32_t number;   /* the signed number the server put at the end of the name */
    uint32_t permits; /* LEASE: how many it asks for */
    bool numbered;    /* LEASE: each of which is to have a number */
    bool own;         /* carries the present id of this attempt */
    bool old;         /* carries an id this attempt had in an earlier session */
    bool retains;     /* its name says that its mutex handle retains: a hint */
};

#endif
