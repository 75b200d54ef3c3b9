/* The contenders at the leader, as the world's notes tell. Only oracle*.c include this. */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "oracle.h"

struct contender_node {
    char *path;
    int64_t number;
    int line;
    int64_t session; /* its owner */
    uint64_t zxid;
    bool reader, writer; /* of a read-write lock */
    uint32_t permits;    /* of a semaphore, that it asks for; */
    bool numbered;       /* with numbers */
    bool overwritten;    /* its data were, by an administrator */
    int64_t refused_at;  /* when a read of it was, last */
    int32_t room;        /* the highest limit at which there was room for it; 0: never */
    bool gone;
    bool stray; /* it was made late: nobody may want it, and who looks for it takes his time */
    bool late;  /* when it was made, another stood before it */
    enum cause cause;
    int64_t gone_at;
    bool older;  /* than the last time that the server's data went back */
    bool undone; /* the server's data has gone back behind its making, or its end */
    /* taken by a third party: */
    bool behind;       /* when another stood before it */
    unsigned proof;    /* the first write that its session sent since; 0: none */
    uint64_t known_in; /* the step in which that was answered; 0: it was not */
    int64_t next;      /* when gone: the session of the one right behind it; 0: none */
    int64_t woken;     /* the session of another that was told of its end; 0: none yet */
};

void nodes_note(struct stage *stage, const struct note *note);

/* NULL: there never was one. */
struct contender_node *nodes_find(const struct oracle *o, const char *path);

/* A lease is made. Returns whether a node of its owner has been the first in line for the lock, or
 * is now but for nodes that had gone and were restored. */
bool nodes_had_lock(const struct oracle *o, const struct contender_node *lease);

/* To somebody: that may be lost, and wait for a callback that hangs. */
bool nodes_was_granted(const struct stage *stage, const struct contender_node *n);

/* Its number was not the last one that there is, or beyond. */
bool nodes_is_usable(const struct contender_node *n);

/* By a third party. */
bool nodes_was_taken(const struct contender_node *n);

/* The one with that token, or NULL. */
const struct contender_node *nodes_of_token(const struct oracle *o, uint64_t token);

/* Returns a usable node that stands on the same path before it, whatever its layout, or NULL. A
 * node that had gone and was restored does not count: nobody holds by it. Nor does a stray of the
 * same attempt. */
const struct contender_node *nodes_before(const struct oracle *o, const struct contender_node *own);

/* Whether it was made by a create whose answer was lost. */
bool nodes_is_adopted(const struct oracle *o, const char *path);

#endif
