/* A watch that lists the children of a path whenever they may have changed, for a user who is told.
 * An observer of leaders, a watch of a queue and a view of a group each begin with a struct
 * children_watch. The caller holds the monitor, unless a comment says otherwise. */
#ifndef LIB_CHILDREN_WATCH_H
#define LIB_CHILDREN_WATCH_H

#include <zkl/watch.h>

#include "lib/session/driver.h"
#include "recipes/children.h"

struct children_watch;

struct children_watch_kind {
    struct driver_ops driver;
    const char *doing; /* what the log says failed; NULL: nothing is logged, as the user is told */
    void (*free)(struct children_watch *cw);
};

struct children_watch {
    zkl_session *session;
    char *directory; /* with chroot */
    const struct children_watch_kind *kind;
    GQueue *list;   /* the watches that end together, of which it is one */
    bool stopped;   /* no call of the user's function begins any more */
    unsigned calls; /* calls under way */
    /* of children_watch_tell_last(): not told yet; NULL: none */
    struct children_watch_message *last;
    struct children_watch_message *told; /* of children_watch_tell_last(): told last; NULL: none */
    struct driver driver;                /* the user, the list and each message have a reference */
};

/* Fills in a watch that is all zero. Its one reference is the list's. */
void children_watch_init(struct children_watch *cw, zkl_session *s, const char *directory,
                         const struct children_watch_kind *kind, GQueue *list);

/* Begins the first query. */
void children_watch_begin(struct children_watch *cw);

/* Ends a watch, or all of a list. No call of the user's function begins after that. */
void children_watch_stop(struct children_watch *cw);
void children_watch_stop_all(GQueue *list);

/* For the participant that has the list. _on_up: there is a connection again, or another session,
 * or the credentials are refused, so that no connection comes. _on_closed: no call begins any more.
 */
void children_watches_on_up(struct participant *p);
void children_watches_on_closed(struct participant *p);

/* Returns the list of the session's watches. They query when a connection begins, and stop when the
 * session is closed. */
GQueue *children_watch_list_of(zkl_session *s);

/* Returns the user's reference, which zkl_watch_free() gives up. */
zkl_watch *children_watch_handle(struct children_watch *cw);

/* ---- for the kinds ---- */

struct children_watch *children_watch_of(struct driver *d);
struct children_moment children_watch_moment(const struct children_watch *cw);

/* Logs a failure, if the kind says what it is doing. */
void children_watch_log(const struct children_watch *cw, enum children_tell why);

/* Returns the code of zkl_error for a failure. */
int children_watch_code(enum children_tell why);

/* For the driver_ops of a kind: */
char *children_watch_path(struct driver *d, unsigned node); /* the directory */
void children_watch_free(struct driver *d);

/* ---- telling ---- */

/* The first member of a message. free() frees it with the monitor held, whether it was told or not.
 */
struct children_watch_message {
    struct children_watch *watch;
    void (*call)(struct children_watch_message *m); /* called without the monitor */
    void (*free)(struct children_watch_message *m);
    /* For children_watch_tell_last(): whether both tell the user the same. */
    bool (*same)(const struct children_watch_message *a, const struct children_watch_message *b);
    bool others; /* it has replaced messages that were not told */
};

/* Tells m on the callback thread, and then frees it. Takes a reference to the watch until then. */
void children_watch_tell(struct children_watch *cw, struct children_watch_message *m);

/* Tells m as children_watch_tell() does, but m replaces a message whose call has not begun. So at
 * most one message waits, however slow the user's function is. If m has replaced one, and tells the
 * same as the last one that was told, m is dropped. */
void children_watch_tell_last(struct children_watch *cw, struct children_watch_message *m);

#endif
