/* A started election, as its handle's user has it. */
#include "election_candidacy.h"
#include "lib/base/error.h"

static int start(zkl_election *e, zkl_election_fn fn, void *data)
{
    if (e->session->closing)
        return ZKL_ECLOSED;
    if (e->candidacy || e->campaign || election_leads(e))
        return ZKL_EBUSY;
    election_forget(e);
    election_candidacy_begin(e, fn, data);
    return 0;
}

int zkl_election_start(zkl_election *e, zkl_election_fn fn, void *data)
{
    int code = election_check(e, true);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e), "zkl_election_start: fn is NULL");
    session_lock(e->session);
    code = start(e, fn, data);
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EBUSY ? "already campaigning or leading" : zkl_strerror(code));
    return code;
}

void candidacy_session(zkl_election *e, bool over)
{
    if (e->candidacy)
        election_candidacy_session(e->candidacy, over);
}

/* The handle is free for another one: the end of this one's term may have to be told yet. */
int candidacy_stop(zkl_election *e, bool closed)
{
    struct election_candidacy *c = e->candidacy;

    e->candidacy = NULL;
    return election_candidacy_tell(c, MACHINE_EV_STOP, closed, 0);
}

/* Its end is heard of as any, and a new campaign follows. */
int zkl_election_yield(zkl_election *e)
{
    int code = election_check(e, true);

    if (code)
        return code;
    session_lock(e->session);
    code = e->candidacy
               ? election_candidacy_tell(e->candidacy, CANDIDACY_EV_YIELD, false, ZKL_EPERM)
               : ZKL_EPERM;
    session_unlock(e->session);
    if (code)
        error_set(code, election_path(e), "%s: %s", election_path(e),
                  code == ZKL_EPERM ? "not leading in a started election" : "the term was lost");
    return code;
}

void candidacy_describe(const zkl_election *e, zkl_election_status *ret)
{
    const struct election_candidacy *c = e->candidacy;
    const enum candidacy_state state = c->machine.state;

    ret->candidacy = state == CANDIDACY_PAUSED ? ZKL_CANDIDACY_PAUSED : ZKL_CANDIDACY_QUEUED;
    if (c->contender)
        ret->ahead = contender_ahead(c->contender);
    else if (state == CANDIDACY_CHECKING || state == CANDIDACY_PASSING)
        ret->ahead = 0;
}
