/* Queries the children of a path again whenever they may have changed: an observer of leaders,
 * a watch of a queue. Each begins with a struct children_watch. recipes/children.h decides. All
 * with the monitor held. */
#ifndef LIB_CHILDREN_WATCH_H
#define LIB_CHILDREN_WATCH_H

#include <zkl/watch.h>

#include "lib/session/core.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "recipes/children.h"

struct children_watch;

struct children_watch_kind {
    const char *doing; /* for the log; NULL: whoever waits is told */
    bool watch; /* the first list leaves a watch; otherwise children_watch_again() asks for one */
    int64_t gap_ns, gap_each_ns; /* from a query to the next one, and for each child more */
    void (*up)(struct children_watch *cw);    /* another connection; may be NULL, as the next */
    void (*begin)(struct children_watch *cw); /* a query begins */
    void (*listed)(struct children_watch *cw, const struct store_reply *reply, bool watched);
    void (*missing)(struct children_watch *cw);
    void (*failed)(struct children_watch *cw); /* for a new reason; may be NULL */
    void (*stop)(struct children_watch *cw);   /* may be NULL */
    void (*free)(struct children_watch *cw);
};

struct children_watch {
    int refs; /* the user's, its list's, each message, each request */
    zkl_session *session;
    char *directory; /* with chroot */
    const struct children_watch_kind *kind;
    GQueue *list; /* all that end together */
    GList link;
    bool stopped;   /* no call begins any more */
    unsigned calls; /* under way */
    struct children machine;
    struct subscription children;     /* or that there is such a path */
    struct timer timer;               /* for the next query */
    const struct store_reply *listed; /* LISTED: what is handed on */
};

/* Fills in what is all zero, with one reference: the list's. */
void children_watch_init(struct children_watch *cw, zkl_session *s, const char *directory,
                         const struct children_watch_kind *kind, GQueue *list);
void children_watch_unref(struct children_watch *cw); /* the session has another reference */

/* The first time. */
void children_watch_query(struct children_watch *cw);

/* There is a connection again, or another session, or there will be none: credentials refused. */
void children_watch_up_all(GQueue *list);

/* No call begins any more. */
void children_watch_stop(struct children_watch *cw);
void children_watch_stop_all(GQueue *list);

/* What the user has of it, until zkl_watch_free(): with a reference. */
zkl_watch *children_watch_handle(struct children_watch *cw);

/* ---- for the kinds ---- */

/* The children, once more. */
void children_watch_again(struct children_watch *cw, bool watch);

/* A watch has fired: from the beginning, but without a sync. */
void children_watch_fired(struct children_watch *cw);

/* Only what the kind itself read is read anew: earlier answers are stale. */
void children_watch_reread(struct children_watch *cw);

/* What was looked for was found, among so many children. */
void children_watch_found(struct children_watch *cw, int count);

/* An answer to the kind's own request that is none. */
void children_watch_refused(struct children_watch *cw, enum store_rc rc);

/* What was read is older than what was read before: all again, later. */
void children_watch_older(struct children_watch *cw);

/* Which query it is. */
uint32_t children_watch_number(const struct children_watch *cw);

/* Another request of the query; its answer belongs to the query with that number as its tag. */
void children_watch_ask(struct children_watch *cw, enum store_kind kind, char *path,
                        void (*done)(struct request *r, const struct store_reply *reply),
                        struct subscription *subscription, uint32_t tag);

/* ---- telling ---- */

/* Begins what is told; freed by free, with the monitor held, whether it was told or not. */
struct children_watch_message {
    struct children_watch *watch;
    void (*call)(struct children_watch_message *m); /* without the monitor held */
    void (*free)(struct children_watch_message *m);
};

/* Takes m, and a reference. */
void children_watch_tell(struct children_watch *cw, struct children_watch_message *m);

#endif
