/* All contenders of a session: how it finds them, and what they hear of it. With the monitor held.
 */
#ifndef LIB_LOCKS_H
#define LIB_LOCKS_H

#include <glib.h>

#include "lib/session/participant.h"

/* A session's callers that wait here and have no contender: they hear of its end. */
struct all_local_callers {
    GQueue list; /* of struct local_callers */
    GList *next; /* the one told next; NULL: nobody */
};

struct local_callers {
    struct all_local_callers *all;
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; .context may go */
    void *context;
    GList link;
};

struct locks {
    struct participant participant;
    GQueue contenders;  /* of struct contender: all that have begun and are not done */
    GQueue by_deadline; /* those of them that go by the session's deadline */
    struct all_local_callers local_callers;
    GQueue idle;            /* of struct retained: those that hold for nobody, the longest first */
    GHashTable *admissions; /* path -> struct admission: of contender.c */
    bool admissions_closed; /* while all hear that the session ended */
};

/* Those of the session, which from then on tells them what happens to it. */
struct locks *locks_of(zkl_session *s);

/* Tells each of them once. One may go at any time, even while another is told. */
void local_callers_add(struct all_local_callers *all, struct local_callers *callers,
                       void (*abort)(void *context, const zkl_error *why), void *context);
void local_callers_remove(struct local_callers *callers);

#endif
