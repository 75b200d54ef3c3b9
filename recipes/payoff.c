#include "payoff.h"

/* A tenure that kept a rival out must have saved PAYOFF_WORTH times what it cost. So rivals lose
 * about a tenth of the time to it at most. Each time when a look finds a rival again that factor
 * doubles, up to PAYOFF_DOUBLED times. */
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

/* Getting the lock takes at least as long as a look. */
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

/* A rival that was there before the look has waited since then. */
void payoff_found(struct payoff *p, bool rival)
{
    p->found = rival;
    p->kept_from = p->asked;
}

/* The rival could have had the lock by now. */
void payoff_recalled(struct payoff *p, int64_t now)
{
    payoff_kept_out(p, now - p->alone_ns);
}

void payoff_forget(struct payoff *p)
{
    p->kept_from = 0;
    p->found = false;
}

/* What an earlier tenure has cost is not made good by this one, however many turns it had. If the
 * rival was there before the tenure looked, the turns until then are no gain: a tight loop has
 * thousands of them in any wait. */
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
