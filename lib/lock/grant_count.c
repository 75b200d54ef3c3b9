/* What is counted of grants, and told by probes: of those that users know, which spans and parts
 * are not. */
#include "grant_struct.h"
#include "lib/base/probes.h"
#include "lib/session/stats.h"

void grant_began(zkl_grant *g, int64_t wait_ns, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    stats->acquisitions++;
    stats->held++;
    stats_add_time(&stats->wait, wait_ns);
    g->since = MAX(now, 1);
    PROBE(4, granted, grant_full_node(g), g->session_id, g->token, wait_ns);
}

static void count_end(zkl_grant *g, int64_t now)
{
    zkl_stats *stats = &g->session->stats;

    stats->held--;
    stats_add_time(&stats->hold, now - g->since);
    g->since = 0;
}

void grant_ended(zkl_grant *g, int64_t now)
{
    if (g->since == 0)
        return;
    PROBE(4, released, grant_full_node(g), g->session_id, g->token, now - g->since);
    count_end(g, now);
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
    if (g->since == 0)
        return;
    const zkl_loss loss = zkl_grant_loss(g);
    PROBE(4, lost, grant_full_node(g), g->session_id, g->token, (int)loss);
    count_loss(&g->session->stats, loss);
    count_end(g, clock_boot());
}
