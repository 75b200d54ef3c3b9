/* The ways between the nodes of a linked server. Each node's zoo.cfg names its own ports for
 * itself and our proxies for the others. In an election the node with the larger id connects back
 * to the address that the other announces of itself; so the announcement is rewritten on its way,
 * and no traffic between nodes gets past us. */
#include "server_private.h"

#include <glib.h>
#include <string.h>

enum { TORN_TICKS = 60 };

static char *address(int port)
{
    return g_strdup_printf("127.0.0.1:%d", port);
}

/* Two ports of the range that the kernel hands out have the same number of digits. */
static bool announce(const struct zk_server *s, int from, int to)
{
    char *own = address(s->node[from].election.port);
    char *ours = address(proxy_port(s->node[to].vote[from]));
    bool ok = strlen(own) == strlen(ours);

    if (ok)
        proxy_rewrite(s->node[from].vote[to], own, ours);
    g_free(own);
    g_free(ours);
    return ok;
}

/* An observer that is fed by a follower connects to no leader. */
static int target(const struct zk_server *s, int from, int to)
{
    const bool relayed = from == s->nodes - 1 && node_is_relayed(&s->options, s->nodes);

    return relayed ? s->node[from].relay.port : s->node[to].quorum.port;
}

bool links_wanted(const struct zk_server_options *o)
{
    return o->linked || (o->nodes > 1 && o->members == 0 && !o->hosts &&
                         (zk_server_is_odd(o, "late") || zk_server_is_odd(o, "torn")));
}

/* Learners connect to whoever feeds them. */
static void be_odd(const struct zk_server *s, struct proxy *data)
{
    if (zk_server_is_odd(&s->options, "late"))
        proxy_jitter_ms(data, PROXY_TO_CLIENT, s->options.tick_ms / 2);
    if (zk_server_is_odd(&s->options, "torn")) {
        proxy_jitter_ms(data, PROXY_TO_SERVER, s->options.tick_ms / 10);
        proxy_tear_ms(data, TORN_TICKS * s->options.tick_ms);
    }
}

bool links_start(struct zk_server *s)
{
    bool ok = true;

    for (int i = 0; i < s->nodes; i++) {
        for (int j = 0; j < s->nodes; j++) {
            if (i == j)
                continue;
            s->node[i].data[j] = proxy_start_raw(target(s, i, j));
            s->node[i].vote[j] = proxy_start_raw(s->node[j].election.port);
            ok = ok && s->node[i].data[j] && s->node[i].vote[j];
        }
    }
    for (int i = 0; ok && i < s->nodes; i++)
        for (int j = 0; ok && j < s->nodes; j++)
            ok = i == j || announce(s, i, j);
    for (int i = 0; ok && i < s->nodes; i++)
        for (int j = 0; j < s->nodes; j++)
            if (i != j)
                be_odd(s, s->node[i].data[j]);
    return ok;
}

void links_stop(struct zk_server *s)
{
    for (int i = 0; i < s->nodes; i++) {
        for (int j = 0; j < s->nodes; j++) {
            proxy_stop(s->node[i].data[j]);
            proxy_stop(s->node[i].vote[j]);
        }
    }
}

struct proxy *zk_server_link(const struct zk_server *s, int from, int to)
{
    return s->node[from].data[to];
}

struct proxy *zk_server_election_link(const struct zk_server *s, int from, int to)
{
    return s->node[from].vote[to];
}

void zk_server_sever(struct zk_server *s, int from, int to)
{
    proxy_freeze(s->node[from].data[to], PROXY_TO_SERVER);
    proxy_freeze(s->node[from].vote[to], PROXY_TO_SERVER);
    proxy_freeze(s->node[to].data[from], PROXY_TO_CLIENT);
    proxy_freeze(s->node[to].vote[from], PROXY_TO_CLIENT);
}

void zk_server_mute(struct zk_server *s, int node)
{
    for (int other = 0; other < s->nodes; other++)
        if (other != node)
            zk_server_sever(s, node, other);
}

void zk_server_deafen(struct zk_server *s, int node)
{
    for (int other = 0; other < s->nodes; other++)
        if (other != node)
            zk_server_sever(s, other, node);
}

void zk_server_isolate(struct zk_server *s, int node)
{
    zk_server_mute(s, node);
    zk_server_deafen(s, node);
}

void zk_server_rejoin(struct zk_server *s, int node)
{
    for (int other = 0; other < s->nodes; other++) {
        if (other == node)
            continue;
        proxy_heal(s->node[node].data[other]);
        proxy_heal(s->node[node].vote[other]);
        proxy_heal(s->node[other].data[node]);
        proxy_heal(s->node[other].vote[node]);
        be_odd(s, s->node[node].data[other]);
        be_odd(s, s->node[other].data[node]);
    }
}

void zk_server_slow(struct zk_server *s, int node, int ms)
{
    for (int other = 0; other < s->nodes; other++) {
        if (other == node)
            continue;
        proxy_delay_ms(s->node[node].data[other], PROXY_BOTH, ms);
        proxy_delay_ms(s->node[other].data[node], PROXY_BOTH, ms);
    }
}
