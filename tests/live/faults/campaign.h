/* One run of random faults, and what came out. */
#ifndef FAULTS_CAMPAIGN_H
#define FAULTS_CAMPAIGN_H

#include "inject.h"
#include "roles.h"

enum { KINDS_MAX = 32 };

struct campaign {
    const struct roles *roles;
    int seed, nodes, seconds, grants; /* wanted: both at least; grants of each kind of claim */
    /* What came out: */
    int injected[KINDS_MAX];
    int took_s;
    judgement *judgement;
};

/* false: no server or worker could be started. The judgement is the caller's. */
bool campaign_run(struct campaign *c);

/* The table, and one line for each verdict; counts them. */
void campaign_print(const struct campaign *c, int *passed, int *failed);

#endif
