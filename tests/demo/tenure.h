/* From events to tenures: who believed to hold the lock from when to when. */
#ifndef DEMO_TENURE_H
#define DEMO_TENURE_H

#include "tests/history/history.h"

typedef enum tenure_end {
    END_NONE,    /* the history ends first, or the worker took another grant without an end */
    END_RELEASE, /* release begun */
    END_LOST,    /* the working thread saw LOST */
    END_DEAD     /* the process was reaped: after kill -9 it can do nothing any more */
} tenure_end;

typedef struct tenure {
    int worker;
    int pid;
    uint64_t token;
    int64_t want;  /* 0: unknown */
    int64_t start; /* grant */
    int64_t end;   /* INT64_MAX with END_NONE */
    tenure_end how;
    int64_t suspect; /* 0, or when the library first said SUSPECT */
    int64_t told;    /* 0, or when its callback said LOST */
    guint writes;    /* acknowledged increments */
    bool asked;      /* was told to hold on (EV_HOLD) */
} tenure;

/* A stretch in which a worker asked for the lock and did not have it. */
typedef struct wait_span {
    int worker;
    int64_t start, end;
} wait_span;

typedef struct tenures {
    GArray *list;   /* of tenure, in grant order */
    GArray *waits;  /* of wait_span */
    guint strays;   /* increments written outside any tenure of their worker */
    int64_t t0, t1; /* the first want, the last event */
} tenures;

/* events: in order of time. */
tenures *tenures_new(const GArray *events);
void tenures_free(tenures *t);

/* The tenure of worker at this instant, or NULL. */
const tenure *tenures_at(const tenures *t, int worker, int64_t ns);

/* The first grant after this instant to any worker but not_worker; NULL if none. */
const tenure *tenures_next(const tenures *t, int64_t ns, int not_worker);

#endif
