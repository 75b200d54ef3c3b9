/* Who looks at the children of a path again whenever they may have changed: an observer of leaders,
 * a watch of a queue. Each begins with a struct look. All with the monitor held.
 *
 *   sync? ──> list, with or without a watch ──> listed
 *              └─ no such path ──> look whether it exists, with a watch ──> missing
 *                                   └─ it does ──> list */
#ifndef LIB_LOOK_H
#define LIB_LOOK_H

#include <zkl/watch.h>

#include "lib/session/core.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"

struct look;

struct look_kind {
    const char *doing; /* for the log */
    bool watch;        /* the first list leaves a watch; otherwise look_list() is asked for one */
    void (*up)(struct look *l);    /* another connection; may be NULL, as the next */
    void (*begin)(struct look *l); /* a look begins */
    void (*listed)(struct look *l, const struct store_reply *reply, bool watched);
    void (*missing)(struct look *l);
    void (*failed)(struct look *l); /* for a new reason; may be NULL */
    void (*fired)(void *look, bool gone);
    void (*stop)(struct look *l); /* may be NULL */
    void (*free)(struct look *l);
};

struct look {
    int refs; /* the user's, its list's, each message, each request */
    zkl_session *session;
    char *directory; /* with chroot */
    const struct look_kind *kind;
    GQueue *list; /* all that end together */
    GList link;
    bool stopped;             /* no call begins any more */
    unsigned calls;           /* under way */
    uint32_t number;          /* of the present look: answers to earlier ones are stale */
    struct interest children; /* or that there is such a path */
    struct timer timer;       /* for the next look */
    int64_t pause_ms;         /* after failures */
    int failure;              /* logged */
};

/* Fills in what is all zero, with one reference: the list's. */
void look_init(struct look *l, zkl_session *s, const char *directory, const struct look_kind *kind,
               GQueue *list);
void look_unref(struct look *l); /* the session has another reference */

/* Looks anew; behind a sync, unless a watch has just shown that the server is up to date. */
void look_begin(struct look *l, bool sync);

/* There is a connection again, or another session, or there will be none: credentials refused. */
void look_up_all(GQueue *list);

/* No call begins any more. */
void look_stop(struct look *l);
void look_stop_all(GQueue *list);

/* What the user has of it, until zkl_watch_free(): with a reference. */
zkl_watch *look_handle(struct look *l);

/* ---- for the kinds ---- */

void look_list(struct look *l, bool watch);

/* What was looked for was found. */
void look_done(struct look *l);

/* An answer that is none. */
void look_refused(struct look *l, enum store_rc rc);

/* Another request of the look; its answer belongs to the look number tag. */
void look_ask(struct look *l, enum store_kind kind, char *path,
              void (*done)(struct request *r, const struct store_reply *reply),
              struct interest *interest, uint32_t tag);

/* The first step of an answer, whose last is look_unref(): false if it is stale. */
bool look_answered(struct look *l, struct request *r, const struct store_reply *reply,
                   struct interest *interest, uint32_t tag);

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
