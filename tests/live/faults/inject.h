/* The faults of a campaign: which there are, how long they last, how they begin and end. */
#ifndef FAULTS_INJECT_H
#define FAULTS_INJECT_H

#include "tests/history/scene.h"

enum fault_scope {
    SCOPE_CLIENT,   /* a worker, or its way to the servers: one at a time for each */
    SCOPE_SERVER,   /* of the only server too: one at a time, and a rest between two */
    SCOPE_ENSEMBLE, /* the same, where there are links between servers */
    SCOPE_THIRD     /* somebody else's deed, at once; in such a rest only */
};

struct fault {
    int kind;
    int worker; /* -1: none */
    int node;
    int64_t until; /* monotonic us */
};

struct fault_kind {
    const char *name;
    enum fault_scope scope;
    int min_permille, max_permille; /* of the session timeout: how long it lasts */
    int weight;
    bool (*begin)(struct scene *s, struct fault *f, GRand *rand); /* false: not done */
    void (*end)(struct scene *s, const struct fault *f);          /* NULL: nothing to take back */
};

extern const struct fault_kind fault_kinds[];
extern const int fault_kind_count;

#endif
