/* A session has at most two watches for each path, however many subscribe: one on the node, one on
 * the children. The caller holds the monitor. */
#ifndef LIB_WATCH_H
#define LIB_WATCH_H

#include "core.h"
#include "request.h"

struct watch;

/* Makes .watches of a session. */
GHashTable *watch_table_new(void);

/* A subscription is a part of what it belongs to, see SUBSCRIBER(). It is small, because there may
 * be thousands. All zero is no subscription. It fires once: fired is called when the subscription
 * was dropped. While a request for it is under way it does not fire, since the answer tells what
 * happened before. */
struct subscription {
    struct watch *watch;
    const struct request *asked; /* the newest request for it, until that is answered */
    void (*fired)(struct subscription *i, bool gone);
    struct subscription *next; /* of the same watch */
};

/* Returns the struct of that type whose member i is. */
#define SUBSCRIBER(i, type, member) ((type *)(void *)((char *)(i)-offsetof(type, member)))

/* Makes r, a STORE_GET, LIST or STAT, leave a watch that fires i. Sends nothing. Returns false if
 * too much is watched. */
bool watch_add(zkl_session *s, struct request *r, struct subscription *i);

/* Does the same for a watch that is not needed. It returns false while others need the room. */
bool watch_add_optional(zkl_session *s, struct request *r, struct subscription *i);

/* Returns the path of a subscription, not NULL: an rc_box, so a caller may keep another
 * reference. */
char *watch_path(const struct subscription *i);

/* Takes the answer to a request of watch_add(). The request's done calls this before anything else.
 * If the request left no watch, i is dropped: it was refused, or a GET or LIST found no node. A
 * STAT of a missing node does leave a watch. */
void watch_answered(zkl_session *s, const struct request *r, const struct store_reply *reply,
                    struct subscription *i);

/* How many removals may be lost in a row, each with a connection, before the next ones are tried
 * later and later. A server may hang up instead of answering a removal, and each lost connection is
 * one for all grants of the session. */
enum { WATCH_LOST_BEFORE_PAUSE = 4 };

/* Ends the subscription. With the last one of a watch it removes the watch, on the server too.
 * deleting: the node is being deleted, which removes the watch by itself. */
void watch_drop(struct subscription *i, bool deleting);

/* Takes the store's event: fires the subscriptions of that path. */
void watch_fired(zkl_session *s, const char *path, enum store_fired fired);

/* Called at a reconnect after which the servers' data may have gone back and grown again.
 * libzookeeper sets all watches again, and the server fires those whose node has changed after the
 * newest zxid that this session has seen. But a change may have a zxid before that. So this fires
 * all subscriptions, as if their nodes had changed, and they are asked for anew; the server keeps
 * its watches. */
void watch_doubt_all(zkl_session *s);

/* Called when the session is over, and its watches with it: no subscription fires any more. */
void watch_clear(zkl_session *s);

#endif
