/* What the parts of the simulated ZooKeeper know of each other. */
#ifndef WORLD_INSIDE_H
#define WORLD_INSIDE_H

#include <glib.h>

#include "link.h"
#include "queue.h"
#include "tree.h"
#include "world.h"

#define MS INT64_C(1000000) /* ns */

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
    unsigned epoch; /* of the leader it follows or is */
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
};

void note(struct world *w, struct note what);

/* ---- server.c, handshake.c ---- */

void server_init(struct world *w, unsigned number);
void server_clear(struct server *s);
bool server_serves(const struct server *s);
void server_receive(struct link *link, struct message *m); /* from a client */
void server_settle(struct server *s, struct ask *ask);     /* its answer is known */
void server_drop_all(struct server *s);                    /* connections */
void server_end_session(struct server *s, int64_t session);
void handshake(struct conn *conn, const struct message *m);
void handshake_done(struct conn *conn, int64_t session);

/* ---- answer.c: from what a server has applied ---- */

void answer_read(struct server *s, struct ask *ask);
void answer_write(const struct server *s, struct ask *ask, const struct txn *txn);

/* ---- watches.c: of one server ---- */

GHashTable *watches_new(void); /* of GRefString; its values are nobody's */
void watches_add(struct server *s, struct conn *conn, enum watch_kind kind, char *path);
bool watches_remove(struct server *s, struct conn *conn, enum watch_kind kind, const char *path);
void watches_fire(void *server, const char *path, enum store_fired fired);
void watches_forget(struct server *s, struct conn *conn);
void watches_restore(struct server *s, struct conn *conn, const struct message *m);

/* ---- sessions.c: the leader's tracker ---- */

void sessions_start(struct server *leader); /* each anew */
struct tracked *sessions_find(const struct server *leader, int64_t id);
void sessions_add(struct server *leader, int64_t id, int timeout_ms, unsigned server);
bool sessions_touch(struct server *leader, int64_t id); /* false: there is none, or it is ending */
void sessions_forget(struct server *leader, int64_t id);
void sessions_check(struct server *leader);

/* ---- prepare.c ---- */

/* What the leader makes of it: what is to be done, or a refusal. */
struct txn *prepare(struct server *leader, struct ask *ask);
bool prepare_is_refused(const struct world *w, enum store_kind kind, const char *path);

/* ---- leader.c, follower.c, election.c ---- */

void leader_take(struct server *leader, struct ask *ask);
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
void ensemble_elect_soon(struct world *w);
struct server *world_newest(const struct world *w);  /* whose state is looked at */
struct server *world_working(const struct world *w); /* the leader with a quorum, or NULL */

/* ---- client.c: towards the servers ---- */

void client_receive(struct link *link, struct message *m);
void client_begin(struct store *store);
void client_lost(struct store *store);                   /* its connection is gone */
void client_wake(struct store *store, int64_t delay_ns); /* it looks at the time */

/* ---- probe.c: whether servers would take it ---- */

void probe_begin(struct store *store); /* its connection is gone */
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

/* ---- porter.c ---- */

void porter_tell(struct world *w, const struct store_sink *sink);
void porter_free(struct porter *porter); /* when all are told; may be NULL */

#endif
