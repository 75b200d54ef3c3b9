/* Who has callers that wait here and have no contender: they hear of the session's end. With the
 * monitor held. */
#ifndef LIB_LOCAL_CALLERS_H
#define LIB_LOCAL_CALLERS_H

#include <glib.h>
#include <zkl.h>

/* Those of a session. */
struct all_local_callers {
    GQueue list; /* of struct local_callers */
    GList *next; /* who is told next; NULL: nobody */
};

struct local_callers {
    struct all_local_callers *all;
    void (*abort)(void *context, const zkl_error *why); /* ends their calls; .context may go */
    void *context;
    GList link;
};

/* Each that is there is told once. They may go at any time, also while another is told. */
void local_callers_add(struct all_local_callers *all, struct local_callers *callers,
                       void (*abort)(void *context, const zkl_error *why), void *context);
void local_callers_remove(struct local_callers *callers);
void local_callers_abort(struct all_local_callers *all, const zkl_error *why);

#endif
