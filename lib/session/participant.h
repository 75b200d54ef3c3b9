/* A user of a session, as the session knows it: locks, elections and watched queues are one each.
 * The session tells them what happens to it, in the order in which they were added, and knows
 * nothing else of them. The caller holds the monitor; so does the session when it calls them. */
#ifndef LIB_PARTICIPANT_H
#define LIB_PARTICIPANT_H

#include <stdbool.h>
#include <stddef.h>
#include <zkl.h>

#include "recipes/ending.h"

struct participant;

enum session_news {
    NEWS_UP,             /* there is a connection, perhaps of another incarnation */
    NEWS_PROVED,         /* a proof has moved the deadline, and it lasts */
    NEWS_DEADLINE_MOVED, /* the deadline has moved, by a connection or a proof, but does not last */
    NEWS_SUSPECT,        /* the deadline may pass before the next proof */
    NEWS_DEADLINE_PASSED,
    NEWS_REPLACED, /* the incarnation ended, and another one was begun */
    NEWS_REWOUND,  /* the servers' data seem to have gone back: lower zxids will come. Comes after
                      REPLACED, or before UP of the same incarnation */
    NEWS_REFUSED,  /* the credentials, for good */
    NEWS_CLOSED,
    NEWS_COUNT
};

struct participant_ops {
    /* Whether somebody contends, holds or is a member: then the session is kept. NULL: never. */
    bool (*is_busy)(const struct participant *p);

    /* Whether somebody goes by the session's deadline, or waits for nothing but one: then it is
     * kept proved. NULL: never. */
    bool (*needs_deadline)(const struct participant *p);

    /* Returns what would be lost with the incarnation. NULL: nothing. */
    enum presence (*presence)(const struct participant *p);

    /* Each is called when that has happened. NULL: nothing is called. */
    void (*on[NEWS_COUNT])(struct participant *p);

    /* Frees it, without the monitor: nobody else has the session any more. NULL: g_free() does. */
    void (*free)(struct participant *p);
};

/* The first member of what the user keeps for a session. */
struct participant {
    const struct participant_ops *ops;
    zkl_session *session;
};

/* Returns the session's participant with these ops. The first call makes one of size bytes, which
 * is all 0 after its first member. The session frees it at its end. */
struct participant *participant_of(zkl_session *s, const struct participant_ops *ops, size_t size);

/* ---- for the session: of all its participants ---- */

bool participants_are_busy(const zkl_session *s);
bool participants_need_deadline(const zkl_session *s);
enum presence participants_presence(const zkl_session *s);
void participants_tell(zkl_session *s, enum session_news news);
void participants_free(zkl_session *s);

#endif
