#include "users.h"

/* Whether the users of the session let it end. When a session has just been made, no request of a
 * call has gone out; those of a handle may have. If no server has heard of a session for its
 * timeout, it ends even if they use it. */
bool users_let_end(const struct users *u, bool holds, enum end_reason why, int64_t out,
                   int64_t timeout)
{
    const bool made_now = why == ENDING_STALE;
    const bool used = (u->calls > 0 && !made_now) || u->lent > 0 || u->kept > 0;

    return !holds && (!used || (out >= timeout && !made_now));
}
