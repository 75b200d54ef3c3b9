/* What zkl_election_start() began: recipes/candidacy.h decides, this does what it says. All with
 * the monitor held. */
#ifndef LIB_ELECTION_CANDIDACY_H
#define LIB_ELECTION_CANDIDACY_H

#include "election_state.h"
#include "lib/session/driver.h"
#include "recipes/candidacy.h"

struct election_candidacy {
    int refs; /* its own until it is over, each message, each request, its grant's watcher */
    struct driver driver;
    struct candidacy machine;
    zkl_election *election;
    zkl_election_fn fn;
    void *data;
    struct contender *contender; /* QUEUED */
    zkl_grant *grant;            /* CHECKING to STOPPING: a reference */
    int64_t entered;             /* CLOCK_BOOTTIME ns: the last attempt */
    bool decided;                /* the attempt is */
    bool closed;                 /* it stops because the session is closed */
    zkl_error failure;           /* of the last attempt */
    zkl_error why;               /* it is over; .code 0: it was asked to */
    bool over;                   /* to be told behind the end of the term */
    int answer;                  /* to the user's call under way */
};

/* The first attempt begins. */
void election_candidacy_begin(zkl_election *e, zkl_election_fn fn, void *data);

/* The user's YIELD or STOP (closed: the session's end). What to answer, unless the recipe has the
 * grant given back: 0, or ZKL_ELOST where it was not owned any more. */
int election_candidacy_tell(struct election_candidacy *c, unsigned kind, bool closed, int answer);

/* The session has ended; or there will be no other (over). */
void election_candidacy_session(struct election_candidacy *c, bool over);

#endif
