/* What a worker asks for: in a history the value of EV_WANT. */
#ifndef FAULTS_CLAIM_H
#define FAULTS_CLAIM_H

#include <stdint.h>

typedef enum claim_kind {
    CLAIM_LOCK,     /* one path, or leadership there */
    CLAIM_SEVERAL,  /* several paths, all of them */
    CLAIM_READ,     /* the shared side of a read-write lock */
    CLAIM_WRITE,    /* the other one */
    CLAIM_PERMITS,  /* of a semaphore */
    CLAIM_NUMBERED, /* the same, each with a number */
    CLAIM_KINDS
} claim_kind;

enum { CLAIM_PATHS_MAX = 16, CLAIM_PARTS_MAX = 4 }; /* in all; of one claim */

typedef struct claim {
    claim_kind kind;
    unsigned paths;     /* bit p: path p */
    int permits, limit; /* of a semaphore */
} claim;

/* That of a lock at path 0 is 1. */
int64_t claim_pack(const claim *c);
claim claim_unpack(int64_t value);

const char *claim_kind_name(claim_kind kind);

#endif
