#include "ending.h"

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
    r->possible = true;
}

bool rollback_is_final(const struct rollback *r, struct instant now, int64_t timeout)
{
    return (r->refuses && instant_passed(now, r->refusing, timeout)) ||
           (r->serves && instant_passed(now, r->serving, UNKNOWN_TIMES * timeout));
}

/* A session in which somebody waits is not ended for a sooner proof, but it is for a node that
 * nothing else removes: the waiter enters again. A session that has just been made has sent no
 * request of a call, but may have sent requests of a lent handle. If no server has heard of a
 * session for its timeout, it ends even if calls use it. */
bool users_let_end(const struct users *u, enum presence most, enum end_reason why, int64_t out,
                   int64_t timeout)
{
    const bool made_now = why == ENDING_STALE;
    const bool keeps = most > (why == ENDING_COLD ? PRESENCE_NONE : PRESENCE_WAITS);
    const bool used = ((u->calls > 0 || keeps) && !made_now) || u->lent > 0 || u->kept > 0;

    return most != PRESENCE_HOLDS && (!used || (out >= timeout && !made_now));
}
