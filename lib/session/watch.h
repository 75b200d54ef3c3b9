/* At most two watches per path and session, however many subscribe: one on its node, one on
 * the children. All with the monitor held. */
#ifndef LIB_WATCH_H
#define LIB_WATCH_H

#include "core.h"
#include "request.h"

struct watch;

GHashTable *watch_table_new(void);

/* Lives in what it belongs to, see SUBSCRIBER(): thousands may, so it has no more than it needs.
 * All zero is no subscription. One shot: fired runs with the subscription dropped. While a request
 * for it is under way it does not fire: what happened before the answer, the answer tells.
 */
struct subscription {
    struct watch *watch;
    const struct request *asked; /* the newest, until it is answered */
    void (*fired)(struct subscription *i, bool gone);
    struct subscription *next; /* of the same watch */
};

/* The struct of that type whose member i is. */
#define SUBSCRIBER(i, type, member) ((type *)(void *)((char *)(i)-offsetof(type, member)))

/* Makes r, a STORE_GET, LIST or STAT, leave a watch that fires i. Sends nothing. False: too much is
 * watched. */
bool watch_add(zkl_session *s, struct request *r, struct subscription *i);

/* The same for a watch that is not needed: it is left while others have room enough. */
bool watch_add_optional(zkl_session *s, struct request *r, struct subscription *i);

/* The path of a subscription, while there is one: an rc_box, of which another reference may be
 * kept. */
char *watch_path(const struct subscription *i);

/* The answer to such a request came; to be called by its done, before anything else. When it
 * left no watch, as there is no node, i is dropped. */
void watch_answered(zkl_session *s, const struct request *r, const struct store_reply *reply,
                    struct subscription *i);

/* The subscription ends. With the last one the watch is removed, on the server too; unless the
 * node is being deleted, which does that by itself. */
void watch_drop(struct subscription *i, bool deleting);

/* The store's event. */
void watch_fired(zkl_session *s, const char *path, enum store_fired fired);

/* The session is over and its watches with it: no subscription fires any more. */
void watch_clear(zkl_session *s);

#endif
