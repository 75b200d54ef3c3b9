/* One replica of what ZooKeeper keeps: nodes and sessions, changed by transactions only. */
#ifndef WORLD_TREE_H
#define WORLD_TREE_H

#include <glib.h>

#include "world.h"

struct ask;

struct node {
    char *path, *name; /* GRefString: replicas share them */
    GBytes *data;      /* NULL: none */
    int32_t version;
    int32_t creations; /* of children, ever: the next sequence number */
    uint64_t czxid, mzxid, pzxid;
    int64_t ctime_ms, ephemeral_owner;
    bool container;
    struct node *parent;
    guint at;            /* among the parent's children */
    guint at_owner;      /* among its session's nodes */
    GPtrArray *children; /* of struct node */
};

/* What a transaction does to one node. */
struct part {
    enum store_kind kind; /* CREATE, SET, DELETE; GET: nothing, it was a check */
    char *path, *name;    /* GRefString */
    GBytes *data;
    int32_t version;   /* afterwards */
    int32_t creations; /* of the parent, afterwards */
    int64_t ephemeral_owner;
    bool container;
};

enum txn_kind { TXN_NODES, TXN_SESSION, TXN_END, TXN_ERROR };

struct txn {
    unsigned refs;
    uint64_t zxid;
    int64_t time_ms;
    enum txn_kind kind;
    int64_t session;
    int timeout_ms; /* SESSION */
    enum cause cause;
    enum store_rc rc; /* ERROR */
    int failed;       /* ERROR: which part */
    struct ask *ask;  /* who asked for it; NULL: nobody */
    GPtrArray *syncs; /* of struct ask: to be answered behind it */
    GArray *parts;    /* of struct part; END: the session's nodes */
};

struct replica_session {
    int64_t id;
    int timeout_ms;
    GPtrArray *nodes; /* of struct node: its ephemerals */
};

struct tree {
    uint64_t zxid;       /* of the last transaction applied */
    GHashTable *nodes;   /* path -> struct node; never walked */
    GPtrArray *sessions; /* of struct replica_session, in the order of their making */
    struct node *root;
};

struct tree *tree_new(bool alone);
struct tree *tree_copy(const struct tree *from);
void tree_free(struct tree *tree);

struct node *tree_find(const struct tree *tree, const char *path);
struct replica_session *tree_session(const struct tree *tree, int64_t id);
unsigned tree_count(const struct tree *tree); /* but those of a fresh server */

/* Calls changed for each node that was made, set or deleted, in order. */
void tree_apply(struct tree *tree, const struct txn *txn,
                void (*changed)(void *data, const char *path, enum store_fired fired), void *data);

/* The parent's path; NULL for the root. */
char *path_parent(const char *path);
bool path_is_below(const char *path, const char *top); /* or the same */

struct txn *txn_new(enum txn_kind kind, int64_t session);
struct txn *txn_ref(struct txn *txn);
void txn_unref(struct txn *txn);

#endif
