/* The struct of a member, in a header for tests. */
#ifndef LIB_MEMBER_H
#define LIB_MEMBER_H

#include "lib/grant/grant.h"
#include "lib/session/call.h"
#include "lib/session/driver.h"
#include "recipes/member.h"

/* The monitor guards all but what is set when the member is made. */
struct zkl_member {
    unsigned generation;
    zkl_session *session;
    zkl_member_options options;
    char *directory; /* with chroot */
    char *id;

    /* the user and messages have a reference, and one lasts until it is over */
    struct driver driver;
    struct member machine;
    struct tenure *tenure; /* if .proved, from JOINED until it is lost or leaves; NULL otherwise */
    uint64_t joins;        /* how many times it has joined */
    bool asks;             /* the user has asked for its grant: the session is kept proved */
    bool proved;           /* a proof has come since .asks: it goes by the session's deadline */
    zkl_member *next_same; /* the next member of the session with the same node; NULL: none */
    bool left;             /* it has left, or is to leave */
    bool joined;           /* it has joined once at least */
    bool suspect;
    bool orphan;    /* its node stands, and a delete was refused */
    bool unsettled; /* it leaves, but a request of its own may be done late */
    GBytes *data;
    char *node;   /* full path */
    bool renames; /* of a party: its session is another than that for which the node was named */
    GQueue calls; /* of struct member_call */
    zkl_error refusal; /* the last refusal; .code 0: none */
    /* of the session that has the id, if it is another: */
    int64_t other_session;
    char *other_data; /* the data of its node, as text */
};

#endif
