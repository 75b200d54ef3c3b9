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

static void count_loss(zkl_stats *stats, zkl_loss loss)
{
    switch (loss) {
    case ZKL_LOSS_NONE:
    case ZKL_LOSS_FORKED: /* neither is a loss of ours */
        break;
    case ZKL_LOSS_DEADLINE:
        stats->lost_deadline++;
        break;
    case ZKL_LOSS_EXPIRED:
        stats->lost_expired++;
        break;
    case ZKL_LOSS_DELETED:
        stats->lost_deleted++;
        break;
    case ZKL_LOSS_CLOSED:
        stats->lost_closed++;
        break;
    case ZKL_LOSS_REPLACED:
        stats->lost_replaced++;
        break;
    case ZKL_LOSS_REFUSED:
        stats->lost_refused++;
        break;
    }
}

void grant_count_loss(zkl_grant *g)
{
    if (g->since != 0)
        count_loss(&g->session->stats, zkl_grant_loss(g));
    grant_ended(g, clock_boot());
}
