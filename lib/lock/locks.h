/* All contenders of a session: how it finds them, and what they hear of it. With the monitor held.
 */
#ifndef LIB_LOCKS_H
#define LIB_LOCKS_H

#include <glib.h>

#include "lib/session/participant.h"

/* Who has callers that wait here and have no contender. */
struct local_callers {
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; .context may go */
    void *context;
    GList link;
};

struct locks {
    struct participant participant;
    GQueue contenders;    /* of struct contender: all who have begun and are not done */
    GQueue by_deadline;   /* those of them that go by the session's deadline */
    GQueue local_callers; /* of struct local_callers */
    GList *next_callers;  /* of them: who is told next that the session has ended; NULL: nobody */
    GQueue idle;          /* of struct retained: those that hold for nobody, the longest first */
    GHashTable *late_creates; /* directory -> struct late_create: nodes that may come yet */
    GHashTable *admissions;   /* path -> struct admission: of admission.c */
    bool admissions_closed;   /* while all hear that the session ended */
    GHashTable *hint_refused; /* directory -> int64_t: until when no hint is tried there again */
};

/* The end of the session is told once to each that is there. They may go at any time, also while
 * another is told. */
void local_callers_add(struct locks *all, struct local_callers *callers,
                       void (*abort)(void *context, const zkl_error *why), void *context);
void local_callers_remove(struct locks *all, struct local_callers *callers);

/* Those of the session, which from then on tells them what happens to it. */
struct locks *locks_of(zkl_session *s);

#endif
