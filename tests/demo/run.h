/* One run of the demo: the server, the workers, what is done to them. */
#ifndef DEMO_RUN_H
#define DEMO_RUN_H

#include "tests/history/history.h"
#include "tests/support/process.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <signal.h>

enum {
    TICK_MS = 200,
    SESSION_MS = 4000,
    LIMIT_MS = 60000 /* without any event: only a bug needs it */
};

typedef struct run_options {
    int workers, increments, seed;
    gboolean unsafe, keep, quiet, no_color;
    char *svg;
} run_options;

typedef struct slot {
    pid_t pid;   /* 0: not running */
    int control; /* the pipe to its standard input */
    guint made;  /* increments acknowledged by it and those before it */
} slot;

typedef struct run {
    const run_options *o;
    struct zk_server *server;
    struct proxy *proxy; /* the last worker's way to the server */
    struct scratch scratch;
    char *program, *file;
    char *dir;
    history *h;
    guint seen;    /* events counted into made */
    int64_t moved; /* when something was last recorded */
    int record;    /* the demo's own history */
    slot *slots;
} run;

extern volatile sig_atomic_t run_interrupted;

/* run.c: the pieces. */
bool run_start(run *r, const run_options *o); /* all workers are ready; none has begun */
void run_stop(run *r);                        /* ends what is left; the history stays */
void run_free(run *r);                        /* removes the directory, unless --keep */

bool run_spawn(run *r, int worker);
void run_tell(run *r, int worker, const char *order);
void run_record(run *r, int worker, event_kind kind, int64_t value);
void run_kill(run *r, int worker); /* signal 9, and the record of it */
void run_pause(run *r, int ms);    /* time passes; the history is followed */

/* Waits until so many events of these kinds (a mask of EV_BIT()) about a worker (-1: any) are
 * recorded since this instant. false: a limit, an interrupt, or nobody is left to do it. */
bool run_await(run *r, uint64_t kinds, int worker, int64_t since, guint count);
bool run_await_made(run *r, int increments);
bool run_await_end(run *r); /* every worker has ended */

/* stages.c: the play. What fails in it shows in the history, so nothing is answered. */
void run_play(run *r);

/* Each returns the worker that plays this part. */
int run_holder(const run *r);   /* others try to unlock its lock */
int run_victim(const run *r);   /* is killed */
int run_castaway(const run *r); /* is cut off */

#endif
