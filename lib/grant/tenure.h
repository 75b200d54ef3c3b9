/* Tenure: what the server knows of a right. It has one node of ours (a member's, or one at the head
 * of a queue), the node's token, and until when nobody else can have the right. Grants, which users
 * have, stand on tenures: at most one at a time on each. The monitor guards all but .validity and
 * what never changes. */
#ifndef LIB_TENURE_H
#define LIB_TENURE_H

#include "lib/session/core.h"
#include "validity.h"

/* What a holder is called for, once. */
enum tenure_call {
    TENURE_WANTED, /* another contender waits */
    TENURE_ASKED,  /* to give way */
    TENURE_CALLS
};

struct contender;
struct multi_line;

/* What its keeper, a contender, does. */
struct tenure_ops {
    void (*release)(struct contender *keeper);                /* delete the node */
    void (*vanished)(struct contender *keeper);               /* the node is gone, it is known */
    void (*find_out[TENURE_CALLS])(struct contender *keeper); /* is there reason for such a call? */
};

struct tenure {
    atomic_int refs;
    struct validity validity;
    /* never changed: */
    uint64_t token;
    int64_t session_id;
    zkl_session *session;
    char *full_node;
    /* guarded by the monitor: */
    char *payload; /* what is in the node; NULL: a member's data, to which no transaction adds */
    const struct tenure_ops *ops;
    struct contender *keeper; /* NULL: it has let go of it, or it is a member's */
    bool kept;                /* by that or by a member: grant_detach() is still to come */
    zkl_grant *grant;         /* that stands on it, with a reference while it is kept; NULL: none */
    bool called[TENURE_CALLS];
    struct multi_line *line; /* of its transactions, freed by .free_line; NULL: there was none */
    void (*free_line)(struct multi_line *line);
};

/* Makes a tenure with s's present deadline. Its one reference belongs to what keeps it. full_node
 * is the node's path with chroot; keeper and payload may be NULL. */
struct tenure *tenure_new(zkl_session *s, const struct tenure_ops *ops, struct contender *keeper,
                          const char *full_node, const char *payload, uint64_t token);

struct tenure *tenure_ref(struct tenure *t);

void tenure_unref(
    struct tenure *t); /* without the monitor held, unless another reference remains */

/* What is in the node from here on. */
void tenure_set_payload(struct tenure *t, const char *payload);

/* They do nothing when there is no keeper. */
void tenure_release(struct tenure *t);
void tenure_vanished(struct tenure *t);
void tenure_find_out(struct tenure *t, enum tenure_call call);

#endif
