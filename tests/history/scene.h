/* A server with everything between its parts in our hands, and worker processes on it. */
#ifndef HISTORY_SCENE_H
#define HISTORY_SCENE_H

#include "judge.h"
#include "worker.h"

#include "tests/support/lab.h"
#include "tests/support/process.h"
#include "tests/support/proxy.h"
#include "tests/support/raw.h"
#include "tests/support/server.h"

#include <limits.h>

enum { NODES = 3, ACTORS_MAX = 64, HOLD_ON = INT_MAX - 1 };

#define SCENE_ROOT "/faults" /* path p is SCENE_ROOT/p */

struct scene_options {
    int nodes; /* 1 or 3; three are linked */
    int tick_ms, timeout_ms;
    int sync_limit; /* ticks that a follower stands its leader's silence; 0: 10 */
    int paths;
    bool election;   /* workers are candidates instead of taking a lock */
    const char *odd; /* words about the servers, as in struct zk_server_options */
    struct lab *lab; /* NULL, or where the servers run: on its hosts 0, 1 and 2, without proxies */
    const char
        *program[2]; /* zkl-worker over two versions of zkl; NULL: workers are this program */
};

/* A worker and its ways to the servers. */
struct actor {
    pid_t pid;    /* 0: not running */
    int control;  /* its standard input */
    int number;   /* how many processes have been this worker */
    int version;  /* of the program that the next process runs */
    int64_t told; /* the grant whose end was ordered last */
    bool stopped;
    struct proxy *way[NODES]; /* none in a lab */
};

struct actor_options {
    int node;                   /* the only one that it knows; -1: all */
    int host;                   /* of the lab, where it runs */
    const char *command, *verb; /* another program instead of a worker: COMMAND CONNECT VERB */
    struct worker_options does; /* hold_max_ms HOLD_ON: until told. The scene fills in what it
                                   knows: the ways, the times, and where paths is 0, path w % paths
                                   of worker w; what candidates take */
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
void scene_tell(struct scene *s, int worker, const char *order);
void scene_next(struct scene *s, int worker);        /* ends its present hold, if any */
void scene_end(struct scene *s, int worker);         /* one more round, then its end */
void scene_stop_worker(struct scene *s, int worker); /* SIGSTOP */
void scene_let_on(struct scene *s, int worker);      /* SIGCONT */
bool scene_kill(struct scene *s, int worker);        /* -9; false: it does not run */
bool scene_again(struct scene *s, int worker);       /* another process instead */
bool scene_replace(struct scene *s, int worker);     /* both */
int scene_running(struct scene *s); /* workers; what ended by itself, and not well, is recorded */

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

/* At a path, beside which a record of a run may be. */
char **scene_contenders(struct raw *r, const char *path);

/* At the paths, after the dead ones' sessions; INT32_MAX: unknown. */
int scene_nodes_left(struct scene *s);

/* Those that had something to say on stderr. Nobody has, unless something is wrong. */
void scene_complain(const struct scene *s);

#endif
