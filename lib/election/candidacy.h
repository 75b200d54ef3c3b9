/* What zkl_election_start() began: recipes/candidacy.h decides, this does what it says. All with
 * the monitor held. */
#ifndef LIB_CANDIDACY_H
#define LIB_CANDIDACY_H

#include "election.h"

/* The first attempt begins. */
void election_candidacy_begin(zkl_election *e, zkl_election_fn fn, void *data);

/* The candidacy hears the user's YIELD or STOP; closed: the session's end. Returns the answer: 0,
 * or ZKL_ELOST if the grant was not owned any more. If the recipe has the grant given back, that
 * gives the answer instead. */
int election_candidacy_tell(struct election_candidacy *c, unsigned kind, bool closed, int answer);

/* The session has ended; or there will be no other (over). */
void election_candidacy_session(struct election_candidacy *c, bool over);

/* .candidacy and .ahead, which is left alone where it is not known. */
void election_candidacy_describe(const struct election_candidacy *c, zkl_election_status *ret);

#endif
