/* All contenders of a session: how it finds them, and what they hear of it. With the monitor held.
 */
#ifndef LIB_LOCKS_H
#define LIB_LOCKS_H

#include <glib.h>

#include "lib/session/participant.h"

/* Those who wait for acquisitions through one handle each: they hear of the session's end before
 * its contenders do, which would enter again. */
struct all_callers {
    GQueue list; /* of struct callers */
    GList *next; /* the one told next; NULL: nobody */
};

struct callers {
    struct all_callers *all;
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; .context may go */
    void *context;
    GList link;
};

struct locks {
    struct participant participant;
    GQueue contenders;  /* of struct contender: all that have begun and are not done */
    GQueue by_deadline; /* those of them that go by the session's deadline */
    struct all_callers callers;
    GQueue idle;            /* of struct retained: those that hold for nobody, the longest first */
    GHashTable *admissions; /* path -> struct admission: of contender.c */
    bool admissions_closed; /* while all hear that the session ended */
};

/* Those of the session, which from then on tells them what happens to it. */
struct locks *locks_of(zkl_session *s);

/* Tells each of them once. One may go at any time, even while another is told. */
void callers_add(struct all_callers *all, struct callers *callers,
                 void (*abort)(void *context, const zkl_error *why), void *context);
void callers_remove(struct callers *callers);

#endif
