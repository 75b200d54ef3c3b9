/* What both kinds of barrier are made from. */
#ifndef LIB_BARRIER_SPEC_H
#define LIB_BARRIER_SPEC_H

#include "lib/session/core.h"

struct barrier_spec {
    zkl_session *session;
    char *path; /* with chroot */
    char *name; /* what the nodes hold */
    enum store_mode parents;
};

/* For a call of doing: fills in what is all zero. 0, or the thread's last error. */
int barrier_spec_take(struct barrier_spec *spec, const char *doing, zkl_session *s,
                      const char *path, const zkl_barrier_options *options);

/* The same for a call that uses a barrier, which the user may have given as NULL: so is spec. */
int barrier_spec_check(const struct barrier_spec *spec, const char *doing, bool blocking);

void barrier_spec_clear(struct barrier_spec *spec); /* without the monitor held, or not the last */

#endif
