#include "release.h"

#include "contender.h"
#include "grant.h"
#include "multi_attempt.h"
#include "retained.h"
#include "turn.h"
#include "whole.h"

void grant_let_go(zkl_grant *g, bool node_gone)
{
    struct contender *c = grant_contender(g);

    if (whole_attempt(g))
        multi_attempt_release(whole_attempt(g), node_gone);
    else if (c && node_gone)
        contender_vanished(c);
    else if (c)
        contender_release(c);
}

/* A transaction that gives it back has done so already. */
bool grant_give_back(zkl_grant *g)
{
    if (turn_retained(g))
        return retained_give_back(turn_retained(g), g, false);
    if (zkl_grant_state(g) == ZKL_RELEASED)
        return true;
    if (!grant_disown(g))
        return false;
    grant_let_go(g, false);
    return true;
}

void zkl_grant_release(zkl_grant *g)
{
    if (!g || grant_is_child(g))
        return;
    session_lock(grant_session(g));
    grant_give_back(g);
    session_unlock(grant_session(g));
    grant_unref(g);
}
