/* A member's inside, for tests. */
#ifndef LIB_MEMBER_H
#define LIB_MEMBER_H

#include "lib/grant/grant.h"
#include "lib/session/call.h"
#include "lib/session/driver.h"
#include "recipes/member.h"

/* All guarded by the monitor, but what is set when it is made. */
struct zkl_member {
    unsigned generation;
    zkl_session *session;
    zkl_member_options options;
    char *directory; /* with chroot */
    char *id;

    struct driver driver; /* referred to by the user and messages, and until it is over */
    struct member machine;
    struct tenure *tenure; /* of .proved, from JOINED to LOST or until it leaves; NULL otherwise */
    uint64_t turn;         /* how often it has joined */
    bool asks;             /* its grant was asked for: the session is kept proved */
    bool proved;           /* since then: it goes by the session's deadline */
    zkl_member *behind;    /* of those not over, with the same node: the next; NULL: none */
    bool left;             /* or is to */
    bool joined;           /* once at least */
    bool suspect;
    bool orphan;    /* its node stands, and cannot be deleted */
    bool unsettled; /* it leaves, and something of it may be done late */
    GBytes *data;
    char *node;        /* full path */
    bool renames;      /* a party's: its session is another one than that for which it was named */
    GQueue calls;      /* of struct member_call */
    zkl_error refusal; /* the last one; .code 0: none */
    /* the one that has the id: */
    int64_t other_session;
    char *other_data; /* what its node holds, as text */
};

#endif
