/* All contenders of a session: how it finds them, and what they hear of it. With the monitor held.
 */
#ifndef LIB_LOCKS_H
#define LIB_LOCKS_H

#include <glib.h>

#include "lib/session/participant.h"
#include "local_callers.h"

struct locks {
    struct participant participant;
    GQueue contenders;  /* of struct contender: all who have begun and are not done */
    GQueue by_deadline; /* those of them that go by the session's deadline */
    struct all_local_callers local_callers;
    GQueue idle;            /* of struct retained: those that hold for nobody, the longest first */
    GHashTable *admissions; /* path -> struct admission: of contender.c */
    bool admissions_closed; /* while all hear that the session ended */
};

/* Those of the session, which from then on tells them what happens to it. */
struct locks *locks_of(zkl_session *s);

#endif
