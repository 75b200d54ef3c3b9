/* Whether it pays that a lock stays with the handle that used it last. A kept tenure costs a rival
 * a wait W. It saves S: the time to get the lock, once for each turn after the first. W and S are
 * measured, so nothing needs tuning. If 9 W > S, the handle retains nothing for 9 W - S. So rivals
 * wait for retained tenures about a tenth of the time at most, as with the biased locks of BRAVO.
 * Each time when a look finds a rival again, the factor 9 doubles (payoff.c).
 * docs/design/retained.md has the argument. */
#ifndef RECIPES_PAYOFF_H
#define RECIPES_PAYOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Times are ns of one clock, above 0. All 0 at first. */
struct payoff {
    int64_t asked;     /* when the attempt, or the look, that is under way was begun */
    int64_t alone_ns;  /* what it takes to get a lock that nobody has, as last seen; 0: not yet */
    int64_t kept_from; /* since when the tenure has kept a rival out; 0: it has kept none */
    int64_t off_until; /* nothing is retained before */
    uint32_t finds;    /* how many tenures in a row had a look that found a rival */
    bool found;        /* the look of this tenure has found the rival, of which nothing had told */
};

/* Whether the handle may retain. Inline, as payoff_invariant() is, since each turn asks. */
static inline bool payoff_allows(const struct payoff *p, int64_t now)
{
    return now >= p->off_until;
}

/* Called when the handle begins an attempt, or a look whether others wait for the tenure. */
void payoff_ask(struct payoff *p, int64_t now);

/* Called when the attempt is granted and nobody else is there. delayed: the
 * connection was lost in between. */
void payoff_granted(struct payoff *p, int64_t now, bool delayed);

/* Called when a look has found nobody else. */
void payoff_looked(struct payoff *p, int64_t now);

/* Called when a rival waits that nothing had told of. rival: the look has found it; else the look
 * might have. */
void payoff_found(struct payoff *p, bool rival);

/* Called when an idle tenure is told that a rival waits. Only the first call of this or of
 * payoff_kept_out() counts, and none after payoff_found(). */
void payoff_recalled(struct payoff *p, int64_t now);

/* Called when a turn ends while a rival waits. */
void payoff_kept_out(struct payoff *p, int64_t now);

/* Called when the tenure ends, after that many turns beside its first. */
void payoff_settle(struct payoff *p, int64_t now, uint64_t turns);

/* Called when the tenure is lost, which costs nothing. */
void payoff_forget(struct payoff *p);

/* Whether p is consistent; wanted: a rival waits. */
static inline bool payoff_invariant(const struct payoff *p, bool wanted)
{
    return wanted || (p->kept_from == 0 && !p->found);
}

#endif
