/* An election's handle, as a candidacy has it. The caller holds the monitor, which guards all that
 * is not set at the start. */
#ifndef LIB_ELECTION_H
#define LIB_ELECTION_H

#include "lib/contender/contender.h"
#include "lib/lock/op.h"
#include "lib/session/core.h"

struct election_candidacy; /* of zkl_election_start(): campaigns again and again */
struct campaign;           /* of zkl_election_campaign(): one */

struct zkl_election {
    int refs; /* the user's, and of whatever will still call back */
    zkl_session *session;
    char *directory; /* GRefString, with chroot */
    char *id;        /* GRefString; NULL: it only looks */
    zkl_election_options options;
    enum rule rule;
    /* at most one of these is under way: */
    struct campaign *campaign;
    struct election_candidacy *candidacy;
    zkl_grant *grant; /* a reference: of the present term, or of one whose end nobody saw yet */
    uint64_t terms;
    zkl_error last;
    struct op_queue waiters;
    GQueue observers; /* of struct observer */
    GList link;       /* of its session's */
};

const char *election_path(const zkl_election *e); /* as the user sees it */
struct contender_spec election_spec(const zkl_election *e);

void election_unref(zkl_election *e); /* the session has another reference */

/* A term begins with that grant: the election takes a reference to it. NULL: the last term ends. */
void election_set_grant(zkl_election *e, zkl_grant *grant);

#endif
