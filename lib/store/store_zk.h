/* The state of the real store, for store_zk*.c alone. */
#ifndef LIB_STORE_ZK_H
#define LIB_STORE_ZK_H

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include "names.h"
#include "probe.h"
#include "store.h"
#include "tls.h"

struct store {
    struct store_sink sink;
    struct log *log;                 /* NULL: none */
    char *hosts;                     /* the user's list; the connector alone uses it */
    struct credentials *credentials; /* NULL: libzookeeper has got them all */
    size_t given;                    /* how many credentials libzookeeper has got */
    struct tls_files tls;            /* .ca NULL: no TLS */
    struct store_sasl *sasl;         /* NULL: no SASL */
    int timeout_ms;
    clientid_t claimed;    /* the session to take up; all 0: a new one */
    GArray *acl_entries;   /* of struct acl_entry: owns what acl points to */
    struct ACL_vector acl; /* of each node that it makes */
    zhandle_t *zh;         /* NULL before it is made and once closing */
    /* The connector alone uses these three: */
    char *resolved;   /* the addresses of all names when servers were last found */
    char *added;      /* servers that the ensemble names, tried beside the user's; NULL: none */
    char *members;    /* the ensemble's servers when it last knew our server; NULL: none */
    char *next_hosts; /* the list that the user has set since; NULL: none */
    char *config;     /* what the ensemble has said last; NULL: nothing */
    bool heard;       /* next_hosts or config is new, and the connector has not acted on it */
    struct timespec heard_at; /* when the connector acts on it; until then more news may come, or
                                 the store may end */
    struct address server;    /* to which there was a connection last */
    bool silent;      /* servers are left out that did not answer when servers were last found */
    bool strays;      /* the user's list does not name .server */
    char *newer;      /* addresses that libzookeeper takes at its next failure; NULL: none */
    unsigned servers; /* how many addresses libzookeeper has */
    unsigned rounds;  /* how often it has tried all of them, since it had a connection */
    unsigned dropped; /* how many attempts we have ended for want of an answer, since then */
    bool closing, over;
    unsigned connections;  /* how many connections there have been, with the present one */
    bool up;               /* there is a connection */
    bool away;             /* it had a connection, and has lost it */
    _Atomic uint64_t seen; /* the largest zxid in any answer: at most what libzookeeper has seen */
    unsigned borrowed;     /* how many users of zh have not given it back */
    bool lent;             /* zh was borrowed once: the borrower may have left watches */
    pthread_cond_t wake;
    GQueue sent; /* of struct sent: requests that libzookeeper has not answered */
};

/* Waits on the store's condition. Returns false when the time is over. The caller holds the
 * monitor. */
static inline bool store_zk_wait(struct store *store, const struct timespec *until)
{
    return pthread_cond_timedwait(&store->wake, store->sink.monitor, until) != ETIMEDOUT;
}

/* Whether libzookeeper tries to connect. */
static inline bool store_zk_is_down(const struct store *store)
{
    return !store->up && !store->over && !store->closing;
}

/* ---- store_zk_log.c ---- */

/* Returns the log function for the store's handle. It works until store_zk_end_log(). */
log_callback_fn store_zk_log(struct store *store);
void store_zk_end_log(const struct store *store);

/* ---- functions of store_zk.c that are public only so that tests can call them ---- */

/* Translates a code of libzookeeper, or of a server up to 3.9. */
enum store_rc store_zk_map_rc(int rc);

/* Return rc; or ZMARSHALLINGERROR, if what libzookeeper hands over was not in the answer. */
int store_zk_check_names(int rc, const struct String_vector *names);
int store_zk_check_data(int rc, const char *value, int length);
int store_zk_check_path(int rc, const char *path, const char *asked);

/* Waits for ms, but no longer than until there is a connection beyond the number given. Returns
 * whether there is none. Meets the needs of zh, if it is not NULL, while it waits: servers that do
 * not answer, news. The caller holds the monitor, which is given up to wait. */
bool store_zk_stays_down(struct store *store, zhandle_t *zh, unsigned connections, int ms);

/* Ends connections to servers, an array of struct address, that have not answered our first packet
 * or handshake for a second. libzookeeper takes that for the server's end. Returns whether there
 * was such a connection. */
bool store_zk_drop_stuck(const GArray *servers);

/* Takes over the list that the user has set. Returns false if none was set. The caller holds the
 * monitor. */
bool store_zk_take_hosts(struct store *store);

#endif
