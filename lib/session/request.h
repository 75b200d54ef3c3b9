/* Requests that survive disconnections. Each is answered definitely, or with STORE_GONE when its
 * session ends. But a request marked once may be told STORE_UNKNOWN, and so may one that is meant
 * for an earlier connection. Requests are sent in the order in which they were asked for. A server
 * takes one at a time from each connection, and a proof of the session may have to wait for all of
 * them; so the session sends few at a time. The caller holds the monitor. */
#ifndef LIB_REQUEST_H
#define LIB_REQUEST_H

#include "core.h"

struct request {
    struct store_request what; /* owns path and data */
    bool once;
    bool only; /* sent on .connection, and on no later one */
    enum proof_kind proves;
    void (*done)(struct request *r, const struct store_reply *reply);
    void *context; /* for done: ours to name, not to free */
    uint32_t tag;
    /* private; thousands may wait, so without gaps */
    bool parked;
    bool repeated;         /* for done, too: it was sent before, and that may still be done */
    enum create_op op : 8; /* CREATE: as it was sent last */
    uint8_t lost;          /* answers to it, so far; .once: in a row, to what the asker has sent,
                              who sets and reads it */
    zkl_session *session;
    GList link;
    uint64_t number;     /* of all that were asked for */
    unsigned weight;     /* while it is under way */
    uint32_t connection; /* on which it was sent last */
    struct instant sent;
    char *made;         /* by a plain create, whose stat is being read */
    struct timer *held; /* until it is told that its answer is lost; NULL: it is not held back */
};

/* A request about path, which it takes. Change what is needed, then send it. */
struct request *request_new(enum store_kind kind, char *path,
                            void (*done)(struct request *r, const struct store_reply *reply),
                            void *context);

/* Whether r, a create, makes a node that ends with the session. */
bool request_is_ephemeral(const struct request *r);

/* Frees what was not sent. */
void request_free(struct request *r);

/* Takes r: done comes exactly once, r is freed after it. If .once is set, and too many in a row
 * were .lost, STORE_UNKNOWN comes after a pause that began when r was sent. */
void request_send(zkl_session *s, struct request *r);

/* For done, with that answer: until when a sending of the change r that was not answered may still
 * be done, CLOCK_BOOTTIME, ns; 0: there is none. */
int64_t request_late_until(const struct request *r, enum store_rc rc);

/* Takes r. Either sends it now, before all requests that wait for room, or frees it and returns
 * false; then done is not called. */
bool request_try(zkl_session *s, struct request *r);

/* Ends r with STORE_BAD if it is parked; otherwise its answer comes as it comes. */
void request_recall(struct request *r);

/* There is a connection: sends what is parked, in order, as far as there is room; but after a pause
 * where the first of it was lost with too many connections. */
void request_connected(zkl_session *s);

/* The session is over: answers what is parked. */
void request_drop_all(zkl_session *s);

#endif
