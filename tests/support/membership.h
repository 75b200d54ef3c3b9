/* A membership at one instant, as its grant says. */
#ifndef SUPPORT_MEMBERSHIP_H
#define SUPPORT_MEMBERSHIP_H

#include <zkl/member.h>

struct membership {
    int code;        /* of zkl_member_grant() */
    zkl_state state; /* without a grant RELEASED if it has left, otherwise LOST */
    uint64_t token;
    int64_t remaining_ms;
    zkl_deadline deadline;
};

struct membership membership_of(zkl_member *m);

zkl_state membership_state(zkl_member *m);
uint64_t membership_token(zkl_member *m);

#endif
