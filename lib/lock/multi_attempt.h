/* The driver of recipes/multi_lock.h: one acquisition of a lock at several paths, with a contender
 * at each, and the grant that comes of it. All with the monitor held. docs/design/multi-locks.md
 * has the argument. */
#ifndef LIB_MULTI_ATTEMPT_H
#define LIB_MULTI_ATTEMPT_H

#include "lib/contender/contender.h"
#include "recipes/multi_lock.h"

struct multi_attempt;

struct multi_path {
    char *directory; /* GRefString, with chroot */
    uint32_t given;  /* its place among the paths as the user gave them */
};

/* For count paths, which are in order. spec describes each contender, but for the directory and the
 * news. decided is called once: with the grant of all, owned by the callee, or with the error.
 * spec->news, with the same context, hears that the grant has ended, unless it was given back. What
 * is returned is good until the error or that end. */
struct multi_attempt *multi_attempt_new(zkl_session *s, const struct contender_spec *spec,
                                        const struct multi_path *paths, uint32_t count,
                                        grant_decided decided, void *context);

/* Enters. It may be decided before this returns. */
void multi_attempt_begin(struct multi_attempt *a);

/* The caller gives up, before decided: it gets code and text. */
void multi_attempt_abort(struct multi_attempt *a, int code, const char *text);

/* spec->news hears nothing from here on. */
void multi_attempt_forget(struct multi_attempt *a);

/* The contender at the path that is waited for; NULL: there is none just now. Before decided. */
struct contender *multi_attempt_waiting(const struct multi_attempt *a);

#endif
