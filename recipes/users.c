#include "users.h"

/* No request of a call has gone out when a session has just been made; those of a handle may have.
 * A session that no server has heard of for its timeout is ended by them. */
bool users_let_end(const struct users *u, bool holds, enum end_reason why, int64_t out,
                   int64_t timeout)
{
    const bool made_now = why == ENDING_STALE;
    const bool used = (u->calls > 0 && !made_now) || u->lent > 0 || u->kept > 0;

    return !holds && (!used || (out >= timeout && !made_now));
}
