/* Inside the real store only: its state, and how requests are put to libzookeeper. */
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
    char *hosts;                     /* the user's list: the connector's */
    struct credentials *credentials; /* NULL: the library has got them all */
    size_t given;                    /* how many of them */
    struct tls_files tls;            /* .ca NULL: no TLS */
    struct store_sasl *sasl;         /* NULL: no SASL */
    int timeout_ms;
    clientid_t claimed;    /* the session to take up; all 0: a new one */
    GArray *acl_entries;   /* of struct acl_entry: owns what acl points to */
    struct ACL_vector acl; /* of each node to be made */
    zhandle_t *zh;         /* NULL before it is made and once closing */
    char *resolved;        /* what the names were when servers were last found: the connector's */
    char *added;           /* addresses beside the user's, as the ensemble names them; NULL: none.
                              The connector uses it */
    char *members;         /* of the ensemble that was followed last; NULL: none. Likewise */
    char *next_hosts;      /* that the user has set since; NULL: none */
    char *config;          /* what the ensemble has said last; NULL: nothing */
    bool heard;            /* one of these is news */
    struct timespec heard_at; /* in a moment: until then it may end or be news again */
    struct address server;    /* that it was connected to last */
    bool silent;              /* without some that did not answer when they were last found */
    bool strays;              /* the user's list does not name it */
    char *newer;              /* servers found since, for the library; NULL: none */
    unsigned servers;         /* that the library has */
    unsigned rounds;          /* that it has tried all of them, since it had a connection */
    unsigned dropped;         /* how many attempts without an answer, since then */
    bool closing, over;
    unsigned connections;  /* how many there have been */
    bool up;               /* there is a connection */
    bool away;             /* it was connected, and is not */
    _Atomic uint64_t seen; /* the largest zxid in any answer: at most what the library has seen */
    unsigned borrowed;     /* users of zh who have not given it back */
    bool lent;             /* there was one, who may have left watches */
    pthread_cond_t wake;
    GQueue ops; /* of struct op: not answered by the library yet */
};

/* Waits on the store's condition; false when the time is over. With the monitor held. */
static inline bool store_zk_wait(struct store *store, const struct timespec *until)
{
    return pthread_cond_timedwait(&store->wake, store->sink.monitor, until) != ETIMEDOUT;
}

/* A connection is tried. */
static inline bool store_zk_is_down(const struct store *store)
{
    return !store->up && !store->over && !store->closing;
}

/* ---- store_zk_log.c ---- */

/* Takes the library's lines for the store, until its end. */
log_callback_fn store_zk_log(struct store *store);
void store_zk_end_log(const struct store *store);

/* ---- store_zk.c, for tests ---- */

/* Every code of libzookeeper, and of servers up to 3.9. */
enum store_rc store_zk_map_rc(int rc);

/* rc, or ZMARSHALLINGERROR: what libzookeeper hands over was not in the answer. */
int store_zk_check_names(int rc, const struct String_vector *names);
int store_zk_check_data(int rc, const char *value, int length);
int store_zk_check_path(int rc, const char *path, const char *asked);

/* Waits for another connection than the first ones, whose number is given. Returns whether there
 * was none. zh is NULL before it is made. The caller holds the monitor, which is given up to
 * wait. */
bool store_zk_stays_down(struct store *store, zhandle_t *zh, unsigned connections, int ms);

/* Ends connections to servers, of struct address, that have not answered our first packet or
 * handshake for a second. libzookeeper takes that for the server's end. Returns whether there was
 * one. */
bool store_zk_drop_stuck(const GArray *servers);

/* Takes over what the user has set; false: nothing. With the monitor held. */
bool store_zk_take_hosts(struct store *store);

#endif
