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
    void *context; /* for done, which may not free it here */
    /* private; small, since thousands may wait */
    bool parked;
    bool repeated; /* it was sent before, and that sending may still be done; done may read this */
    enum create_op op : 8; /* CREATE: as it was sent last */
    uint8_t lost; /* how many answers to it were lost. If .once: how many in a row to requests of
                     the asker, who sets and reads it */
    zkl_session *session;
    GList link;
    uint64_t number;     /* its place in the order in which all were asked for */
    unsigned weight;     /* its weight in .under_way of the session; 0: it is not under way */
    uint32_t connection; /* on which it was sent last */
    struct instant sent;
    char *made;         /* the node of a plain create, whose stat is being read */
    struct timer *held; /* until the asker is told that the answer is lost; NULL: told at once */
};

/* Makes a request about path, which it takes. Change what is needed, then send it. */
struct request *request_new(enum store_kind kind, char *path,
                            void (*done)(struct request *r, const struct store_reply *reply),
                            void *context);

/* Whether r, a create, makes a node that ends with the session. */
bool request_is_ephemeral(const struct request *r);

/* Frees a request that was not sent. */
void request_free(struct request *r);

/* Takes r. done is called exactly once, and r is freed after it. If .once is set, and too many in a
 * row were .lost, STORE_UNKNOWN comes after a pause that began when r was sent. */
void request_send(zkl_session *s, struct request *r);

/* Returns until when a sending of the change r that was not answered may still be done, in ns of
 * CLOCK_BOOTTIME; 0: there is none. For done, which got rc. */
int64_t request_late_until(const struct request *r, enum store_rc rc);

/* Takes r. Either sends it now, before all requests that wait for room, or frees it and returns
 * false; then done is not called. */
bool request_try(zkl_session *s, struct request *r);

/* Ends r with STORE_BAD, if it is parked; otherwise does nothing. */
void request_recall(struct request *r);

/* Called when there is a connection: sends what is parked, in order, as far as there is room. If
 * the first of it was lost with too many connections, a pause comes before. */
void request_connected(zkl_session *s);

/* Called when the session is over: answers with STORE_GONE what is parked, and what was lost
 * and not told yet. */
void request_drop_all(zkl_session *s);

#endif
