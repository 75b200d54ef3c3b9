/* What an observer of a group is told: how the members that were read differ from those that it was
 * told of. The driver keeps the names.
 *
 * A member is a node, by its czxid. If a node was deleted and made anew with the same name, one
 * member has left and another has joined. Data older than those that were told are held back
 * (children.h). */
#ifndef RECIPES_GROUP_H
#define RECIPES_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* A node, as read or as told. All 0: there is none. */
struct group_node {
    uint64_t czxid;
    uint64_t mzxid; /* of the last change of its data */
};

/* What is to be told of one name, in this order. */
struct group_news {
    bool left;
    bool joined;
    bool changed;
    uint64_t at; /* the zxid of joining or changing: news are told in the order of these; a name
                    that only left has 0, and comes first */
};

/* Returns the news of a name. *told is how it was told last, now is how it was read; copies now to
 * *told. other: it is the same node with the same zxids, but not the same data. If the servers'
 * data have gone back, zxids come again. */
struct group_news group_see(struct group_node *told, struct group_node now, bool other);

/* Whether now is an earlier state of the node that was told. */
bool group_is_older(struct group_node told, struct group_node now);

#endif
