/* Groups of members as the servers have them, and the processes that join them (joiner.h) and
 * observe them (viewer.h). What must be true, whatever happens:
 *
 *  - a process that says that it is a member has a node at the leader, with its own session as the
 *    owner, until a third party takes that; each node is deleted by its own session alone, and
 *    written by its own process; data never grow older;
 *  - what a member is told of itself is a consistent story, and what its calls tell is so;
 *  - an observer's story is one, too: it joins, changes, leaves, nothing twice, in the order of
 *    tokens, each thing as it was once committed; with a connection it is told in time who has
 *    come and gone;
 *  - when all is well, one of those who want an id has it, and others have it in turn; observers
 *    know just who is there. When all have left nothing is left of them.
 *
 * There is one exception (docs/design/members.md): if an administrator has deleted a node and
 * another process has created it, the former owner may still write into that, or delete it. */
#ifndef SIM_GROUP_H
#define SIM_GROUP_H

#include "stage.h"

enum { GROUP_PATHS = 2, GROUP_PARTY = 1 /* kazoo's layout; the other one is Curator's */ };

extern const char *const group_paths[GROUP_PATHS];

struct member_node {
    int path;
    char *name;
    uint64_t token;
    int64_t session;
    const struct client *owner; /* NULL: unknown */
    GPtrArray *data;            /* of char: all it had, in turn */
    int64_t made_at, gone_at;   /* NEVER: it stands */
    bool taken;                 /* by a third party */
    bool undone;                /* the servers' data have gone back behind its end */
};

struct group {
    struct stage *stage;
    GPtrArray *nodes; /* of struct member_node: all there ever were */
    GPtrArray *joiners, *viewers;
    int64_t stale_ns; /* what a connected observer is told is no older */
    bool restored;    /* tokens have begun anew */
    bool administered[GROUP_PATHS];
};

struct group *group_new(struct stage *stage);
void group_free(struct group *g); /* when the stage's processes have ended */

/* Each of these does nothing if the stage has no group. */
void group_note(struct stage *stage, const struct note *note);
void group_check(struct stage *stage); /* after each step */
void group_close(struct client *p);    /* its session is about to be closed, */
void group_closed(struct client *p);   /* and was */
void group_abandon(struct client *p);  /* it is dead */

/* The newest with that name and token, or NULL. */
struct member_node *group_find(const struct group *g, int path, const char *name, uint64_t token);
/* The one that stands, or NULL. */
struct member_node *group_standing(const struct group *g, int path, const char *name);

/* Faults use these. The first returns the path of a node that stands, to be freed, or NULL. The
 * second returns the session of a node that had gone and was restored; 0: there is none. */
char *group_some_node(const struct group *g, uint32_t random);
int64_t group_restored(const struct group *g);

/* NULL, or what is left of members that have all left. To be freed. */
char *group_remains(const struct group *g);

#endif
