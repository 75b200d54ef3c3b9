/* Everything zkl asks of ZooKeeper. A store has one session at most: it is opened, may lose and
 * regain its connection, and ends by expiry or close. The real store is store_zk.c; tests bring
 * others.
 *
 * Every function is called, and every callback but closed made, with the sink's monitor held,
 * mostly the session's. The callbacks of one store come one at a time: those of the server's
 * packets, in the order in which these arrived, on libzookeeper's completion thread; and on the
 * store's own thread BEGIN, HOST and what is found out in an outage. A callback may submit a
 * request, or close the store. */
#ifndef LIB_STORE_H
#define LIB_STORE_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recipes/machine.h"

struct credentials;
struct log;
struct store;
struct tls_files;

/* A part of a STORE_MULTI. kind is CREATE (persistent), SET, DELETE, or GET, which is a check of
 * the version. */
struct store_change {
    enum store_kind kind;
    const char *path;
    const char *data; /* NULL: none */
    int length;
    int32_t version; /* -1: any */
};

struct store_request {
    enum store_kind kind;
    const char *path;
    const char *data; /* CREATE, SET */
    int length;
    enum store_mode mode; /* CREATE */
    bool plain; /* CREATE: by the operation that every server knows, which answers without a stat */
    int32_t version; /* SET; DELETE is unconditional */
    bool watch;      /* GET, LIST, STAT */
    bool of_list;    /* UNWATCH: the watch on the children; see recipes/machine.h */
    const struct store_change *changes; /* MULTI: good until submit returns */
    int count;
};

/* Why a server refuses: a permission is missing, the ACL of a CREATE is none that it takes, or a
 * quota would be exceeded. */
enum store_refusal { REFUSAL_PERMISSION, REFUSAL_ACL, REFUSAL_QUOTA };

/* Pointers are valid during the callback only. */
struct store_reply {
    enum store_rc rc;
    const char *path; /* CREATE: the name made */
    uint64_t czxid;   /* CREATE unless plain, GET, SET, LIST, STAT: of the node's stat */
    uint64_t mzxid;   /* of the last change of its data */
    uint64_t pzxid;   /* of the last change of its children */
    int32_t version;
    int64_t ephemeral_owner;
    int64_t ctime_ms;
    int64_t mtime_ms; /* when its data were changed last, by the clock of the leader of then */
    int32_t children;
    int32_t data_length;
    const char *data; /* GET */
    int length;
    char *const *names; /* LIST */
    int count;
    int failed;             /* MULTI: the number of the change that was refused */
    enum store_refusal why; /* NOAUTH */
};

typedef void (*store_done)(void *context, const struct store_reply *reply);

enum store_event {
    STORE_EV_UP,      /* connected, the session is established or still the same */
    STORE_EV_DOWN,    /* the connection is lost */
    STORE_EV_EXPIRED, /* the session is over; every request has been answered before */
    STORE_EV_AUTH,    /* credentials refused: nothing will work any more */
    STORE_EV_BEGIN,   /* a session is about to be asked for: no packet was sent yet */
    STORE_EV_HOST,    /* no server name can be resolved; it goes on trying */
    STORE_EV_FOREIGN, /* what answers is no ZooKeeper; it goes on trying */
    /* After DOWN, again and again until it is UP, by what this session is known to have seen: */
    STORE_EV_UNSERVED, /* no server serves */
    STORE_EV_SERVED,   /* one serves, and would let in a client that has seen as much */
    STORE_EV_REFUSED   /* servers serve, and none would: their data has gone back */
};

/* Why no server serves us, as far as connections of our own tell. If several servers tell, the
 * trouble that comes last here counts. */
enum store_trouble {
    TROUBLE_UNKNOWN,
    TROUBLE_NO_ROUTE,
    TROUBLE_REFUSED,     /* nobody listens there */
    TROUBLE_SILENT,      /* nothing comes back */
    TROUBLE_HANGS_UP,    /* the connection is closed without a word */
    TROUBLE_FOREIGN,     /* what answers is no ZooKeeper */
    TROUBLE_TLS,         /* what answers speaks TLS */
    TROUBLE_NOT_SERVING, /* a ZooKeeper that does not serve: it has no quorum, say */
    TROUBLE_NONE,        /* one serves */
    /* what this process is short of: */
    TROUBLE_MEMORY, /* or threads */
    TROUBLE_DESCRIPTORS
};

/* Why a watch fired. */
enum store_fired {
    STORE_FIRED_CHANGED = 0,
    STORE_FIRED_GONE = 1, /* the node is deleted: every watch of the path fires */
    STORE_FIRED_CHILDREN,
    STORE_FIRED_CREATED
};

struct store_sink {
    void (*event)(void *context, enum store_event event, int64_t session_id, int timeout_ms);
    void (*watch)(void *context, const char *path, enum store_fired fired);
    /* The last call of the store, made without the monitor held: its close is done. */
    void (*closed)(void *context);
    void *context;
    pthread_mutex_t *monitor;
    /* Called while there is no connection, with what is known of why, in the place of what was told
     * before. unusable: why no server is a partner for TLS; NULL: that is not the reason. May be
     * NULL. */
    void (*trouble)(void *context, enum store_trouble trouble, const char *unusable);
    /* Returns how many ns are left until the deadline of what is held; 0: no deadline is ahead.
     * Called with the monitor held. May be NULL. */
    int64_t (*left)(void *context);
};

/* What another process needs to take a session up. */
enum { STORE_PASSWORD = 16 };

struct store_claim {
    int64_t id;
    unsigned char password[STORE_PASSWORD];
};

struct store_config {
    const char *hosts;               /* host:port,… without chroot */
    const struct store_claim *claim; /* the session to take up, copied; NULL: a new one */
    int timeout_ms;
    struct credentials *credentials; /* NULL: none */
    const char *acl;
    struct log *log;             /* outlives the store; NULL: none */
    const struct tls_files *tls; /* NULL, or .ca is NULL: no TLS */
};

struct store_ops {
    /* Makes a store. Returns 0, or -1 if the system refuses a thread. */
    int (*open)(struct store **ret, const struct store_config *config,
                const struct store_sink *sink);
    /* Sends a request. Returns true: done is called exactly once, perhaps before this returns. Or
     * false: it was not sent, as there is no connection; done is not called. */
    bool (*submit)(struct store *store, const struct store_request *request, store_done done,
                   void *context);
    /* Answers every request with STORE_GONE before it returns. The caller may still call give_back,
     * and nothing else. The store calls sink.closed when it has told the server, or cannot. */
    void (*close)(struct store *store);
    /* borrow returns the client's own handle; NULL if there is none. The store is not closed before
     * each borrowed handle is given back. */
    void *(*borrow)(struct store *store);
    void (*give_back)(struct store *store);
    /* Gives what another process needs to take the present session up; false if there is no
     * session. NULL: nobody else can take one up. */
    bool (*get_claim)(struct store *store, struct store_claim *ret);
    /* Takes another list, which the user has set. The connection stays, and the next one may be to
     * a server of either list. NULL: the next store takes the list. */
    void (*set_hosts)(struct store *store, const char *hosts);
    /* Takes the configuration of the ensemble: its servers are tried beside the user's. NULL: they
     * are never tried. */
    void (*hear_config)(struct store *store, const char *config, int length);
    /* Whether the connection is to a server that only the ensemble has named. NULL: it never is. */
    bool (*strays)(const struct store *store);
};

/* Returns NULL; or a sentence, if libzookeeper does not know the credentials of the scheme
 * "sasl". */
const char *store_sasl_unsupported(void);

/* The real store, over libzookeeper_mt. */
extern const struct store_ops store_zk;

#endif
