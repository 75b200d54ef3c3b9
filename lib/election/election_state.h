/* An election handle's inside. All with the monitor held, which guards what is not set at the
 * start. */
#ifndef LIB_ELECTION_STATE_H
#define LIB_ELECTION_STATE_H

#include "lib/lock/contender.h"
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
    GQueue waiters;   /* of zkl_op */
    GQueue observers; /* of struct observer */
    GList link;       /* of its session's */
};

/* ---- election_term.c ---- */

/* 0, or the error that every entry point returns first; candidate: the handle must be one. */
int election_check(const zkl_election *e, bool candidate);

const char *election_path(const zkl_election *e); /* as the user sees it */
struct contender_spec election_spec(const zkl_election *e);

void election_unref(zkl_election *e); /* the session has another reference */

/* A term begins with that grant, to which the election takes a reference; or the last one's ends.
 */
void election_set_grant(zkl_election *e, zkl_grant *grant);

bool election_leads(const zkl_election *e);

/* Why the term ended, if there was one. */
void election_blame_end(const zkl_election *e, zkl_error *ret);

/* A campaign begins: a term that has ended is no matter of the handle's any more. */
void election_forget(zkl_election *e);

/* ---- election_campaign.c ---- */

void campaign_abort(struct campaign *c, int code, const char *text);
int campaign_ahead(const struct campaign *c);

/* ---- election_start.c ---- */

/* The session has ended, and there will be no other (over): its candidacy hears so, if it has one.
 */
void candidacy_session(zkl_election *e, bool over);

/* While there is a candidacy: */

/* Ends it and its term, if it has one; there is none then. closed: the session is, and the user did
 * not ask for it. 0, or ZKL_ELOST: the term had been lost. */
int candidacy_stop(zkl_election *e, bool closed);

/* candidacy and ahead */
void candidacy_describe(const zkl_election *e, zkl_election_status *ret);

#endif
