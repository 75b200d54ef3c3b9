/* Messages, and the ordered ways they take. What a cut or a pause holds back stays on its way. */
#ifndef WORLD_LINK_H
#define WORLD_LINK_H

#include "queue.h"
#include "tree.h"

struct conn;
struct world;

enum message_kind {
    /* client to server */
    MSG_CONNECT, /* session or 0, timeout_ms, zxid: the newest seen */
    MSG_WATCHES, /* paths, by enum watch_kind, zxid: those of before the reconnect */
    MSG_REQUEST, /* ask */
    MSG_PING,
    MSG_END, /* of the session */
    /* server to client */
    MSG_WELCOME, /* session, or 0: it is over; timeout_ms */
    MSG_ANSWER,  /* ask, zxid */
    MSG_EVENT,   /* path, fired */
    MSG_PONG,    /* zxid */
    /* either: the sender has closed the connection */
    MSG_FIN,
    /* follower to leader */
    MSG_FORWARD,    /* ask */
    MSG_REVALIDATE, /* session */
    MSG_ACK,        /* zxid */
    MSG_TOUCHES,    /* sessions */
    /* leader to follower */
    MSG_PROPOSAL, /* txn */
    MSG_COMMIT,   /* upto */
    MSG_SYNCED,   /* ask */
    MSG_VALID,    /* session, valid: not for which handshake */
    MSG_BEAT,
    /* either: the sender no longer follows, or leads */
    MSG_BYE
};

struct message {
    enum message_kind kind;
    int64_t session;
    uint64_t zxid;
    int timeout_ms;
    bool valid;
    enum store_fired fired;
    unsigned epoch; /* between servers: that of the sender */
    guint64 upto;   /* in the history */
    struct ask *ask;
    struct txn *txn;
    struct conn *conn;
    char *path;          /* GRefString */
    GPtrArray *paths[3]; /* of GRefString; or NULL */
    GArray *sessions;    /* of int64_t */
    /* of the link */
    int64_t at;
    struct message *next;
};

struct link {
    struct world *w;
    void *context;
    bool (*blocked)(const struct link *link);
    void (*deliver)(struct link *link, struct message *m);
    struct message *first, *last;
    int64_t latest; /* when the last message sent is due */
    struct alarm alarm;
};

/* Takes the references in what. Nothing overtakes on a link. */
void link_send(struct link *link, struct message what, int64_t delay_ns);

int64_t link_latency(struct world *w); /* drawn anew */

/* No longer blocked, perhaps: what is overdue arrives after that delay. */
void link_kick(struct link *link, int64_t delay_ns);

/* Delivers the next message now, blocked or not; false: there is none. */
bool link_deliver_next(struct link *link);

/* All that is on its way is lost. */
void link_flush(struct link *link);

#endif
