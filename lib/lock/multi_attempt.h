/* An acquisition of a lock at several paths, and the grant that comes of it. The acquisition has a
 * contender at each path. recipes/multi_lock.h decides. All functions are called with the monitor
 * held. docs/design/multi-locks.md has the argument. */
#ifndef LIB_MULTI_ATTEMPT_H
#define LIB_MULTI_ATTEMPT_H

#include "lib/contender/contender.h"
#include "recipes/multi_lock.h"

struct multi_attempt;

struct multi_path {
    char *directory; /* GRefString, with chroot */
    uint32_t given;  /* its place among the paths as the user gave them */
};

/* Makes an attempt for count paths, which are sorted. spec describes each contender, but for the
 * directory and the news; its .limit and .queue are NULL. decided is called once: with the grant,
 * whose reference is the callee's, or with the error. spec->news is called with the same context
 * when the grant is lost. The attempt frees itself after the error, or when the grant has ended. */
struct multi_attempt *multi_attempt_new(zkl_session *s, const struct contender_spec *spec,
                                        const struct multi_path *paths, uint32_t count,
                                        grant_decided decided, void *context);

/* Enters the contenders. decided may be called before this returns. */
void multi_attempt_begin(struct multi_attempt *a);

/* Ends the attempt before it is decided. decided is called with code and text. */
void multi_attempt_abort(struct multi_attempt *a, int code, const char *text);

/* From now on spec->news is not called. */
void multi_attempt_forget(struct multi_attempt *a);

/* Returns the contender at the path for which the attempt waits; NULL: there is none now. Call it
 * before the attempt is decided. */
struct contender *multi_attempt_waiting(const struct multi_attempt *a);

#endif
