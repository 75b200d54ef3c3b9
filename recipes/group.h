/* What an observer of a group is told: the difference between what it was told of each member and
 * what was read since. Names stay with the driver.
 *
 * A member is its node, by its czxid: one of the same name that was made anew has left, and joined.
 * Everything that is read in one session is newer than what was read before; another session may
 * have found a server that lags. A list is old if the group has changed since; it is not used. */
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

/* Of a name that was told as told and read as now: what is news of it, and *told as it is then. */
struct group_news group_see(struct group_node *told, struct group_node now);

/* All 0 at the beginning. */
struct group {
    uint64_t changed; /* the pzxid of the newest list: when the children changed last */
};

/* A list of that pzxid: whether it is as new as what was seen before, and then counts. */
bool group_list(struct group *g, uint64_t pzxid);

/* The servers' data have gone back: what was seen so far is no measure any more. */
void group_rewind(struct group *g);

#endif
