/* Members of a double barrier, each in its own session, whose calls go on in the background. */
#ifndef LIVE_DOUBLE_BARRIER_H
#define LIVE_DOUBLE_BARRIER_H

#include "live.h"

#include <stdatomic.h>

struct member {
    zkl_session *session;
    zkl_double_barrier *barrier;
    atomic_int done; /* completions so far */
    int wanted;      /* as many as were asked for */
    int code;        /* of the last */
};

/* In a session of its own, with a timeout of 10 s. */
void member_begin(struct member *m, struct live *t, int members);
void member_end(struct member *m);

void member_enter(struct member *m, int64_t timeout_ms);
void member_leave(struct member *m, int64_t timeout_ms);

bool member_is_done(struct member *m);
/* Waits for the end of its call: the code. */
int member_wait(struct member *m);

/* Waits until so many nodes, ready among them, are in the directory. */
void directory_has(struct live *t, int nodes);

bool has_ready(struct live *t);

/* What a member that crashed leaves behind: ready, as another library makes it. */
void leave_ready(struct live *t);

#endif
