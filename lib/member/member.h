/* A member of a group: recipes/member.h decides. docs/design/members.md has the argument. */
#ifndef LIB_MEMBER_H
#define LIB_MEMBER_H

#include "lib/session/call.h"
#include "lib/session/driver.h"
#include "recipes/member.h"
#include "standing.h"

/* All guarded by the monitor, but what is set when it is made, and .standing and .token. */
struct zkl_member {
    int refs; /* the user's, each request's and message's, and while it is not over */
    unsigned generation;
    zkl_session *session;
    zkl_member_options options;
    char *directory; /* with chroot */
    char *id;

    struct driver driver;
    struct member machine;
    struct standing standing;
    _Atomic uint64_t token;
    GList link;         /* in those of the session that are not over */
    zkl_member *behind; /* of them, with the same node: the next; NULL: none */
    bool left;          /* or is to */
    bool joined;        /* once at least */
    bool suspect;
    bool orphan; /* its node stands, and cannot be deleted */
    GBytes *data;
    char *node;        /* full path */
    bool renames;      /* a party's: its session is another one than that for which it was named */
    GQueue calls;      /* of struct member_call */
    zkl_error refusal; /* the last one; .code 0: none */
    /* the one that has the id: */
    int64_t other_session;
    char *other_data; /* what its node holds, as text */
};

/* ---- member.c ---- */

void member_ref(zkl_member *m);
void member_unref(zkl_member *m); /* with the monitor; the session has another reference */
void member_happens(zkl_member *m, unsigned kind); /* of the machine's events */
void member_quit(zkl_member *m);

/* That of the data which the next UPDATE is about. */
uint32_t member_next_generation(const zkl_member *m);

/* NULL, or what is wrong with them. */
const char *member_check_data(const void *data, size_t size, zkl_member_layout layout);

/* ---- member_calls.c ---- */

/* What the machine tells: events, and the ends of calls. */
void member_tell(zkl_member *m, const struct machine_action *a);
void member_tell_left(zkl_member *m);
void member_end_calls(zkl_member *m, const zkl_error *why);
void member_end_hopes(zkl_member *m);     /* of being in, since it is to leave */
void member_refuse_leaves(zkl_member *m); /* its node cannot be deleted now */

#endif
