/* A process that takes what a lock gives, or leads, acts while it may, and records all of it. It
 * knows nothing but the public interface of zkl. */
#ifndef HISTORY_WORKER_H
#define HISTORY_WORKER_H

#include "turn.h"

#include "history.h"

#include <glib.h>
#include <stdio.h>

/* What it acts on: a register that looks at tokens, between looks at its grant; or a plain number,
 * which nothing but the lock protects, once a turn. */
enum worker_role { WORKER_AT_REGISTER, WORKER_AT_NUMBER };

struct worker_options {
    const char *connect;
    const char *dir;  /* of its records, and of what it acts on */
    const char *root; /* path p is ROOT/p */
    int id;
    int role, takes; /* enum worker_role, enum turn_kind */
    int paths;       /* bit p: path p */
    int timeout_ms, tick_ms;
    int hold_min_ms, hold_max_ms;
    int rest_ms;   /* at most, between two turns */
    int retain_ms; /* of a mutex */
    int seed;
    int todo;      /* so many writes; 0: until its input ends */
    int margin_ms; /* a number is written only when the grant is good for so much longer */
    int careless;  /* does not look at its grant before it writes a number */
    int waits;     /* says that it is ready, and begins when it is told to go on */
};

/* The present program as such a worker: its arguments, which end with NULL. */
GPtrArray *worker_arguments(const struct worker_options *o);

/* PROGRAM worker --option=value… It obeys lines on its input: `next` ends the present hold, `hold`
 * makes each turn at the number go on until `go`, or until `check`, which looks whether the lock is
 * still its own; `steal` makes another thread try to unlock what is not its own. The end of its
 * input asks for one more turn and then the end. */
int worker_main(int argc, char **argv);

/* ---- what its parts share ---- */

struct orders {
    guint count;
    bool next, held, check, ended;
};

struct worker {
    struct worker_options o;
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
    bool done;           /* all that there was to do */
    bool spared;         /* it has nothing to do this time */
    int64_t fired;       /* the last period of CLOCK_BOOTTIME in which it asked for a run */
    struct orders told;  /* as of the last worker_listen_ms() */
    /* Shared with the thread that hears the orders: */
    pthread_mutex_t guard;
    pthread_cond_t changed;
    struct orders orders;
    bool closing; /* no order touches the lock any more */
};

int worker_path(const struct worker *w, int nth); /* -1: it has fewer */

void worker_record(const struct worker *w, event_kind kind, int64_t value);
void worker_listen_ms(struct worker *w, int ms); /* waits so long for an order, and takes it */

/* One turn. */
bool worker_acquire(struct worker *w); /* false: that has failed */
bool worker_hold(struct worker *w);    /* whether it was lost */
void worker_leave(struct worker *w, bool lost);
void worker_look_at_run(struct worker *w); /* that was recorded last */

#endif
