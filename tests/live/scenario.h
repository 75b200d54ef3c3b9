/* What the suites of scenarios share: a holder in a process of its own, whose clocks and
 * whereabouts are the test's; rivals that lock all the time. */
#ifndef LIVE_SCENARIO_H
#define LIVE_SCENARIO_H

#include "fault.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

/* --scenario-worker ARGUMENTS, --scenario-load ARGUMENTS: the process below; one of the suite
 * scenario_load. */
int scenario_worker(int argc, char **argv);
int scenario_load(int argc, char **argv);

/* ---- a resource that checks tokens ---- */

/* False, and nothing is done, if a higher token was seen. */
bool resource_write(_Atomic uint64_t *highest, uint64_t token);

/* ---- a process that holds ---- */

/* Shared with the process. Times of the test are those of fault_boot_ns(). */
struct worker_page {
    _Atomic int64_t boot_skew, raw_skew; /* ns on top of the process's clocks, while it runs */
    int32_t rate_permille;               /* their speed, 0 as 1000; set before the start */
    _Atomic int64_t wall_step_s;         /* on top of its wall clock */
    atomic_int wall_reads, clock_reads;  /* of the library, in that process */
    _Atomic int64_t believed;            /* when it last looked and had time left */
    _Atomic int64_t woke, woke_left_ms;  /* its first look after WORKER_STOP */
    _Atomic uint64_t resource;           /* the highest token seen */
};

struct worker {
    pid_t pid;
    int in;
    FILE *out;
    char *file;
    struct worker_page *page;
};

/* Orders, and what the process answers. */
enum worker_order {
    WORKER_STATE = 's', /* "state", a zkl_state */
    WORKER_LEFT = 'l',  /* "left", the remaining time */
    WORKER_WRITE =
        'w',           /* "write", 1 if the resource took it; it looks before, and may not try: 2 */
    WORKER_STOP = 'p', /* the same, but it stops between looking and writing */
    WORKER_FORK = 'f', /* "fork", once a child is there, which ends with the other end of in */
    WORKER_EXIT = 'x'  /* exit(), with the lock held and the session open */
};

/* The process locks fault.path and then says "token". page holds the first values; NULL: all 0. */
void worker_start(struct worker *w, const char *connect, int timeout_ms,
                  const struct worker_page *page);
void worker_order(struct worker *w, enum worker_order order);
uint64_t worker_told(struct worker *w, const char *what); /* waits; the number */
uint64_t worker_ask(struct worker *w, enum worker_order order, const char *what);
void worker_wait_stopped(struct worker *w);
void worker_unlock(struct worker *w, int code); /* checks the result; the process ends */
void worker_kill(struct worker *w);
void worker_end(struct worker *w); /* after either, or WORKER_EXIT */

/* ---- rivals ---- */

struct rivals;

/* threads on each of that many sessions, all on fault.path, until rivals_end(). Losses are allowed:
 * told once each. */
struct rivals *rivals_start(zkl_session *const *sessions, int count, int threads);
void rivals_stay(struct rivals *c, bool on); /* whoever holds goes on while he may */
int rivals_grants(struct rivals *c);         /* that have ended */
void rivals_are_served(struct rivals *c);    /* waits for some more grants */
/* Everybody was served, nobody at the same time, tokens rose, each end was told once. */
void rivals_end(struct rivals *c);

#endif
