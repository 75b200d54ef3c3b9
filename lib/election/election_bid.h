/* A bid: what zkl_election_start() began. Only election_bid.c and election_tenure.c include this.
 *
 *   PAUSED ──> QUEUED ──> CHECKING ──> LEADING ──> QUEUED …  and from anywhere ──> OVER
 *     └─failure──┘  └──────────────────────┘ (without the option yield nothing is checked)
 *
 * All with the monitor held. */
#ifndef LIB_ELECTION_BID_H
#define LIB_ELECTION_BID_H

#include "election.h"
#include "lib/session/watch.h"
#include "recipes/tenure.h"

enum bid_state {
    BID_PAUSED,   /* the timer begins the next campaign */
    BID_QUEUED,   /* there is a contender */
    BID_CHECKING, /* won; does one of higher priority wait? */
    BID_LEADING,  /* LEADING was told, the end was not */
    BID_OVER
};

struct bid {
    int refs; /* its own until it is over, each message, each request, its grant's watcher */
    enum bid_state state;
    zkl_election *election;
    zkl_election_fn fn;
    void *data;
    struct contender *contender; /* QUEUED */
    zkl_grant *grant;            /* CHECKING, LEADING: a reference */
    struct timer timer;
    int64_t pause_ms; /* behind the last failure; 0: there was none since the last term */
    bool stopping;    /* the term is the last one */
    zkl_error why;    /* it ends; .code 0: it was asked to */
    /* the term's: */
    struct tenure tenure;
    int64_t began; /* CLOCK_BOOTTIME ns */
    bool asked;    /* to step down */
    uint32_t look; /* the newest list asked for: answers to older ones are stale */
    struct interest interest;
};

void bid_unref(struct bid *bid);
void bid_tell(struct bid *bid, zkl_election_event event, zkl_grant *grant, const zkl_error *error);

/* What the look at a winner's rivals found: it leads, or queues anew at the tail. */
void bid_lead(struct bid *bid);
void bid_pass(struct bid *bid);

/* ---- election_tenure.c ---- */

/* The campaign is won: it leads, or looks first whether it may. */
void tenure_won(struct bid *bid);

/* Around the term, or the looking that came before it. */
void tenure_begin(struct bid *bid);
void tenure_end(struct bid *bid);

#endif
