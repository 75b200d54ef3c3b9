/* Groups of members as the servers have them, and the processes that join them and
 * observe them. What must be true, whatever happens:
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

#include <zkl.h>

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

/* Faults use these. The first returns the path of a node that stands, to be freed, or NULL. The
 * second returns the session of a node that had gone and was restored; 0: there is none. */
char *group_some_node(const struct group *g, uint32_t random);
int64_t group_restored(const struct group *g);

/* NULL, or what is left of members that have all left. To be freed. */
char *group_remains(const struct group *g);

/* ---- those who join ---- */

/* One membership that a process has asked for: what it says of itself, what it is told, and how its
 * calls end. */
struct joiner {
    struct client *process;
    unsigned number; /* from 1 */
    int path;
    char *id;
    zkl_member *member; /* NULL: freed */
    bool leaving;       /* it has been asked to leave, or freed */
    bool closed;        /* or its session was closed */
    bool ended;         /* it was told that it has left */
    bool abandoned;     /* its process is dead */
    /* as it was told: */
    bool joined, in, suspect, busy, failed;
    bool held; /* once, perhaps since its first question came before a proof */
    uint64_t token;
    zkl_grant *grant;   /* of the last JOINED; NULL: none */
    bool lost;          /* that was seen lost */
    unsigned asked;     /* the newest data: a number; 1 from the beginning */
    unsigned stored;    /* the newest that the servers have committed */
    GPtrArray *calls;   /* of struct joiner_call */
    struct alarm *wake; /* of whoever plays it: to act soon, when it has heard something */
};

struct joiner *joiner_new(struct client *p, int path, const char *id, struct alarm *wake);

/* Calls, of which the ends are checked. */
void joiner_update(struct joiner *j, int64_t timeout_ms);
void joiner_wait(struct joiner *j, int64_t timeout_ms);
void joiner_leave(struct joiner *j, int64_t timeout_ms);
void joiner_give_up(struct joiner *j); /* frees the handle */

bool joiner_wants_in(const struct joiner *j);
/* It says so, and its node stands. */
bool joiner_is_in(const struct joiner *j);
bool joiner_is_waiting(const struct joiner *j); /* for a call */

/* ---- those who observe ---- */

struct viewer {
    struct client *process;
    unsigned number; /* from 1 */
    int path;
    zkl_watch *watch;
    bool ended, abandoned;
    bool any;           /* it was told who is there, once */
    GHashTable *told;   /* name -> struct told: who is there, as it was told */
    GHashTable *last;   /* name -> the last token that it was told */
    int64_t well_since; /* it has had a connection */
    bool others;        /* since ALL somebody joined or changed */
    bool news;          /* or left */
    uint64_t batch;     /* the last token that joined since ALL */
};

struct viewer *viewer_new(struct client *p, int path);
void viewer_end(struct viewer *v);

/* NULL: what it was told is so; else what is not. */
const char *viewer_errs(const struct viewer *v);
/* Whether it must have been told by now what it was not. */
void viewer_check(struct viewer *v);

#endif
