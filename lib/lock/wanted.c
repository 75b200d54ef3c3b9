/* Who asks to be called while it holds: another contender waits, or somebody asks it to give way.
 */
#include "contender.h"
#include "grant.h"
#include "whole.h"

/* Of a whole each part. */
static void find_out(zkl_grant *g, void (*fn)(struct contender *c))
{
    for (uint32_t i = 0; i < whole_count(g); i++) {
        if (grant_contender(whole_part(g, i)))
            fn(grant_contender(whole_part(g, i)));
    }
}

static void watch_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_WANTED, fn, data))
        find_out(g, contender_look);
}

int zkl_grant_on_wanted(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_wanted", watch_wanted);
}

static void watch_asked(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    if (grant_watch_call(g, GRANT_ASKED, fn, data))
        find_out(g, contender_heed);
}

int zkl_grant_on_revoke(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_revoke", watch_asked);
}
