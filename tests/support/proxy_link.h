/* Inside the proxy only: its state, and one pair of connections. */
#ifndef SUPPORT_PROXY_LINK_H
#define SUPPORT_PROXY_LINK_H

#include "ports.h"
#include "proxy.h"

#include <glib.h>
#include <poll.h>
#include <pthread.h>

enum proxy_kind { KIND_PROXY, KIND_RAW, KIND_MUTE, KIND_RUBBISH };
enum { UP, DOWN };       /* index of a direction */
enum { UNDERWAY = 256 }; /* requests whose type is remembered until they are answered */

/* Set under the mutex by anyone, obeyed by the thread. */
struct orders {
    bool cut;
    unsigned frozen, dropping; /* bits of enum proxy_direction */
    int delay_ms[2], jitter_ms[2];
    int segment, tear_ms;
    bool lose_request, lose_reply;
    int lose_request_op, lose_reply_op;
    uint64_t refused, hung_up_on; /* bits of enum proxy_op */
    bool credentials_refused;
    proxy_mangle_fn mangle;
    void *mangle_data;
};

struct proxy {
    enum proxy_kind kind;
    int target_port;
    struct held_port port;
    char *connect;
    pthread_t thread;
    bool started;
    int wake; /* eventfd */

    pthread_mutex_t mutex; /* held by the thread except while it polls */
    pthread_cond_t changed;
    struct orders orders;
    struct proxy_stats stats;
    char *announced, *announce; /* see proxy_rewrite() */
    uint64_t asked, obeyed;     /* rounds of orders */
    bool reset_all, stop;

    /* The thread's own. */
    int listener;
    GPtrArray *links;
    uint32_t noise;
};

struct chunk {
    int64_t due;
    size_t length, sent;
    uint8_t bytes[];
};

/* One direction of a link. A message is held back until its head has come, which decides. */
struct stream {
    GQueue chunks;
    size_t queued;
    bool eof, shut;
    bool raw; /* no ZooKeeper messages: a four-letter word */
    bool greeted;
    bool discarding;
    uint8_t head[20];
    size_t have;
    uint64_t left; /* of the message whose head has passed */
};

struct link {
    struct proxy *proxy;
    int fd[2]; /* where UP reads from (client) and where DOWN reads from (server, or -1) */
    bool connecting;
    bool late; /* made in a freeze, of whatever direction: in a network, no handshake comes through
                */
    int64_t torn_at; /* INT64_MAX: never */
    bool announced;  /* the first bytes have passed */
    bool refused;    /* its credentials, behind which the server hears nothing */
    bool losing;
    int32_t losing_xid;
    uint8_t type[UNDERWAY]; /* of a request, by its xid */
    GByteArray *whole;      /* what has come of a message to the client; NULL: none is mangled */
    int whole_op;
    struct stream stream[2];
};

struct link *link_new(struct proxy *p, int client); /* closes client and answers NULL on failure */
void link_free(struct link *l, bool reset);
void link_ask(struct link *l, struct pollfd fds[2], int64_t now, int64_t *wake_at);
bool link_serve(struct link *l, const struct pollfd fds[2]); /* false: it is over */

void stream_push(struct link *l, int direction, const uint8_t *bytes, size_t length);

/* Takes what was read; false when the link must be reset. */
bool messages_feed(struct link *l, int direction, const uint8_t *bytes, size_t length);

#endif
