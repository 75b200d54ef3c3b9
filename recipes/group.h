/* What an observer of a group is told: the difference between what it was told of each member and
 * what was read since. Names stay with the driver.
 *
 * A member is its node, by its czxid: one of the same name that was made anew has left, and joined.
 * What is older than what was told is held back (newest.h). */
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

/* Returns the news of a name that was told as *told and is read as now, and copies now to *told.
 * other: it is the same node with the same zxids, but not the same data. Where the servers' data
 * have gone back, zxids come again. */
struct group_news group_see(struct group_node *told, struct group_node now, bool other);

/* Whether now is an earlier state of the node that was told. */
bool group_is_older(struct group_node told, struct group_node now);

#endif
