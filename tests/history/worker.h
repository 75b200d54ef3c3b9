/* A process that takes what a lock gives, or leads, acts on the register while it may, and records
 * all of it.
 * It knows nothing but the public interface of zkl. */
#ifndef HISTORY_WORKER_H
#define HISTORY_WORKER_H

#include "turn.h"

#include "history.h"

#include <stdio.h>

/* PROGRAM worker --option=value…; see worker.c. A byte on stdin ends the present hold, the end of
 * file asks for one more round and then the end. */
int worker_main(int argc, char **argv);

/* ---- what its parts share ---- */

struct worker {
    int id, timeout_ms, tick_ms, hold_min_ms, hold_max_ms, rest_ms, retain_ms, seed;
    int takes; /* an enum turn_kind */
    int paths; /* bit p: /faults/p */
    char *connect, *dir;
    int record;
    FILE *log;
    GRand *rand;
    zkl_session *session;
    struct turn source;
    claim claim;
    const zkl_grant *grant;
    zkl_part part[CLAIM_PARTS_MAX];
    size_t parts;
    uint64_t token, turn;
    int64_t seen, until; /* of this grant: the last look that found it valid, its deadline then */
    int64_t recorded;    /* the deadline that was recorded last */
    bool next, ended;    /* orders */
};

int worker_path(const struct worker *w, int nth); /* -1: it has fewer */

void worker_record(const struct worker *w, event_kind kind, int64_t value);
void worker_listen_ms(struct worker *w, int ms); /* waits so long for an order, and takes it */

/* One turn. */
bool worker_acquire(struct worker *w); /* false: that has failed */
bool worker_hold(struct worker *w);    /* whether it was lost */
void worker_leave(struct worker *w, bool lost);

#endif
