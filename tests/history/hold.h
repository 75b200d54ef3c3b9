/* From events to holds: who believed to own which lock from when to when, and what it claimed. */
#ifndef HISTORY_HOLD_H
#define HISTORY_HOLD_H

#include "history.h"

/* How a hold ended for the process that had it. */
typedef enum hold_end {
    HOLD_OPEN,     /* the history ends first */
    HOLD_RELEASED, /* release begun */
    HOLD_LOST,     /* the process saw LOST */
    HOLD_KILLED    /* the process was killed, or is gone */
} hold_end;

/* A hold at one of its paths. */
typedef struct hold_part {
    int path;
    uint64_t token;      /* 0: not recorded */
    int64_t third_party; /* when a third party took it away; INT64_MAX: never */
} hold_part;

typedef struct hold {
    claim claim;
    hold_part part[CLAIM_PARTS_MAX]; /* one for each path of the claim, by number */
    int parts;
    int path, worker, pid; /* the first path */
    uint64_t token, turn;
    int64_t session;
    int64_t want;  /* when it was asked for; 0: unknown */
    int64_t start; /* the grant, stamped when it had been given */
    int64_t seen; /* the last instant at which it was seen valid; 0: never, nobody believed in it */
    int64_t until; /* the latest instant that the library promised: nobody else before that */
    int64_t end;   /* INT64_MAX while HOLD_OPEN */
    hold_end how;
    bool owed;           /* its unlock answered ZKL_ELOST */
    guint writes;        /* to the register, acknowledged */
    int64_t suspect_at;  /* the first callback that said SUSPECT; 0: none */
    guint told;          /* callbacks that said LOST */
    int64_t told_at;     /* the first of them */
    guint after;         /* callbacks that came after it, whatever they said */
    int64_t third_party; /* when a third party took any part away; INT64_MAX: never */
    uint64_t numbers;    /* bit n: it has the permit n */
} hold;

typedef struct wait_for {
    claim claim;
    int path, worker, pid;
    int64_t since;
    int64_t end; /* INT64_MAX: never served */
    bool served;
    bool spared; /* by another's run */
} wait_for;

typedef struct holds {
    GArray *list;  /* of hold, by start */
    GArray *waits; /* of wait_for */
    guint strays;  /* writes of processes that held nothing */
    guint ends;    /* their releases and losses */
} holds;

/* events: in order of time. A claim that is 0 is for a lock at path w % paths of worker w. Owners
 * that look record when they last saw themselves own; others believe it until their end. */
holds *holds_new(const GArray *events, int paths, bool look);
void holds_free(holds *h);

/* NULL: it has none there. */
const hold_part *hold_at(const hold *h, int path);

/* The hold of a worker at this instant, and the first one that another began then or later; NULL:
 * none. */
const hold *holds_during(const holds *h, int worker, int64_t ns);
const hold *holds_next(const holds *h, int64_t ns, int not_worker);

/* What the worker ever asked for: a bit for each path. */
unsigned claimed_paths(const GArray *events, int paths, int worker);

#endif
