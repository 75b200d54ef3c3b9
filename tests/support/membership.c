#include "membership.h"

struct membership membership_of(zkl_member *m)
{
    zkl_grant *grant;
    struct membership now = {.code = zkl_member_grant(m, &grant)};

    now.state = now.code == ZKL_EPERM ? ZKL_RELEASED : ZKL_LOST;
    if (now.code != 0)
        return now;
    now.state = zkl_grant_state(grant);
    now.token = zkl_grant_token(grant);
    now.remaining_ms = zkl_grant_remaining_ms(grant);
    zkl_grant_deadline(grant, &now.deadline);
    zkl_grant_release(grant);
    return now;
}

zkl_state membership_state(zkl_member *m)
{
    return membership_of(m).state;
}

uint64_t membership_token(zkl_member *m)
{
    return membership_of(m).token;
}
