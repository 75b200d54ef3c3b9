/* A process: a host, a session of the library on it, mutexes. It runs the session's timers and
 * calls its callbacks when their time comes, and stands still while its host is paused. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <zkl.h>

#include "acquisition.h"
#include "stage.h"

/* Where processes contend: mutexes, and behind them elections. Each is a line of its own, though
 * some share a path. */
enum {
    PATHS = 2,   /* of mutexes */
    HANDLES = 2, /* of a process on each */
    LINE_LATCH = PATHS,
    LINE_SELECTOR,
    LINE_BESIDE, /* a latch's election on the path of a mutex */
    LINE_LOCKS,  /* of the semaphores of client_leasing: the lock of each path */
    LINES = LINE_LOCKS + PATHS
};

extern const char *const client_paths[LINES];

/* Where the nodes of a line are: that path, or leases below it. */
const char *client_directory(int line);

/* The line of a contender's node; -1: it is none. */
int client_line(const char *path);
bool client_has_latches(int line);

/* The process on that host; NULL: there is none. */
const struct client *client_on(const struct stage *stage, const struct host *host);

/* The first line on the same path: of all on one path, one may hold. */
int client_place(int line);

/* Whether a third of the mutexes retain what they have held. */
extern bool client_retaining;

/* Whether all mutexes are read-write locks instead. */
extern bool client_sharing;

/* Or semaphores; and whether those are in Curator's layout, which is of no use alone. */
extern bool client_counting, client_leasing;

/* Or nobody locks anything: all join groups (group.h). */
extern bool client_grouping;

/* Whether holders hold for so long that sessions of others wait without a deadline. */
extern bool client_cooling;

/* An idle tenure, a contender of another session behind it, and whether the process of the tenure
 * must know of that contender. */
struct kept_out {
    uint64_t tenure, rival; /* tokens; rival 0: there is none */
    unsigned proof;         /* the first write that was sent since; 0: none */
    uint64_t known_in;      /* the step in which that was answered; 0: it was not */
};

/* A contender that nothing but a deadline keeps from its grant. */
struct unproved {
    uint64_t token; /* 0: there is none */
    uint32_t connection;
    int64_t since;
};

struct client {
    struct stage *stage;
    struct host *host;
    const char *hosts;    /* that it connects to: as of world_store */
    zkl_session *session; /* NULL: closed */
    zkl_session_options options;
    int64_t warm_ms;                  /* as of the library, unless set before it opens */
    zkl_mutex *mutex[PATHS][HANDLES]; /* or */
    zkl_rwlock *rwlock[PATHS];
    bool retains[PATHS];      /* one of those has */
    unsigned may_have[PATHS]; /* nodes there, by all mutexes that this session has had */
    uint64_t *styles;         /* chance of their peers; NULL: as by default */
    zkl_multilock *both;
    bool locks_both; /* one acquisition at a time, of both paths, and no other */
    zkl_peer peers[LINES];
    zkl_semaphore *semaphore[PATHS][2]; /* instead of a mutex; the second one is numbered */
    bool names_limit[PATHS];            /* both do */
    bool dead;
    int64_t due, due_at; /* of the first timer: by its own clock, and in truth */
    int64_t timers_late; /* ns: it does not run them sooner */
    int64_t dispatch_at; /* NEVER: no callback waits */
    uint64_t heard_in;   /* the step in which the first of those that wait was queued */
    int64_t running_since;
    int64_t up_at;            /* its connection; 0: there is none */
    uint64_t up_in;           /* the step */
    struct unproved unproved; /* oracle.c's */
    struct kept_out kept_out; /* oracle.c's */
};

/* What ends with a process: candidates, onlookers, joiners and viewers, each of which begins with
 * the process that it belongs to. What they do then; NULL: nothing. */
enum {
    STORY_CLOSING /* its session is about to be closed */,
    STORY_CLOSED,
    STORY_DEAD,
    STORY_ENDS
};
typedef void (*story_end)(void *story);
extern const story_end candidate_ends[STORY_ENDS], onlooker_ends[STORY_ENDS],
    joiner_ends[STORY_ENDS], viewer_ends[STORY_ENDS];

/* rate_ppm: of its clocks. options: what matters of timeout, tick, drift and warmth. */
struct client *client_new(struct stage *stage, const char *name, int rate_ppm,
                          const zkl_session_options *options);
void client_free(void *process);

/* A line of the trace about it. */
#define client_tell(p, ...)                                                                        \
    trace_line((p)->stage->trace, stage_now((p)->stage), host_name((p)->host), __VA_ARGS__)

void client_open(struct client *p); /* a session; there must be none */

/* Ends what it has, and tells it so, before this returns. */
void client_close(struct client *p);
void client_free_mutexes(struct client *p, int path); /* and makes others; or the lock of both */
void client_kill(struct client *p);

void client_pause(struct client *p, bool suspended);
void client_resume(struct client *p);
bool client_runs(const struct client *p); /* not dead, not paused */

/* ---- for the stage ---- */

int64_t client_next(struct client *p); /* when it has something to do */
void client_run(struct client *p);
bool client_awaits_callback(const struct client *p); /* none waits to be called, as far as known */
void client_hear(struct client *p);                  /* one does: when will it be called? */

#endif
