/* A claim: what a recipe has of a contender of its own, from entering until it lets go of it. It is
 * a member of a larger struct, which outlives it. All with the monitor held. */
#ifndef LIB_CLAIM_H
#define LIB_CLAIM_H

#include "contender.h"

/* Called exactly once for each time that it enters: it holds, or there is an error. */
typedef void (*claim_decided)(void *context, const zkl_error *error);

/* All 0 before it enters. */
struct claim {
    struct contender *contender; /* NULL: none, or decided */
    struct contender *holder;    /* of what was granted; NULL: none, or its end was heard */
    struct tenure *tenure;       /* ours, with the holder */
    claim_decided decided;
    contender_news_fn news; /* may be NULL */
    void *context;
    bool until_gone; /* nobody uses what it holds: if that is lost its node goes at once, and the
                        end is heard when it has gone */
};

/* As contender_enter(). When spec->news hears CONTENDER_ENDED, holder and tenure are NULL. */
void claim_enter(struct claim *c, zkl_session *s, const struct contender_spec *spec,
                 claim_decided decided, void *context);

/* Nothing of it is heard any more, though what it holds stays. */
void claim_forget(struct claim *c);

/* The same, and the caller gets the tenure, with its reference. */
struct tenure *claim_take(struct claim *c);

/* The caller gives up before it is decided, and is told nothing. */
void claim_abandon(struct claim *c);

/* What it holds, if anything, is released. It may have entered anew before. */
void claim_release(struct claim *c);

/* Both: the caller wants none of it any more. */
void claim_leave(struct claim *c);

#endif
