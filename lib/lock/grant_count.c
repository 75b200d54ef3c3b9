/* What is counted of grants: of those that users know, which spans and parts are not. */
#include "grant_struct.h"
#include "lib/session/stats.h"

void grant_began(zkl_grant *g, int64_t wait_ns, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    stats->acquisitions++;
    stats->held++;
    stats_add_time(&stats->wait, wait_ns);
    g->since = MAX(now, 1);
}

void grant_ended(zkl_grant *g, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    if (g->since == 0)
        return;
    stats->held--;
    stats_add_time(&stats->hold, now - g->since);
    g->since = 0;
}

/* All that is known of why. */
static uint64_t *losses_like(const zkl_grant *g)
{
    zkl_session *s = g->session;

    return s->closing                               ? &s->stats.lost_closed
           : g->session_id != s->id                 ? &s->stats.lost_expired
           : !proofs_valid(&s->proofs, clock_now()) ? &s->stats.lost_deadline
                                                    : &s->stats.lost_deleted;
}

void grant_count_loss(zkl_grant *g)
{
    if (g->since != 0)
        ++*losses_like(g);
    grant_ended(g, clock_boot());
}
