/* What all that is done with an election handle needs: its checks, its names, and its term. */
#include "election_state.h"
#include "lib/base/error.h"
#include "lib/lock/grant.h"

const char *election_path(const zkl_election *e)
{
    return session_path(e->session, e->directory);
}

int election_check(const zkl_election *e, bool candidate)
{
    int code;

    if (!e)
        return error_set(ZKL_EINVAL, NULL, "the election is NULL");
    code = session_check(e->session);
    if (!code && candidate && !e->id)
        code = error_set(ZKL_EINVAL, election_path(e), "%s: this handle has no candidate_id",
                         election_path(e));
    return code;
}

void election_unref(zkl_election *e)
{
    if (--e->refs > 0)
        return;
    session_unref(e->session);
    g_ref_string_release(e->directory);
    if (e->id)
        g_ref_string_release(e->id);
    g_free(e);
}

struct contender_spec election_spec(const zkl_election *e)
{
    return (struct contender_spec){.directory = e->directory,
                                   .payload = e->id,
                                   .parents = e->options.parents,
                                   .rule = e->rule,
                                   .rank = e->options.priority};
}

void election_set_grant(zkl_election *e, zkl_grant *grant)
{
    if (e->grant)
        grant_unref(e->grant);
    e->grant = grant ? grant_ref(grant) : NULL;
    if (grant)
        e->terms++;
}

bool election_leads(const zkl_election *e)
{
    return e->grant && zkl_grant_state(e->grant) < ZKL_LOST;
}

void election_blame_end(const zkl_election *e, zkl_error *ret)
{
    const char *path = election_path(e);

    if (e->grant && zkl_grant_state(e->grant) == ZKL_LOST)
        error_fill(ret, ZKL_ELOST, path, "%s: %s", path, zkl_strerror(ZKL_ELOST));
    else if (e->grant)
        *ret = (zkl_error){.code = 0};
}

void election_forget(zkl_election *e)
{
    election_blame_end(e, &e->last);
    election_set_grant(e, NULL);
}
