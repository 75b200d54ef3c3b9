#include "newest.h"

bool newest_list(struct newest *n, uint64_t pzxid)
{
    if (pzxid < n->changed)
        return false;
    n->changed = pzxid;
    return true;
}

bool newest_holds_back(struct newest *n, int64_t now, int64_t patience)
{
    if (!n->rewound && !n->older)
        n->since = now;
    n->older = true;
    n->last = now;
    if (!n->rewound && now - n->since < patience && n->held + now - n->since < 2 * patience)
        return true;
    newest_rewind(n);
    return false;
}

void newest_connected(struct newest *n)
{
    if (n->older)
        n->held += n->last - n->since;
    n->older = false;
}

void newest_told(struct newest *n)
{
    n->older = n->rewound = false;
    n->held = 0;
}

void newest_rewind(struct newest *n)
{
    n->changed = 0;
    n->rewound = true;
}
