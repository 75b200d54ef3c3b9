#include "group.h"

struct group_news group_see(struct group_node *told, struct group_node now, bool other)
{
    const bool same = told->czxid == now.czxid;
    struct group_news news = {.left = false};

    if (same && now.mzxid == told->mzxid && !other)
        return news;
    news.left = !same && told->czxid != 0;
    news.joined = !same && now.czxid != 0;
    news.changed = same;
    news.at = same ? now.mzxid : now.czxid;
    *told = now;
    return news;
}

bool group_is_older(struct group_node told, struct group_node now)
{
    return told.czxid == now.czxid && now.mzxid < told.mzxid;
}

bool group_list(struct group *g, uint64_t pzxid)
{
    if (pzxid < g->changed)
        return false;
    g->changed = pzxid;
    return true;
}

bool group_holds_back(struct group *g, int64_t now, int64_t patience)
{
    if (!g->rewound && !g->older)
        g->since = now;
    g->older = true;
    if (!g->rewound && now - g->since < patience)
        return true;
    group_rewind(g);
    return false;
}

void group_connected(struct group *g)
{
    g->older = false;
}

void group_told(struct group *g)
{
    g->older = g->rewound = false;
}

void group_rewind(struct group *g)
{
    g->changed = 0;
    g->rewound = true;
}
