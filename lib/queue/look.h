/* Who looks at the children of a path again whenever they may have changed: an observer of leaders,
 * a watch of a queue. Each begins with a struct look. recipes/children.h decides. All with the
 * monitor held. */
#ifndef LIB_LOOK_H
#define LIB_LOOK_H

#include <zkl/watch.h>

#include "lib/session/core.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "recipes/children.h"

struct look;

struct look_kind {
    const char *doing; /* for the log */
    bool watch;        /* the first list leaves a watch; otherwise look_again() asks for one */
    int64_t gap_ns, gap_each_ns;   /* from a look to the next one, and for each child more */
    void (*up)(struct look *l);    /* another connection; may be NULL, as the next */
    void (*begin)(struct look *l); /* a look begins */
    void (*listed)(struct look *l, const struct store_reply *reply, bool watched);
    void (*missing)(struct look *l);
    void (*failed)(struct look *l); /* for a new reason; may be NULL */
    void (*stop)(struct look *l);   /* may be NULL */
    void (*free)(struct look *l);
};

struct look {
    int refs; /* the user's, its list's, each message, each request */
    zkl_session *session;
    char *directory; /* with chroot */
    const struct look_kind *kind;
    GQueue *list; /* all that end together */
    GList link;
    bool stopped;   /* no call begins any more */
    unsigned calls; /* under way */
    struct children machine;
    struct subscription children;     /* or that there is such a path */
    struct timer timer;               /* for the next look */
    const struct store_reply *listed; /* LISTED: what is handed on */
};

/* Fills in what is all zero, with one reference: the list's. */
void look_init(struct look *l, zkl_session *s, const char *directory, const struct look_kind *kind,
               GQueue *list);
void look_unref(struct look *l); /* the session has another reference */

/* The first time. */
void look_begin(struct look *l);

/* There is a connection again, or another session, or there will be none: credentials refused. */
void look_up_all(GQueue *list);

/* No call begins any more. */
void look_stop(struct look *l);
void look_stop_all(GQueue *list);

/* What the user has of it, until zkl_watch_free(): with a reference. */
zkl_watch *look_handle(struct look *l);

/* ---- for the kinds ---- */

/* The children, once more. */
void look_again(struct look *l, bool watch);

/* A watch has fired: from the beginning, but without a sync. */
void look_fired(struct look *l);

/* Only what the kind itself read is read anew: earlier answers are stale. */
void look_reread(struct look *l);

/* What was looked for was found, among so many children. */
void look_found(struct look *l, int count);

/* An answer to the kind's own request that is none. */
void look_refused(struct look *l, enum store_rc rc);

/* Which look it is. */
uint32_t look_number(const struct look *l);

/* Another request of the look; its answer belongs to the look number tag. */
void look_ask(struct look *l, enum store_kind kind, char *path,
              void (*done)(struct request *r, const struct store_reply *reply),
              struct subscription *subscription, uint32_t tag);

/* ---- telling ---- */

/* Begins what is told; freed by free, with the monitor held, whether it was told or not. */
struct look_message {
    struct look *look;
    void (*call)(struct look_message *m); /* without the monitor held */
    void (*free)(struct look_message *m);
};

/* Takes m, and a reference. */
void look_tell(struct look *l, struct look_message *m);

#endif
