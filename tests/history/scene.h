/* A server with everything between its parts in our hands, and worker processes on it. */
#ifndef HISTORY_SCENE_H
#define HISTORY_SCENE_H

#include "judge.h"
#include "turn.h"

#include "tests/support/lab.h"
#include "tests/support/process.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <limits.h>

enum { NODES = 3, ACTORS_MAX = 16, HOLD_ON = INT_MAX - 1 };

struct scene_options {
    int nodes; /* 1 or 3; three are linked */
    int tick_ms, timeout_ms;
    int sync_limit; /* ticks that a follower stands its leader's silence; 0: 10 */
    int paths;
    bool election;   /* workers are candidates instead of taking a lock */
    struct lab *lab; /* NULL, or where the servers run: on its hosts 0, 1 and 2, without proxies */
};

/* A worker and its ways to the servers. */
struct actor {
    pid_t pid;    /* 0: not running */
    int control;  /* its standard input */
    int number;   /* how many processes have been this worker */
    int64_t told; /* the grant whose end was ordered last */
    bool stopped;
    struct proxy *way[NODES]; /* none in a lab */
};

struct actor_options {
    int node;                     /* the only one that it knows; -1: all */
    int hold_min_ms, hold_max_ms; /* HOLD_ON: until told */
    int rest_ms;                  /* at most, between two rounds */
    int retain_ms;                /* of a mutex */
    enum turn_kind takes;         /* not of candidates */
    unsigned paths;               /* bit p: path p; 0: path w % paths of worker w */
    int seed;
    int host; /* of the lab, where it runs */
};

struct scene {
    struct scene_options o;
    struct zk_server *server;
    struct scratch scratch;
    history *h;
    bool garbled; /* a line of it makes no sense */
    int record;
    int actors;
    struct actor actor[ACTORS_MAX];
    struct actor_options with[ACTORS_MAX];
};

bool scene_start(struct scene *s, const struct scene_options *o);
void scene_stop(struct scene *s); /* ends what is left */

/* ---- workers ---- */

int scene_add(struct scene *s, const struct actor_options *o); /* its number; -1: failed */
void scene_next(struct scene *s, int worker);                  /* ends its present hold, if any */
void scene_end(struct scene *s, int worker);                   /* one more round, then its end */
void scene_stop_worker(struct scene *s, int worker);           /* SIGSTOP */
void scene_let_on(struct scene *s, int worker);                /* SIGCONT */
bool scene_replace(struct scene *s, int worker);               /* kill -9, and another instead */

/* ---- the record ---- */

void scene_record(struct scene *s, int worker, event_kind kind, int64_t value, uint64_t token);

void scene_poll(struct scene *s); /* reads what was recorded since */
bool scene_holds(struct scene *s, int worker);
bool scene_waits(struct scene *s, int worker);

/* ---- the end ---- */

/* Everything healed, every worker served once more and ended: then what the history says. Those
 * that do not come to their end within a minute are unserved. */
judgement *scene_judge(struct scene *s);
void scene_input(const struct scene *s, judge_input *ret, int nodes_left);

/* Merges the history into a file of the present folder; says where. */
void scene_keep(struct scene *s, const char *name);

#endif
