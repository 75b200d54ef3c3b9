#include "payoff.h"

/* PAYOFF_WORTH: a tenure that kept a rival out must have saved this many times what it cost. So
 * rivals lose about a tenth of the time to it at most. Each time when a look finds a rival again
 * that factor doubles, up to PAYOFF_DOUBLED times. */
enum { PAYOFF_WORTH = 9, PAYOFF_DOUBLED = 3 };

void payoff_ask(struct payoff *p, int64_t now)
{
    p->asked = now;
}

void payoff_granted(struct payoff *p, int64_t now, bool delayed)
{
    if (!delayed)
        p->alone_ns = now - p->asked;
    p->finds = 0;
}

/* Takes the time of a look for that of an attempt, if no attempt was measured: a look takes no
 * longer. */
void payoff_looked(struct payoff *p, int64_t now)
{
    if (p->alone_ns == 0)
        p->alone_ns = now - p->asked;
    p->finds = 0;
}

void payoff_kept_out(struct payoff *p, int64_t now)
{
    if (p->kept_from == 0)
        p->kept_from = now;
}

/* Counts the rival's wait from the beginning of the look: it may have been there before. */
void payoff_found(struct payoff *p, bool rival)
{
    p->found = rival;
    p->kept_from = p->asked;
}

/* Counts the rival's wait from when it began to ask. Without the tenure it could have the lock now,
 * so that was as long ago as we need to get it. */
void payoff_recalled(struct payoff *p, int64_t now)
{
    payoff_kept_out(p, now - p->alone_ns);
}

void payoff_forget(struct payoff *p)
{
    p->kept_from = 0;
    p->found = false;
}

/* Decides how long nothing is retained. What an earlier tenure has cost is not made good by this
 * one, however many turns it had. If the rival was there before the tenure looked, the turns until
 * then are no gain: a tight loop has thousands of them in any wait. */
void payoff_settle(struct payoff *p, int64_t now, uint64_t turns)
{
    int64_t cost;

    if (p->kept_from == 0)
        return;
    cost = PAYOFF_WORTH * (now - p->kept_from);
    if (p->found)
        cost <<= p->finds;
    else if (p->alone_ns > 0 && turns > (uint64_t)(cost / p->alone_ns))
        cost = 0;
    else
        cost -= (int64_t)turns * p->alone_ns;
    if (now + cost > p->off_until)
        p->off_until = now + cost;
    if (p->found && p->finds < PAYOFF_DOUBLED)
        p->finds++;
    payoff_forget(p);
}
