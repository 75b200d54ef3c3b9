/* Who asks to be called while it holds: another contender waits, or somebody asks it to give way.
 */
#include "contender.h"
#include "grant.h"

static void watch_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_WANTED, fn, data) && grant_contender(g))
        contender_look(grant_contender(g));
}

int zkl_grant_on_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_wanted", watch_wanted);
}

static void watch_asked(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_ASKED, fn, data) && grant_contender(g))
        contender_heed(grant_contender(g));
}

int zkl_grant_on_revoke(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_revoke", watch_asked);
}
