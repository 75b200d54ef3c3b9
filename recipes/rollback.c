#include "rollback.h"

enum { UNKNOWN_TIMES = 3 };

void rollback_heard(struct rollback *r, enum rollback_evidence evidence, struct instant now)
{
    bool serves = evidence != ROLLBACK_NONE, refuses = evidence == ROLLBACK_REFUSES;

    if (serves && !r->serves)
        r->serving = now;
    if (refuses && !r->refuses)
        r->refusing = now;
    r->serves = serves;
    r->refuses = refuses;
    r->refused = r->refused || refuses;
}

bool rollback_is_final(const struct rollback *r, struct instant now, int64_t timeout)
{
    return (r->refuses && instant_passed(now, r->refusing, timeout)) ||
           (r->serves && instant_passed(now, r->serving, UNKNOWN_TIMES * timeout));
}
