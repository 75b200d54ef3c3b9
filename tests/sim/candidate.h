/* A candidate: an election's handle in a process, and what its functions told. A term of a started
 * election is an acquisition, so that the rules of grants are checked for it too. More rules:
 *
 *  - LEADING, then SUSPECT and HELD in turns, ASKED once at most, then LOST or RESIGNED, once;
 *  - STOPPED once, when it was to end, and nothing behind it;
 *  - FAILED only with an error that fits; the status never contradicts what was told. */
#ifndef SIM_CANDIDATE_H
#define SIM_CANDIDATE_H

#include "acquisition.h"

struct stage;

struct candidate {
    struct client *process;
    unsigned number; /* from 1 */
    int line;
    zkl_election *election; /* NULL: freed */
    zkl_election_options options;
    int64_t heard_at; /* when it was started, or told something */
    bool running;     /* started, and STOPPED was not told */
    bool stopping;    /* it was to end: resigned, freed or closed */
    bool closed;      /* with its session */
    bool ended;       /* its only term has */
    bool lost;        /* the last term was */
    bool abandoned;
    struct acquisition *term; /* begun, and not ended, as far as told */
    bool asked;               /* in that term */
    uint64_t terms;           /* told */
    unsigned proclaimed;      /* in that term */
    char *said;               /* the newest of that term that was surely proclaimed; or NULL */
    bool unsure;              /* whether another one was */
    void (*then)(struct candidate *c, zkl_election_event event);
    void *data; /* of then */
};

/* then is called behind each event. */
struct candidate *candidate_new(struct client *p, int line, const zkl_election_options *options,
                                void (*then)(struct candidate *c, zkl_election_event event),
                                void *data);
void candidate_free(void *candidate);

void candidate_start(struct candidate *c);
void candidate_yield(struct candidate *c);
void candidate_resign(struct candidate *c, struct acquisition *campaign); /* campaign may be NULL */
void candidate_drop(struct candidate *c, struct acquisition *campaign);   /* frees its handle */
void candidate_proclaim(struct candidate *c, int64_t timeout_ms);

/* Whether it leads, and knows it. */
bool candidate_leads(const struct candidate *c);
/* Looks at the status, which says whether a campaign of one term is meant. */
void candidate_check(struct candidate *c);

/* What all of them must have been told. */
void candidates_at_end(struct stage *stage);

#endif
