/* A session has at most two watches for each path, however many subscribe: one on the node, one on
 * the children. The caller holds the monitor. */
#ifndef LIB_WATCH_H
#define LIB_WATCH_H

#include "core.h"
#include "request.h"

struct watch;

GHashTable *watch_table_new(void);

/* A subscription is a part of what it belongs to, see SUBSCRIBER(). It is small, because there may
 * be thousands. All zero is no subscription. It fires once: fired runs with the subscription
 * dropped. While a request for it is under way it does not fire, since the answer tells what
 * happened before. */
struct subscription {
    struct watch *watch;
    const struct request *asked; /* the newest, until it is answered */
    void (*fired)(struct subscription *i, bool gone);
    struct subscription *next; /* of the same watch */
};

/* The struct of that type whose member i is. */
#define SUBSCRIBER(i, type, member) ((type *)(void *)((char *)(i)-offsetof(type, member)))

/* Makes r, a STORE_GET, LIST or STAT, leave a watch that fires i. Sends nothing. Returns false if
 * too much is watched. */
bool watch_add(zkl_session *s, struct request *r, struct subscription *i);

/* The same for a watch that is not needed: it is left while others have room enough. */
bool watch_add_optional(zkl_session *s, struct request *r, struct subscription *i);

/* Returns the path of a subscription, while there is one. It is an rc_box: a caller may keep
 * another reference. */
char *watch_path(const struct subscription *i);

/* The answer to such a request came. Its done calls this before anything else. If there is no node,
 * the request left no watch, and i is dropped. */
void watch_answered(zkl_session *s, const struct request *r, const struct store_reply *reply,
                    struct subscription *i);

/* A server may hang up instead of answering a removal, and each lost connection is one for all
 * grants of the session. More in a row than these are tried later and later. */
enum { WATCH_LOST_AT_ONCE = 4 };

/* The subscription ends. With the last one the watch is removed, on the server too; unless the
 * node is being deleted, which does that by itself. */
void watch_drop(struct subscription *i, bool deleting);

/* The store's event. */
void watch_fired(zkl_session *s, const char *path, enum store_fired fired);

/* At a reconnect. libzookeeper sets all watches again, and the server fires those whose node has
 * changed after the newest zxid that this session has seen. Where the data have gone back and grown
 * again, a change may have a zxid before that. So all subscriptions fire, as if their nodes had
 * changed, and are asked for anew; the server keeps its watches. */
void watch_doubt_all(zkl_session *s);

/* The session is over and its watches with it: no subscription fires any more. */
void watch_clear(zkl_session *s);

#endif
