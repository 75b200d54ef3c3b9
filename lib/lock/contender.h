/* The driver of one attempt: feeds its recipe and does what the recipe asks. All with the monitor
 * held. */
#ifndef LIB_CONTENDER_H
#define LIB_CONTENDER_H

#include "lib/base/layout.h"
#include "lib/session/core.h"

struct contender;

/* Called exactly once: the grant (owned by the callee) or the error. */
typedef void (*contender_decided)(void *context, zkl_grant *grant, const zkl_error *error);

struct contender_spec {
    char *directory; /* GRefString, with chroot */
    char *payload;   /* GRefString */
    zkl_parents parents;
    enum child_kind kind; /* whom it waits for */
    enum name_style style;
    int priority; /* part of the name when above 0 */
    bool try_only;
    bool strict; /* a child that is no contender is an error */
    bool hints;  /* in a long queue it leaves a head hint in the directory's data, and goes by it */
};

/* Of how many children on a queue is long: tests put less here. */
extern uint32_t contender_long_queue;

/* Enters the queue. The pointer is good until decided was called. */
struct contender *contender_enter(zkl_session *s, const struct contender_spec *spec,
                                  contender_decided decided, void *context);

/* How many were first when it last looked; -1: it has not yet. Before decided. */
int contender_ahead(const struct contender *c);

/* The caller gives up, before decided: it gets code and text. */
void contender_abort(struct contender *c, int code, const char *text);

/* The holder is done. */
void contender_release(struct contender *c);

/* The holder's node is gone, it is known. */
void contender_vanished(struct contender *c);

#endif
