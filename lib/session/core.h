/* The session as the runtime sees it. The monitor guards everything here, except what is set before
 * the session is published and never changed.
 *
 * The thread that has an event runs it: a caller's, libzookeeper's completion thread, the timer
 * thread, the store's connector or the callback thread takes the monitor, steps the recipe it
 * concerns and does what the recipe asks, which never blocks. Order of locks: that of all handles,
 * a handle's, the monitor, the log's, the callback queue's; the gate of store_zk_xid.c and
 * libzookeeper's own are after the monitor. One of these may be before it: libzookeeper's thread
 * may hold the lock of its list of servers while our log function takes the monitor. So nothing
 * that takes that lock is called with the monitor held. */
#ifndef LIB_CORE_H
#define LIB_CORE_H

#include <glib.h>
#include <pthread.h>
#include <zkl.h>

#include "lib/base/clock.h"
#include "lib/base/fork.h"
#include "lib/base/timers.h"
#include "lib/store/store.h"
#include "lib/store/tls.h"
#include "recipes/create_form.h"
#include "recipes/ending.h"
#include "recipes/proofs.h"

struct callbacks;
struct log;

struct session_listener {
    zkl_session_fn fn;
    void *data;
};

/* The longest session timeout, asked for or granted. This is about the longest with which
 * libzookeeper computes without overflow. */
enum { SESSION_TIMEOUT_MAX_MS = 1000000000 };

/* What the parts of a session tell those that use them; incarnation.c has the table. */
struct session_hooks {
    /* Called when a request of this kind was answered definitely on the present connection. */
    void (*answered)(zkl_session *s, enum proof_kind kind, struct instant sent);
    /* Called when a node stands that only the end of the session removes. */
    void (*purge)(zkl_session *s);
};

struct zkl_session {
    /* set at open */
    gint refs;
    unsigned generation; /* of the process that opened it: fork.h */
    const struct store_ops *ops;
    const struct session_hooks *hooks;
    char *hosts, *shown_hosts, *chroot, *acl; /* shown: in messages */
    bool fixed_servers;                       /* no others than these hosts */
    struct credentials *credentials;          /* NULL once the session has closed */
    struct tls_files tls;
    int wanted_timeout_ms;
    int64_t warm_ns; /* how long the session is proved after a user has entered or left; before the
                        first one, how long it is kept */
    struct callbacks *callbacks;
    struct log *log;
    struct timers *timers;

    pthread_mutex_t monitor;
    int cancel_state;  /* cancel state of the thread that holds the monitor, before it took it */
    GArray *listeners; /* of struct session_listener */
    pthread_cond_t changed; /* signalled when up, refused, closing, stores or deletes changes */

    /* the present incarnation */
    struct store *store; /* NULL: the session is closed, or the system has refused threads */
    uint32_t connection; /* counts connections made and lost */
    uint32_t confirmed;  /* the newest connection on which a request was answered */
    bool up;
    int64_t id;    /* of the ZooKeeper session, 0 before it is made */
    uint32_t made; /* the connection on which it was made */
    int timeout_ms;
    struct instant begun;       /* an instant before the session was asked for */
    bool reopened;              /* this session replaces one that took long to be created */
    bool foreigners;            /* what answers is no ZooKeeper */
    bool hears_ensemble;        /* the watch on /zookeeper/config is set */
    enum store_trouble trouble; /* why there is no connection, as far as the store knows */
    bool host_unknown;
    char *unusable;     /* why no server is a partner for TLS; NULL: that is not the reason */
    bool refused;       /* the servers have refused the credentials, for good */
    enum loss ended;    /* why the last incarnation has ended */
    int64_t late_until; /* until then a server may do what was asked for in an earlier incarnation;
                           CLOCK_BOOTTIME ns */
    struct rollback rollback; /* what servers say while there is no connection */
    bool resurrected;         /* what it had deleted may stand again: the data had gone back */
    struct {
        struct timer timer;
        int64_t since;    /* CLOCK_BOOTTIME ns */
        int64_t pause_ms; /* the pause between the next line and the one after that */
        unsigned attempts_before;
        bool on, told;
        unsigned facts; /* enum outage_fact of incarnation.c: what was said already */
    } outage;
    bool closing;
    bool closed;             /* no callback can be made any more */
    unsigned stores;         /* how many were opened, and have not told that they are closed */
    struct timer open_timer; /* to try again */
    struct timer end_timer;  /* to end the ZooKeeper session: for a node that cannot be deleted, or
                                in a close during which a callback hangs */

    /* proofs */
    struct proofs proofs;
    struct timer proof_timer;
    struct instant warm_until;
    bool entered; /* a contender or a member has entered: until then it is kept, and not proved */
    struct timer deadline_timer;

    /* requests, of request.c */
    GQueue parked; /* of struct request: to be sent when there is a connection, and room for them */
    GQueue held;   /* of struct request: lost, and not told yet */
    uint64_t asked;     /* how many requests were asked for: the next .number */
    unsigned under_way; /* what those sent and not answered weigh */
    bool flushing;
    struct create_forms forms; /* which forms of creates the servers know */
    bool creating;             /* a plain create is under way whose stat is read, too */
    uint32_t listed[64]; /* how many names the last list of a path had, at a hash of the path */
    struct timer retry_timer;
    GHashTable *watches; /* a set of struct watch */
    size_t watched_bytes;
    size_t owned_bytes;     /* bytes of the paths of its ephemeral nodes */
    unsigned removals_lost; /* connections in a row that were lost with removals of watches */
    uint32_t removal_lost;  /* the last of them */
    unsigned orphans;       /* how many want its end: incarnation_want_end() */
    GQueue refusals;        /* of struct refusal: deletes that the server refuses */
    struct {
        uint64_t asked;   /* how many were */
        GQueue pending;   /* of struct orphan: those that are not answered, the oldest first */
        unsigned leaving; /* attempts that have given up, and may ask for one yet */
    } deletes;            /* of orphans.c */
    struct {
        enum store_kind kind;
        char *node;          /* where it is missing; NULL: it is not known */
        bool quota;          /* or else a permission */
    } denial;                /* what the server refused last, of denial.c */
    GHashTable *logged;      /* a set of paths about which a line is written once */
    GHashTable *unnoted;     /* path -> int64_t, CLOCK_BOOTTIME ns: no note is sent before; of
                                driver.c */
    GPtrArray *participants; /* of struct participant */
    struct users users;      /* users that are no participants */

    zkl_stats stats;        /* but for what can be seen elsewhere */
    GQueue waits;           /* of struct stats_waits */
    GPtrArray *stats_paths; /* of struct stats_path; NULL: none yet */
};

/* Takes the monitor. While a thread has it, the thread cannot be cancelled: to wake libzookeeper's
 * thread is a write(), a point of cancellation, and the monitor would stay taken. */
static inline void session_lock(zkl_session *s)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&s->monitor);
    s->cancel_state = before;
}

static inline void session_unlock(zkl_session *s)
{
    int before = s->cancel_state;

    pthread_mutex_unlock(&s->monitor);
    pthread_setcancelstate(before, NULL);
}

/* Take and give back the monitor where nothing is done that could be a point of cancellation. */
static inline void session_lock_briefly(zkl_session *s)
{
    pthread_mutex_lock(&s->monitor);
}

static inline void session_unlock_briefly(zkl_session *s)
{
    pthread_mutex_unlock(&s->monitor);
}

/* Empties a table of directories that were logged or tried, if there are very many: then they are
 * logged or tried once more. */
static inline void session_forget_many(GHashTable *table)
{
    if (g_hash_table_size(table) >= 1000)
        g_hash_table_remove_all(table);
}

/* Returns for how many ms a call with timeout_ms 0 may wait for the server: a session timeout. A
 * server that speaks nonsense may grant a very long one, so there is a limit. */
int64_t session_patience_ms(const zkl_session *s);

/* Waits for s->changed; until NULL: for ever. The caller holds the monitor, which is given up
 * during the wait. Returns false when the time is over. */
bool session_wait_change(zkl_session *s, const struct timespec *until);

/* Runs await for a function of the interface, doing, that waits. await is called with the monitor
 * held, waits by session_wait_change(), and returns the result. The monitor is not held by the
 * caller. */
int session_await(zkl_session *s, const char *doing, int64_t timeout_ms,
                  int (*await)(zkl_session *s, const struct timespec *until));

/* Returns what the user calls a full path: without the chroot, if it lies in that. Needs no lock.
 */
const char *session_path(const zkl_session *s, const char *full);

/* The store of the sessions to be opened: tests put another one here before. */
extern const struct store_ops *session_store;

zkl_session *session_ref(zkl_session *s); /* with or without the monitor */

/* Without the monitor held, unless another reference is certain: the last one frees the monitor. */
void session_unref(zkl_session *s);

/* Tells all listeners an event of the ZooKeeper session with that id. The monitor is held. */
void session_tell(zkl_session *s, zkl_session_event event, int64_t id);

/* Returns 0; or the error that every function of the interface returns first, for NULL and in a
 * forked child. Then that is the thread's last error. Needs no lock. */
int session_check(const zkl_session *s);

/* Returns 0; or ZKL_ECLOSED if the session was closed, as the thread's last error. The monitor is
 * not held. */
int session_check_open(zkl_session *s);

/* Fills *ret with why there is no connection. Returns its code. */
int session_why_down(const zkl_session *s, zkl_error *ret);

/* Sets for how long the session stays warm, from now on. For tests, which cannot wait for a
 * minute. Takes the monitor. */
void session_set_warm_ms(zkl_session *s, int64_t ms);

#endif
