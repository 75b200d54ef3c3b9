#include "group.h"

struct group_news group_see(struct group_node *told, struct group_node now)
{
    const bool same = told->czxid == now.czxid;
    struct group_news news = {.left = false};

    /* Of one node data do not grow older. */
    if (same && now.mzxid <= told->mzxid)
        return news;
    news.left = !same && told->czxid != 0;
    news.joined = !same && now.czxid != 0;
    news.changed = same;
    if (now.czxid != 0)
        news.at = same ? now.mzxid : now.czxid;
    *told = now;
    return news;
}

bool group_list(struct group *g, uint64_t pzxid)
{
    if (pzxid < g->changed)
        return false;
    g->changed = pzxid;
    return true;
}

void group_rewind(struct group *g)
{
    g->changed = 0;
}
