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
