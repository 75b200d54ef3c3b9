/* What an observer of a group is told: the difference between what it was told of each member and
 * what was read since. Names stay with the driver.
 *
 * A member is its node, by its czxid: one of the same name that was made anew has left, and joined.
 *
 * What is read should never be older than what was told: within a session the servers see to it,
 * and in the next one the sync before its first list. It is older where a server lags all the same,
 * or where the servers' data have gone back, which nobody may have noticed. So what is older is
 * held back, and read again. When it has been older for one session timeout, nothing newer will
 * come, and it is told. */
#ifndef RECIPES_GROUP_H
#define RECIPES_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* One node, as read or as told. All 0: there is none. */
struct group_node {
    uint64_t czxid;
    uint64_t mzxid; /* of the last change of its data */
};

/* What is to be told of one name; in this order. */
struct group_news {
    bool left;
    bool joined;
    bool changed;
    uint64_t at; /* the zxid of joining or changing: news are told in the order of these; a name
                    that only left has 0, and comes first */
};

/* Of a name that was told as told and read as now: what is news of it, and *told as it is then.
 * other: it is the same node with the same zxids, but not the same data. Where the servers' data
 * have gone back, zxids come again. */
struct group_news group_see(struct group_node *told, struct group_node now, bool other);

/* Whether now is an earlier state of the node that was told. */
bool group_is_older(struct group_node told, struct group_node now);

/* All 0 at the beginning. */
struct group {
    uint64_t changed; /* the pzxid of the newest list: when the children changed last */
    bool older;       /* what was read is older than what was told, */
    int64_t since;    /* since then; ns */
    bool rewound;     /* what is older counts */
};

/* A list of that pzxid: whether it is as new as what was seen before, and then counts. */
bool group_list(struct group *g, uint64_t pzxid);

/* What was read, a list or a member, is older than what was told: whether it is held back. If not,
 * the group is rewound. patience: for how long; ns. */
bool group_holds_back(struct group *g, int64_t now, int64_t patience);

/* Another connection: its server need not be the one that had older data. */
void group_connected(struct group *g);

/* All that is there was read, and was told. */
void group_told(struct group *g);

/* The servers' data have gone back: what was seen so far is no measure any more. */
void group_rewind(struct group *g);

#endif
