/* What an acquisition of numbered permits is made of. Only numbered*.c include this. */
#ifndef LIB_NUMBERED_STATE_H
#define LIB_NUMBERED_STATE_H

#include "lib/session/watch.h"
#include "locks.h"
#include "numbered.h"
#include "recipes/numbering.h"

struct numbered {
    zkl_session *session; /* which outlives it */
    struct contender_spec spec;
    contender_decided decided; /* NULL: it was called */
    void *context;
    int refs;                    /* until it is decided, each request under way, each step */
    struct contender *contender; /* NULL: admitted */
    zkl_grant *grant;            /* NULL: not admitted */
    struct numbering machine;
    GPtrArray *before;                /* paths of the nodes whose numbers it must know */
    GArray *used;                     /* of int32_t: the numbers that they have */
    int32_t *numbers;                 /* that were chosen, or found: as many as permits */
    int32_t ceiling;                  /* these are, and those of all before it; 0: not known */
    bool chosen;                      /* for the present node: others may know them */
    int32_t version;                  /* of the own node */
    struct subscription subscription; /* to the node that it waits for */
    struct timer timer;               /* to begin again */
    struct local_callers callers;     /* of the session's, until then */
    bool restarting;
    bool answered; /* by the present contender */
    bool entering; /* the contender tells of its admission, and must not end meanwhile */
    bool denied;   /* the last answer was that permission was refused */
};

/* ---- numbered.c ---- */

uint32_t numbered_permits(const struct numbered *n);
void numbered_step(struct numbered *n, const struct numbering_event *ev);
void numbered_fail(struct numbered *n, int code);
void numbered_unref(struct numbered *n);

/* The payload with the numbers that were chosen, as they stand in the own node's data. */
char *numbered_text(const struct numbered *n);

/* ---- numbered_requests.c ---- */

/* Asks for what the machine wants to know or to have written. */
void numbered_ask(struct numbered *n, const struct numbering_action *a);

/* The node that it waits for has changed or gone. */
void numbered_fired(void *numbered, bool gone);

#endif
