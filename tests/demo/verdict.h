/* The judgement, computed from the recorded history and the number in the file alone. */
#ifndef DEMO_VERDICT_H
#define DEMO_VERDICT_H

#include "tests/history/judge.h"

typedef struct verdict_input {
    const GArray *events;    /* sorted by time */
    struct register_end end; /* what the shared file says then */
    bool garbled;            /* a record could not be read */
    bool unsafe;             /* there was no lock, and no grant that a worker could look at */
    int workers;
    int increments; /* each worker's duty */
} verdict_input;

/* A fault that the demo made; at == 0: never recorded. */
typedef struct kill_fault {
    int worker, pid;
    int64_t at, dead;
    int64_t next; /* next grant, to another worker; 0: none */
    uint64_t token, next_token;
    bool held; /* it was holding when it was killed */
} kill_fault;

typedef struct cut_fault {
    int worker;
    int64_t at, thaw;
    int64_t suspect, told; /* by callbacks of the library; 0: never */
    int64_t lost;          /* the working thread stopped; 0: never */
    int64_t next;          /* next grant to another worker */
    int64_t back;          /* its own next grant after the thaw */
    uint64_t token, next_token, back_token;
    bool held;  /* it was holding when it was cut */
    bool wrote; /* it wrote in that tenure after the cut */
} cut_fault;

typedef struct foreign_fault {
    int64_t at; /* the first try */
    int holder; /* who held then; -1: nobody */
    guint tries, refused;
    guint by_thread, by_process; /* tries while the holder held, from its own process and others */
    bool intact;                 /* the holder still was first and HELD afterwards */
} foreign_fault;

typedef struct worker_stats {
    guint grants, writes, errors;
    int64_t longest_wait;
} worker_stats;

typedef struct verdict {
    judgement *j;
    holds *h;
    int64_t t0, t1;      /* the first want, the last event */
    worker_stats *stats; /* one per worker */
    GPtrArray *reasons;  /* of char *: why it fails; empty when it passes */
    kill_fault kill;
    cut_fault cut;
    foreign_fault foreign;
    bool pass;
} verdict;

verdict *verdict_new(const verdict_input *in);
void verdict_free(verdict *v);

#endif
