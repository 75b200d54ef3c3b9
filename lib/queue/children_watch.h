/* A machine that looks at the children of a path whenever they may have changed, for a user who is
 * told: an observer of leaders, a watch of a queue, a view of a group. Each begins with a struct
 * children_watch. All with the monitor held. */
#ifndef LIB_CHILDREN_WATCH_H
#define LIB_CHILDREN_WATCH_H

#include <zkl/watch.h>

#include "lib/session/driver.h"
#include "recipes/children.h"

struct children_watch;

struct children_watch_kind {
    struct driver_ops driver;
    const char *doing; /* for the log; NULL: the user is told */
    void (*free)(struct children_watch *cw);
};

struct children_watch {
    zkl_session *session;
    char *directory; /* with chroot */
    const struct children_watch_kind *kind;
    GQueue *list;                        /* all that end together */
    bool stopped;                        /* no call begins any more */
    unsigned calls;                      /* under way */
    struct children_watch_message *last; /* that will be told when it is its turn; NULL: none */
    struct children_watch_message *told; /* the last of those; NULL: none */
    struct driver driver; /* with references of the user, its list and each message */
};

/* Fills in what is all zero, with one reference: the list's. */
void children_watch_init(struct children_watch *cw, zkl_session *s, const char *directory,
                         const struct children_watch_kind *kind, GQueue *list);

/* The first time. */
void children_watch_begin(struct children_watch *cw);

/* No call begins any more. */
void children_watch_stop(struct children_watch *cw);
void children_watch_stop_all(GQueue *list);

/* For the participant of a list: there is a connection again, or another session, or there will be
 * none, since the credentials are refused; and no call begins any more. */
void children_watches_on_up(struct participant *p);
void children_watches_on_closed(struct participant *p);

/* The list of a session that begins and stops its watches with its connections and its end. */
GQueue *children_watch_list_of(zkl_session *s);

/* What the user has of it, until zkl_watch_free(): with a reference. */
zkl_watch *children_watch_handle(struct children_watch *cw);

/* ---- for the kinds ---- */

struct children_watch *children_watch_of(struct driver *d);
struct children_moment children_watch_moment(const struct children_watch *cw);

/* Logs what the user is told of a failure, if the kind says what it is doing. */
void children_watch_log(const struct children_watch *cw, enum children_tell why);

/* What it is for a caller: a code of zkl_error. */
int children_watch_code(enum children_tell why);

/* For their driver_ops: */
char *children_watch_path(struct driver *d, unsigned node); /* the directory */
void children_watch_free(struct driver *d);

/* ---- telling ---- */

/* Begins what is told; freed by free, with the monitor held, whether it was told or not. */
struct children_watch_message {
    struct children_watch *watch;
    void (*call)(struct children_watch_message *m); /* without the monitor held */
    void (*free)(struct children_watch_message *m);
    /* For children_watch_tell_last(): would the user be told the same? */
    bool (*same)(const struct children_watch_message *a, const struct children_watch_message *b);
    bool others; /* were not told for it */
};

/* Takes m, and a reference. */
void children_watch_tell(struct children_watch *cw, struct children_watch_message *m);

/* The same in the place of what was to be told last, if its call has not begun: however slow the
 * user's function is, others wait for one call of it. What comes back to what was told is not. */
void children_watch_tell_last(struct children_watch *cw, struct children_watch_message *m);

#endif
