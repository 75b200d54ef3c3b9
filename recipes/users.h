/* The users of a ZooKeeper session that hold nothing in it. The library may not end the session by
 * itself while it has such a user, unless the servers end it anyway. */
#ifndef RECIPES_USERS_H
#define RECIPES_USERS_H

#include <stdbool.h>
#include <stdint.h>

enum end_reason {
    ENDING_STALE, /* a session that has just been made is to be made again, quicker */
    ENDING_COLD,  /* another one is proved sooner */
    ENDING_PURGE, /* a node stands that nothing else removes */
    ENDINGS
};

struct users {
    unsigned calls; /* and transactions, that are under way */
    unsigned lent;  /* handles, to functions of the program's own */
    unsigned kept;  /* the program's own nodes, as far as it has declared them */
};

/* holds: something is held, or a member is in or on its way. out: for how long there has been no
 * connection, 0 if there is one. Both in ns. */
bool users_let_end(const struct users *u, bool holds, enum end_reason why, int64_t out,
                   int64_t timeout);

#endif
