/* The hazard gallery: each way in which well-known lock designs fail, shown failing, and the same
 * story with zkl, shown holding. Both are asserted. */
#ifndef HAZARDS_HAZARD_H
#define HAZARDS_HAZARD_H

#include "tests/live/fault.h"

#include <stdio.h>

enum { SESSION_MS = 2000 }; /* of those who shall lose theirs */

struct hazard {
    const char *name, *title; /* as in zkl-hazards(7) */
    void (*usual)(void);      /* fails if the usual design does not fail */
    void (*with_zkl)(void);
    const char *guards; /* "suite.case", or files of tests/, separated by blanks */
};

/* Each ends with an empty one. */
extern const struct hazard hazards_creating[], hazards_releasing[], hazards_time[],
    hazards_holding[], hazards_server[], hazards_queue[], hazards_waiting[], hazards_stale[],
    hazards_ensemble[];

/* What happened, with its figures, as one paragraph below "usual design:" or "zkl:". */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

double seconds(int64_t ns);

/* How long two held at once: from the second one's beginning to the first one's end; 0 for not. */
int64_t overlap(int64_t first_end, int64_t second_begin);

/* ---- usual designs ---- */

/* A lock service with one key and expiry times, as a cache server is used for one. It lives in
 * this process and has a clock of its own, which only kv_pass() moves. */
struct kv {
    int64_t now_ms;
    char owner[16];   /* "": nobody */
    int64_t until_ms; /* INT64_MAX: for ever */
};
#define KV_INIT                                                                                    \
    {                                                                                              \
        .owner = ""                                                                                \
    }
#define KV_FOR_EVER INT64_MAX

void kv_pass(struct kv *kv, int64_t ms);
bool kv_set_if_absent(struct kv *kv, const char *owner, int64_t expiry_ms); /* SET NX PX */
void kv_delete(struct kv *kv);
const char *kv_owner(struct kv *kv);
void kv_restart(struct kv *kv); /* nothing was on a disk */

/* The ZooKeeper recipe as it is often written by hand, in fault.path, step by step. */
void usual_make(const char *path);                           /* with its parents */
struct raw *usual_open(const char *connect, int timeout_ms); /* and makes fault.path */
void usual_enter(struct raw *r, char node[RAW_PATH_SIZE]);   /* an ephemeral sequential child */
bool usual_is_first(struct raw *r, const char *node);        /* lists, and compares */
int64_t usual_granted(struct raw *r, const char *node);      /* waits to be first: when that was */

/* ---- processes ---- */

/* Another process, which opens a session of SESSION_MS, and then waits for a byte before each of
 * its steps. */
enum worker_design {
    WORKER_PERSISTENT, /* locks by creating a persistent node */
    WORKER_USUAL,      /* the recipe by hand */
    WORKER_ZKL,
    WORKER_ZKL_RETAINS,  /* each step locks and unlocks */
    WORKER_WRITES_PLAIN, /* holds by zkl, checks, and writes a file */
    WORKER_WRITES_FENCED /* the same through the fenced store */
};

struct worker {
    pid_t pid;
    int in;
    FILE *out;
};

/* argument: where to write, "" for nowhere. Returns when its session is established. */
void worker_start(struct worker *w, enum worker_design design, const char *connect,
                  const char *path, const char *argument);
void worker_step(struct worker *w); /* lets it take the next one */
/* Waits until it says word, and answers the number beside it. */
int64_t worker_says(struct worker *w, const char *word);
void worker_kill(struct worker *w);   /* -9 */
void worker_finish(struct worker *w); /* its standard input ends */
int worker_main(int argc, char **argv);

/* fenced-store STORE VERB report [TOKEN [VALUE]]: its exit status, and its output for g_free() if
 * out is not NULL. */
int fenced_store(const char *store, const char *verb, uint64_t token, const char *value,
                 char **out);

#endif
