#include "contender.h"
#include "grant.h"

static void watch(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_wanted(g, fn, data) && grant_contender(g))
        contender_look(grant_contender(g));
}

int zkl_grant_on_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_wanted", watch);
}
