/* A member of a double barrier: recipes/barrier.h decides. */
#ifndef LIB_DOUBLE_H
#define LIB_DOUBLE_H

#include "lib/session/call.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "recipes/barrier.h"
#include "spec.h"

struct double_call {
    struct call call;
    zkl_double_barrier *of; /* NULL once it has ended */
    bool enters;            /* or leaves */
};

/* All guarded by the monitor, but what is set when it is made. */
struct zkl_double_barrier {
    int refs; /* the user's, each request's, and while it is not outside */
    struct barrier_spec spec;
    struct barrier machine;
    GList link;               /* in those of the session that are not outside */
    struct double_call *call; /* under way; NULL: none */
    zkl_error error;          /* why it fails */
    char *node;               /* its own; NULL: none was made */
    bool sent;                /* the request for it was */
    bool late;                /* and more than once: it may be made again when it is gone */
    char *ready;
    char *own_name; /* the end of node */
    struct subscription ready_watch, member_watch;
    /* of the present look, count and opening: */
    int32_t version; /* of the directory */
    char *data;      /* in the directory */
    int length;
    GPtrArray *names; /* of the members, in order */
    GArray *czxids;   /* of uint64_t, the same */
    size_t unread, awaited;
    struct store_change changes[2]; /* of the transaction under way */
    char *text;                     /* in it */
};

/* ---- double.c ---- */

void double_step(zkl_double_barrier *b, struct barrier_event ev);
void double_ref(zkl_double_barrier *b);
void double_unref(zkl_double_barrier *b); /* the session has another reference */

/* ---- double_own.c ---- */

/* The own node is gone, but may be made late: late_create.h. */
void double_look_for_late(zkl_double_barrier *b);

/* ---- double_requests.c ---- */

/* Does what the machine asks of the server. */
void double_ask(zkl_double_barrier *b, const struct barrier_action *a);

/* The watches go. */
void double_ignore(zkl_double_barrier *b);

#endif
