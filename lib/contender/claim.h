/* A claim: what a recipe has of a contender of its own, from entering until it lets go of it. The
 * claim is a member of a larger struct, which outlives it. The caller holds the monitor. */
#ifndef LIB_CLAIM_H
#define LIB_CLAIM_H

#include "contender.h"

/* Called exactly once for each claim_enter(). error NULL: the claim holds. */
typedef void (*claim_decided)(void *context, const zkl_error *error);

/* All 0 before claim_enter(). */
struct claim {
    struct contender *contender; /* until the decision; NULL otherwise */
    struct contender *holder; /* the contender that was granted; NULL: none, or its end was told */
    struct tenure *tenure;    /* a reference, as long as .holder is set */
    claim_decided decided;
    contender_news_fn news; /* may be NULL */
    void *context;
    bool until_gone; /* nobody uses what it holds: if it loses that, its node is deleted at once,
                        and news() hears of the end when the node is gone */
};

/* Makes a contender by contender_enter(). When spec->news is told CONTENDER_ENDED, holder and
 * tenure are NULL. */
void claim_enter(struct claim *c, zkl_session *s, const struct contender_spec *spec,
                 claim_decided decided, void *context);

/* Stops the calls of news(). What the claim holds stays held. */
void claim_forget(struct claim *c);

/* Stops the calls of news(), and returns the tenure with its reference. */
struct tenure *claim_take(struct claim *c);

/* Ends a contender that is not decided yet. Nobody is told. */
void claim_abandon(struct claim *c);

/* Releases what the claim holds, if anything. A contender that entered since stays. */
void claim_release(struct claim *c);

/* Does what claim_abandon() does, and then what claim_release() does. */
void claim_leave(struct claim *c);

#endif
