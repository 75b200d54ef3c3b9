/* What the parts of the simulated ZooKeeper know of each other. */
#ifndef WORLD_INSIDE_H
#define WORLD_INSIDE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "world.h"

#define MS INT64_C(1000000) /* ns */

/* ---- queue.c ---- */

/* Virtual time: what is due when, in an order that depends on nothing but who asked first; and the
 * world's only source of chance. */

/* Lives in what it belongs to; all zero is unarmed. */
struct alarm {
    int64_t at;
    uint64_t order; /* among those of one instant */
    guint slot;     /* in the heap, from 1; 0: unarmed */
    void (*fn)(void *context);
    void *context;
};

struct queue {
    int64_t now; /* ns */
    GPtrArray *heap;
    uint64_t order;
    uint64_t chance;
};

void queue_init(struct queue *q, uint64_t seed);
void queue_clear(struct queue *q);

/* Arming an armed one moves it. What is armed for the past happens now. */
void queue_arm(struct queue *q, struct alarm *a, int64_t at, void (*fn)(void *context),
               void *context);
void queue_cancel(struct queue *q, struct alarm *a);

int64_t queue_next(const struct queue *q); /* INT64_MAX: nothing */
bool queue_run_next(struct queue *q, int64_t until);

uint64_t chance_below(struct queue *q, uint64_t n); /* 0 .. n - 1 */
bool chance_is(struct queue *q, unsigned percent);
void chance_shuffle(struct queue *q, void **items, guint n);

/* ---- tree.c ---- */

/* One replica of what ZooKeeper keeps: nodes and sessions, changed by transactions only. */

struct ask;

struct node {
    char *path, *name; /* GRefString: replicas share them */
    GBytes *data;      /* NULL: none */
    int32_t version;
    int32_t creations; /* of children, ever: the next sequence number */
    uint64_t czxid, mzxid, pzxid;
    int64_t ctime_ms, mtime_ms, ephemeral_owner;
    bool container;
    struct node *parent;
    guint at;            /* among the parent's children */
    guint at_owner;      /* among its session's nodes */
    GPtrArray *children; /* of struct node */
};

/* What a transaction does to one node. */
struct part {
    enum store_kind kind; /* CREATE, SET, DELETE; GET: nothing, it was a check */
    char *path, *name;    /* GRefString */
    GBytes *data;
    int32_t version;   /* afterwards */
    int32_t creations; /* of the parent, afterwards */
    int64_t ephemeral_owner;
    bool container;
};

enum txn_kind { TXN_NODES, TXN_SESSION, TXN_END, TXN_ERROR };

struct txn {
    unsigned refs;
    uint64_t zxid;
    int64_t time_ms;
    enum txn_kind kind;
    int64_t session;
    int timeout_ms; /* SESSION */
    enum cause cause;
    enum store_rc rc; /* ERROR */
    int failed;       /* ERROR: which part */
    struct ask *ask;  /* who asked for it; NULL: nobody */
    GPtrArray *syncs; /* of struct ask: to be answered behind it */
    GArray *parts;    /* of struct part; END: the session's nodes */
};

struct replica_session {
    int64_t id;
    int timeout_ms;
    GPtrArray *nodes; /* of struct node: its ephemerals */
};

struct tree {
    uint64_t zxid;       /* of the last transaction applied */
    GHashTable *nodes;   /* path -> struct node; never walked */
    GPtrArray *sessions; /* of struct replica_session, in the order of their making */
    struct node *root;
};

struct tree *tree_new(bool alone);
struct tree *tree_copy(const struct tree *from);
void tree_free(struct tree *tree);

struct node *tree_find(const struct tree *tree, const char *path);
struct replica_session *tree_session(const struct tree *tree, int64_t id);
unsigned tree_count(const struct tree *tree); /* but those of a fresh server */

/* Calls changed for each node that was made, set or deleted, in order. */
void tree_apply(struct tree *tree, const struct txn *txn,
                void (*changed)(void *data, const char *path, enum store_fired fired), void *data);

/* The parent's path; NULL for the root. */
char *path_parent(const char *path);
bool path_is_below(const char *path, const char *top); /* or the same */

struct txn *txn_new(enum txn_kind kind, int64_t session);
struct txn *txn_ref(struct txn *txn);
void txn_unref(struct txn *txn);

/* ---- link.c ---- */

/* Messages, and the ordered ways they take. What a cut or a pause holds back stays on its way. */

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

/* ---- a request, from submit to its answer ---- */

enum { ASK_SESSION = STORE_MULTI + 1, ASK_END };

/* What somebody wants of the servers: a store_kind, or one of the two above. */
struct ask {
    unsigned refs;
    int kind;
    int64_t session;
    unsigned sequence; /* of the host */
    struct host *host;
    char *path; /* GRefString, or NULL */
    GBytes *data;
    enum store_mode mode;
    bool plain;
    int32_t version;
    bool watch, of_list;
    GArray *parts; /* of struct part; MULTI: what is asked for */
    int timeout_ms;
    enum cause cause;
    bool breaks_before, breaks_after; /* the connection */
    /* the client's */
    store_done done;
    void *context;
    /* the server's */
    struct conn *conn; /* NULL: nobody is to be answered any more */
    unsigned server;   /* which got it from the client */
    bool settled;
    bool unknown; /* the server does not know that operation */
    bool taken;   /* by a leader */
    bool late;    /* what the server got does not count */
    struct store_reply reply;
    GPtrArray *names; /* of GRefString: what the reply points to */
    char *reply_path; /* GRefString */
    GBytes *reply_data;
};

struct ask *ask_new(int kind, int64_t session);
struct ask *ask_of(const struct store_request *request);
struct ask *ask_ref(struct ask *ask);
void ask_unref(struct ask *ask);
bool ask_is_write(const struct ask *ask);

/* ---- watches ---- */

enum watch_kind {
    WATCH_NODE,
    WATCH_CHILDREN,
    WATCH_ABSENT, /* the client library's word for one of a node that was not there */
    WATCH_KINDS,
    WATCH_KINDS_SERVED = WATCH_ABSENT /* a server knows no such difference */
};

/* ---- connections ---- */

struct conn {
    unsigned refs;
    struct world *w;
    struct host *host;
    struct store *client;  /* NULL: closed there */
    struct server *server; /* NULL: closed there */
    unsigned to;           /* the server's number */
    struct link up, down;
    /* the server's */
    int64_t session;
    int timeout_ms;
    bool reached; /* by anything */
    bool established;
    bool ghost; /* its session ended just when it was accepted: nothing is answered */
    int64_t since;
    uint64_t seen;                           /* zxid, by the client before */
    GQueue asks;                             /* of struct ask: not answered yet, in order */
    GHashTable *watched[WATCH_KINDS_SERVED]; /* GRefString path -> itself */
};

struct conn *conn_new(struct store *client, unsigned server);
struct conn *conn_ref(struct conn *conn);
void conn_unref(struct conn *conn);
void conn_client_closes(struct conn *conn);
void conn_server_closes(struct conn *conn);

/* ---- servers ---- */

enum role { SERVER_DOWN, SERVER_LOOKING, SERVER_FOLLOWING, SERVER_LEADING };

struct peer {
    bool follows;
    int64_t heard; /* when, last */
    uint64_t acked;
};

struct tracked {
    int64_t id;
    int64_t timeout;
    int64_t expiry;
    unsigned server; /* the server it is connected to */
    bool closing;
};

struct server {
    struct world *w;
    unsigned number;
    enum role role;
    bool paused, cut, deaf;
    int64_t lag;
    int64_t clock_ms; /* by which its wall clock is ahead of true time */
    unsigned epoch;   /* of the leader it follows or is */
    struct tree *tree;
    struct tree *head; /* leading: with what is proposed; alone: the same as tree */
    guint64 applied;   /* how much of the history */
    GQueue log;        /* of struct txn: proposed and not applied */
    GPtrArray *conns;
    GHashTable *watches[WATCH_KINDS_SERVED]; /* GRefString path -> GPtrArray of struct conn */
    /* following */
    unsigned leader;
    int64_t heard;
    GArray *touches; /* of int64_t: sessions, since the leader's last beat */
    GHashTable *touched;
    GHashTable *revalidating; /* int64_t session -> struct conn: one each, the newest */
    struct link stream;       /* commits and syncs on their lagging way to the tree */
    /* leading */
    uint64_t next_zxid;
    struct peer peers[WORLD_SERVERS_MAX];
    GPtrArray *tracked; /* of struct tracked, in the order of their making */
    struct alarm expiry;
    /* in an ensemble */
    struct link to[WORLD_SERVERS_MAX];
    struct alarm beat;
};

/* ---- the client library on a host ---- */

enum client_state { CLIENT_NEW, CLIENT_WAITING, CLIENT_CONNECTING, CLIENT_UP, CLIENT_OVER };

struct store {
    unsigned refs;
    struct world *w;
    struct host *host;
    struct store_sink sink;
    enum client_state state;
    bool closed;
    int timeout_ms;
    int64_t session;
    uint64_t seen;  /* zxid */
    uint64_t known; /* zxid, by answers that its user was given: at most seen */
    struct alarm look;
    struct conn *conn;
    unsigned order[WORLD_SERVERS_MAX], servers, turn, tried;
    GQueue asks;                      /* of struct ask: not answered */
    GHashTable *watched[WATCH_KINDS]; /* GRefString path -> its number, of armed */
    int armed;                        /* watches, ever */
    int64_t received, sent;           /* when, last: the host's CLOCK_MONOTONIC_RAW */
    struct alarm alarm;
};

struct host {
    struct world *w;
    char *name;
    int rate_ppm;
    bool paused, suspended, dead;
    int64_t boot_offset, raw_offset;
    int64_t suspended_ns;    /* in the past */
    int64_t suspended_since; /* while suspended */
    unsigned sequence;
    unsigned break_in; /* requests until one ends its connection; 0: none does */
    bool break_after;
    int64_t late_ms; /* of what its next lost connection had; 0: chance decides */
    bool cut_up[WORLD_SERVERS_MAX], cut_down[WORLD_SERVERS_MAX];
    GPtrArray *stores;
};

int64_t host_raw_when(const struct host *h, int64_t raw_ns);

/* ---- the world ---- */

struct refusal {
    enum store_kind kind;
    char *path;
};

struct world {
    struct world_config config;
    int64_t tick; /* ns */
    struct queue queue;
    unsigned count;
    struct server servers[WORLD_SERVERS_MAX];
    GPtrArray *hosts;
    GPtrArray *history; /* of struct txn: committed; the first is number history_base */
    guint64 history_base;
    unsigned epoch;
    int leader; /* as noted; -1: nobody */
    int64_t sessions;
    GArray *refusals; /* of struct refusal */
    struct alarm election, reaping;
    struct world_counts counts;
    struct porter *porter;
    struct tree *kept; /* what is restored; NULL: nothing */
    GPtrArray *late;   /* of struct late */
};

void note(struct world *w, struct note what);

/* ---- server.c ---- */

void server_init(struct world *w, unsigned number);
void server_clear(struct server *s);
bool server_serves(const struct server *s);
void server_receive(struct link *link, struct message *m); /* from a client */
void server_settle(struct server *s, struct ask *ask);     /* its answer is known */
void server_drop_all(struct server *s);                    /* connections */
void server_end_session(struct server *s, int64_t session);
void handshake(struct conn *conn, const struct message *m);
void handshake_done(struct conn *conn, int64_t session);

void answer_write(const struct server *s, struct ask *ask, const struct txn *txn);

/* ---- watches.c: of one server ---- */

GHashTable *watches_new(void); /* of GRefString; its values are nobody's */
void watches_add(struct server *s, struct conn *conn, enum watch_kind kind, char *path);
bool watches_remove(struct server *s, struct conn *conn, enum watch_kind kind, const char *path);
void watches_fire(void *server, const char *path, enum store_fired fired);
void watches_forget(struct server *s, struct conn *conn);
void watches_restore(struct server *s, struct conn *conn, const struct message *m);

/* The leader's tracker: */
void sessions_start(struct server *leader); /* each anew */
struct tracked *sessions_find(const struct server *leader, int64_t id);
bool sessions_touch(struct server *leader, int64_t id); /* false: there is none, or it is ending */
void sessions_forget(struct server *leader, int64_t id);
void sessions_check(struct server *leader);

/* ---- prepare.c ---- */

/* What the leader makes of it: what is to be done, or a refusal. */
struct txn *prepare(struct server *leader, struct ask *ask);
bool prepare_is_refused(const struct world *w, enum store_kind kind, const char *path);

/* ---- leader.c, follower.c, election.c ---- */

void leader_take(struct server *leader, struct ask *ask);
/* What was lost with the connection may come late, if the world does so. */
void leader_hold_back(struct store *store);
void late_free(void *late);
void leader_commit_all(struct server *leader); /* without waiting for anybody */
void leader_receive(struct server *s, unsigned from, struct message *m);
void leader_beat(struct server *s);
struct txn *history_at(const struct world *w, guint64 number);
guint64 history_end(const struct world *w);
void server_apply(struct server *s, guint64 upto);

void follower_receive(struct server *s, struct message *m);
void follower_beat(struct server *s);
void follower_stream(struct link *link, struct message *m);
void forward(struct server *s, struct ask *ask); /* to whoever leads */

void ensemble_send(struct server *from, unsigned to, struct message what);
void ensemble_start(struct world *w);
void ensemble_beat_in(struct server *s, int64_t ns);
void ensemble_leave(struct server *s, enum role role); /* leads or follows no more */
void ensemble_look(struct server *s);                  /* and would again */
/* Its way to its leader breaks: what is on it is lost, both ways. */
void ensemble_tear(struct server *s);
void ensemble_elect_soon(struct world *w);
struct server *world_newest(const struct world *w);  /* whose state is looked at */
struct server *world_working(const struct world *w); /* the leader with a quorum, or NULL */

/* ---- client.c: towards the servers ---- */

void client_receive(struct link *link, struct message *m);
void client_begin(struct store *store);
void client_lost(struct store *store);                   /* its connection is gone */
void client_wake(struct store *store, int64_t delay_ns); /* it looks at the time */

/* Whether servers would take it: */
void probe_end(struct store *store);

/* ---- store.c: towards the caller ---- */

struct store *store_ref(struct store *store);
void store_unref(struct store *store);
/* None of them calls when the store is closed, or its host dead. */
void store_tell(struct store *store, enum store_event event);
void store_watch(struct store *store, const char *path, enum store_fired fired);
void store_answer(struct store *store, struct ask *ask, const struct store_reply *reply);
void store_fail_all(struct store *store, enum store_rc rc);

/* ---- host.c ---- */

/* One world more, or less: while there is one, time is read in its hosts alone. */
void host_count_worlds(int more);

void porter_free(struct porter *porter); /* when all are told; may be NULL */

#endif
