#include "claim.h"

enum { PATHS_SHIFT = 0, KIND_SHIFT = 16, PERMITS_SHIFT = 24, LIMIT_SHIFT = 32, BYTE = 0xff };

int64_t claim_pack(const claim *c)
{
    return (int64_t)c->paths << PATHS_SHIFT | (int64_t)c->kind << KIND_SHIFT |
           (int64_t)c->permits << PERMITS_SHIFT | (int64_t)c->limit << LIMIT_SHIFT;
}

claim claim_unpack(int64_t value)
{
    return (claim){.kind = (claim_kind)(value >> KIND_SHIFT & BYTE),
                   .paths = (unsigned)(value >> PATHS_SHIFT) & ((1u << CLAIM_PATHS_MAX) - 1),
                   .permits = (int)(value >> PERMITS_SHIFT & BYTE),
                   .limit = (int)(value >> LIMIT_SHIFT & BYTE)};
}

const char *claim_kind_name(claim_kind kind)
{
    static const char *const names[CLAIM_KINDS] = {
        [CLAIM_LOCK] = "locks",      [CLAIM_SEVERAL] = "several paths",
        [CLAIM_READ] = "readers",    [CLAIM_WRITE] = "writers",
        [CLAIM_PERMITS] = "permits", [CLAIM_NUMBERED] = "numbered permits",
    };

    return names[kind];
}
