#include "roles.h"

#include <string.h>

enum { RETAIN_MS = 500 };

#define LOCK(p)                                                                                    \
    {                                                                                              \
        TURN_LOCK, 1u << (p), 0                                                                    \
    }
#define RETAINED(p)                                                                                \
    {                                                                                              \
        TURN_LOCK, 1u << (p), RETAIN_MS                                                            \
    }
#define SEVERAL(mask)                                                                              \
    {                                                                                              \
        TURN_SEVERAL, mask, 0                                                                      \
    }
#define RWLOCK(p)                                                                                  \
    {                                                                                              \
        TURN_RWLOCK, 1u << (p), 0                                                                  \
    }
#define PERMITS(p)                                                                                 \
    {                                                                                              \
        TURN_PERMITS, 1u << (p), 0                                                                 \
    }
#define NUMBERED(p)                                                                                \
    {                                                                                              \
        TURN_NUMBERED, 1u << (p), 0                                                                \
    }

/* clang-format off */
const struct roles roles_of[] = {
    {"mixed", 4, 14,
     {LOCK(0), RETAINED(1), SEVERAL(3), SEVERAL(3), LOCK(1), RETAINED(0),
      RWLOCK(2), RWLOCK(2), RWLOCK(2), RWLOCK(2),
      PERMITS(3), NUMBERED(3), PERMITS(3), NUMBERED(3)}},
    {"mutex", 4, 10,
     {RETAINED(0), LOCK(1), LOCK(2), RETAINED(3), LOCK(0),
      LOCK(1), RETAINED(2), LOCK(3), LOCK(0), RETAINED(1)}},
    {"rwlock", 2, 10,
     {RWLOCK(0), RWLOCK(1), RWLOCK(0), RWLOCK(1), RWLOCK(0),
      RWLOCK(1), RWLOCK(0), RWLOCK(1), RWLOCK(0), RWLOCK(1)}},
    {"semaphore", 2, 10,
     {PERMITS(0), NUMBERED(0), PERMITS(0), NUMBERED(0), NUMBERED(0),
      PERMITS(1), NUMBERED(1), PERMITS(1), NUMBERED(1), NUMBERED(1)}},
    {"multilock", 4, 10,
     {SEVERAL(3), SEVERAL(6), SEVERAL(5), SEVERAL(7), SEVERAL(12), SEVERAL(9),
      LOCK(0), RETAINED(1), LOCK(2), LOCK(3)}},
    {0},
};
/* clang-format on */

const struct roles *roles_find(const char *recipe)
{
    for (const struct roles *r = roles_of; r->recipe; r++)
        if (strcmp(r->recipe, recipe) == 0)
            return r;
    return NULL;
}

unsigned roles_claims(const struct roles *r)
{
    static const unsigned claims[] = {
        [TURN_LOCK] = 1u << CLAIM_LOCK,
        [TURN_SEVERAL] = 1u << CLAIM_SEVERAL,
        [TURN_RWLOCK] = 1u << CLAIM_READ | 1u << CLAIM_WRITE,
        [TURN_PERMITS] = 1u << CLAIM_PERMITS,
        [TURN_NUMBERED] = 1u << CLAIM_NUMBERED,
    };
    unsigned all = 0;

    for (int i = 0; i < r->count; i++)
        all |= claims[r->role[i].takes];
    return all;
}

bool roles_retain(const struct roles *r)
{
    bool any = false;

    for (int i = 0; i < r->count; i++)
        any = any || r->role[i].retain_ms > 0;
    return any;
}
