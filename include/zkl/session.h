/* The session with the ZooKeeper servers. One is enough for some thousand locks of a process. */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

typedef enum zkl_log_level {
    ZKL_LOG_ERROR = 1,
    ZKL_LOG_WARN = 2,
    ZKL_LOG_INFO = 3,
    ZKL_LOG_DEBUG = 4
} zkl_log_level;

/* A line of the log. The library fills it. */
typedef struct zkl_log_record {
    size_t size; /* of the library's struct: a later version may have more members */
    zkl_log_level level;
    const char *event;   /* what happened: one of the names below, never NULL */
    int64_t session_id;  /* of the ZooKeeper session; 0: there was none */
    const char *path;    /* of the lock or node concerned, without chroot; NULL: none */
    const char *text;    /* one line of text; never NULL */
    uint64_t suppressed; /* lines of this event that were left out, if this line tells of that */
} zkl_log_record;

/* A callback (zkl(3), Threads and callbacks) that receives one line. The record and its strings are
 * valid during the call.
 *
 * The events of a session:
 *   session: a ZooKeeper session was made (ZKL_LOG_INFO);
 *   no-connection: there is no connection, for how long and why. This line comes after 1 s, after
 *     60 s more, and then at pauses that double up to an hour;
 *   connected-again: there is a connection after such a line;
 *   expired: the servers say that the ZooKeeper session has ended;
 *   data-went-back: the servers' data is older than what the session has seen;
 *   rejected: the servers run, and do not accept the session any more;
 *   not-zookeeper: what answers at an address is not ZooKeeper;
 *   old-servers: the servers seem not to know a kind of node or request, and others are used;
 *   servers-changed: other addresses are tried when there is no connection (ZKL_LOG_INFO);
 *   no-renewal: grants may end early, since a renewal takes too long for the session timeout that
 *     the servers allow, or a server refuses it: the text says more;
 *   no-resources: the system refuses a thread (ZKL_LOG_ERROR).
 * The events of handles:
 *   lost: a grant was lost, perhaps before it was given; not that of a membership, and not by
 *     zkl_session_close();
 *   not-owned: zkl_grant_release() was ignored: the grant is lent, or was released before
 *     (ZKL_LOG_ERROR);
 *   thread-ended: a thread ended that had not unlocked, which the library did in its place;
 *   delete-refused, list-refused: the server refuses it, and a node of the library may stay
 *     (ZKL_LOG_ERROR);
 *   set-refused: the server refuses it, and the next in line of a semaphore waits until the node
 *     is gone;
 *   watch-failed: a watch does not know what its directory or counter has now;
 *   incompatible-node: the directory has a child of another recipe or of a later version;
 *   foreign-node: the directory has a child that is no contender (ZKL_LOG_INFO);
 *   numbers-end: the sequence numbers of the directory are running out.
 * The events of work that is done once a period or for each instant:
 *   once-ahead: a period or an instant has no run: nobody called, no run succeeded, or a server's
 *     clock is ahead;
 *   once-back: the work is not due for long, since the servers' clocks have gone back.
 * The events of libzookeeper:
 *   libzookeeper: one of its own lines. Its errors and warnings have that level here, too, and all
 *     others are ZKL_LOG_DEBUG;
 *   libzookeeper-connect: the same, about an attempt to connect (ZKL_LOG_DEBUG).
 * Levels that are not given are ZKL_LOG_WARN. A later version may add events.
 *
 * In the 60 s from the first line of an event on, its lines after the tenth are only counted; the
 * tenth says so. Their number comes later, as the member suppressed of a line of that event. After
 * such a line the time is twice as long as before, at most an hour. Without a callback, stderr
 * receives the same lines, but none of libzookeeper. */
typedef void (*zkl_log_fn)(const zkl_log_record *record, void *data);

/* What happened to a session.
 *
 * ZKL_SESSION_REPLACED: the ZooKeeper session has ended, and its watches with it. Its nodes go when
 * the servers know of that. Grants are LOST. Waiters enter the queue again in the next one. The
 * reasons:
 *   it expired, or another process ended it (zkl_session_end());
 *   the servers run, and no longer accept it, as when their data have gone back;
 *   what answered after a lost connection is not ZooKeeper;
 *   a lock or leadership is asked for, or a group or a double barrier is entered, more than 60 s
 *     after the session was opened and the last of these ended, and a new ZooKeeper session can be
 *     proved sooner;
 *   a node of the library goes with the ZooKeeper session only: a permission to find or delete it
 *     is missing; or the servers' data had gone back, and they accept the session again; or a
 *     member has left, and a request of it may still be done (zkl_member_leave()).
 *
 * For the last two reasons the library ends a ZooKeeper session only while nobody uses it. It is
 * used while it holds a grant; while a member is in a group or joins it, or is in a double barrier
 * or waits for the others there; during a call of a counter, of zkl_semaphore_get_limit(),
 * zkl_semaphore_set_limit() or zkl_members_read(); during a transaction; during zkl_session_call();
 * and while the program keeps it (zkl_session_keep()). For the last but one reason it is used by
 * waiters, too. After a session timeout without a connection, only a grant that is no membership's
 * still counts. */
typedef enum zkl_session_event {
    ZKL_SESSION_CONNECTED = 1, /* there is a connection, the first one or a new one */
    ZKL_SESSION_SUSPENDED = 2, /* the connection was lost; the ZooKeeper session may continue */
    ZKL_SESSION_REPLACED = 3,  /* the ZooKeeper session has ended, for one of the reasons above */
    ZKL_SESSION_REFUSED = 4,   /* the server refused the credentials, or demands some: all
                                  operations will fail */
    ZKL_SESSION_CLOSED = 5     /* zkl_session_close() was called; the last event */
} zkl_session_event;

/* Why a session has no connection, as far as the library has found out. If the servers differ, the
 * most telling reason counts. Later versions may append reasons. */
typedef enum zkl_outage {
    ZKL_OUTAGE_NONE = 0,         /* there is a connection */
    ZKL_OUTAGE_UNKNOWN = 1,      /* the reason is not known, or not known yet */
    ZKL_OUTAGE_HOST = 2,         /* no server name can be resolved */
    ZKL_OUTAGE_NO_ROUTE = 3,     /* the network has no way to a server */
    ZKL_OUTAGE_REFUSED = 4,      /* connections are refused: mostly nobody listens there */
    ZKL_OUTAGE_SILENT = 5,       /* nothing comes back */
    ZKL_OUTAGE_HANGS_UP = 6,     /* connections are closed without a word: the server may have too
                                    many from this address */
    ZKL_OUTAGE_NOT_SERVING = 7,  /* a ZooKeeper answers that does not serve: it is starting, or has
                                    no quorum */
    ZKL_OUTAGE_FOREIGN = 8,      /* what answers is not ZooKeeper */
    ZKL_OUTAGE_TLS = 9,          /* what answers speaks TLS, and the session does not */
    ZKL_OUTAGE_DESCRIPTORS = 10, /* this process or machine has no file descriptor left */
    ZKL_OUTAGE_MEMORY = 11,      /* the system refuses memory or a thread */
    ZKL_OUTAGE_ROLLED_BACK = 12, /* the servers' data is older than what the session has seen */
    ZKL_OUTAGE_AUTH = 13,        /* the server refused the credentials, or demands some */
    ZKL_OUTAGE_CLOSED = 14,      /* zkl_session_close() was called */
    ZKL_OUTAGE_CERTIFICATE = 15  /* by TLS: a file or a certificate is not accepted, or what answers
                                    does not speak TLS; zkl_session_wait() says more */
} zkl_outage;

/* A callback (zkl(3), Threads and callbacks). id is the id of the ZooKeeper session concerned, or
 * 0 if there is none. */
typedef void (*zkl_session_fn)(zkl_session *s, zkl_session_event event, int64_t id, void *data);

/* Credentials for the servers. */
typedef struct zkl_credential {
    const char *scheme; /* "digest", or once "sasl" (DIGEST-MD5, if libzookeeper has SASL; not with
                           TLS); not NULL */
    const char *auth;   /* "user:password"; not NULL */
} zkl_credential;

/* Fill with ZKL_SESSION_OPTIONS_INIT, then change members.
 *
 * In this and every other struct of options, 0 and NULL are the defaults: a struct of which only
 * size is set is complete. size says with which version of the struct the caller was compiled. A
 * size that is too small is ZKL_EINVAL, and so is a larger one if a member that the library does
 * not know is not 0. reserved must be 0.
 *
 * If log is NULL, the lines go to stderr. A thread of the library writes them; only
 * zkl_session_close() and exit() wait for it, for 0.5 s at most. While stderr accepts no data,
 * lines beyond 64 KiB are dropped, and their number is written later. Nothing is written if
 * descriptor 2 is an Internet socket. */
typedef struct zkl_session_options {
    size_t size;            /* sizeof(zkl_session_options); 0 is ZKL_EINVAL */
    int session_timeout_ms; /* default 10000, even for 0; 200 to 10^9, but more than 400 with the
                               defaults of tick_ms and drift_permille. The server may change it,
                               within its own limits */
    const char *acl; /* the ACL of the nodes that the library creates, comma separated, as the
                        ZooKeeper shell takes it: "world:anyone:cdrwa" (the default, even for NULL),
                        "auth::cdrwa" (needs credentials)… Existing nodes keep their ACL */
    zkl_log_fn log;  /* NULL: stderr */
    void *log_data;  /* argument of log */
    zkl_log_level
        log_level;      /* default ZKL_LOG_WARN, even for 0; lines above it are not delivered */
    int tick_ms;        /* the servers' tickTime; 0 (the default): unknown. The library then assumes
                           half the session timeout, which is safe if minSessionTimeout is at
                           least two ticks. ZKL_EINVAL if an ensemble could not renew a grant in
                           time: 1.05 ticks, the drift and 50 ms must be less than three quarters of
                           the session timeout. Give it where servers are observers: a proof takes
                           longer there, and less is left of each deadline */
    int drift_permille; /* by how much the rates of clocks may differ, in 1/1000: 1 to 500; default
                           100, even for 0 */
    int dispatch;       /* 0 (the default): callbacks run on a thread of the library; 1: they run
                           inside zkl_session_dispatch() and zkl_session_close() */
    const zkl_credential *credentials; /* the session has the permissions of all. NULL: none. The
                                          library copies them, and wipes its copy when the session
                                          was closed; see SECURITY.md */
    size_t credential_count;           /* the number of credentials */
    const char *tls_ca; /* TLS: a file of certificates in PEM, of the authorities that the servers'
                           certificates must come from. NULL: no TLS */
    const char
        *tls_cert;       /* the file of our certificate and its chain, in PEM; needed with tls_ca */
    const char *tls_key; /* the file of its private key, in PEM, without a passphrase; needed with
                            tls_ca. A libzookeeper without TLS makes the three ZKL_EINVAL.
                            SECURITY.md says what of a certificate is checked */
    int fixed_servers;   /* 0 (the default): servers that the ensemble itself names are tried beside
                            those of connect (see zkl_session_set_servers()); 1: no others */
    int reserved;        /* 0 */
} zkl_session_options;

#define ZKL_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_session_options), 0, NULL, NULL, NULL, ZKL_LOG_WARN, 0, 0, 0, NULL, 0, NULL,    \
            NULL, NULL, 0, 0                                                                       \
    }

/* Opens a session and stores it in *ret. connect is "host:port,host:port/chroot". The default port
 * is 2181; an IPv6 address is in brackets; the chroot stands once, at the end, and has no comma.
 * The function checks only the syntax of connect and never waits for a server: a daemon may start
 * before its ensemble. options and reterr may be NULL. *reterr is written on failure only. End the
 * session with zkl_session_close().
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret is NULL, or connect or options are invalid;
 *   ZKL_ENOMEM: the system refused a thread, a descriptor or a thread-specific key. */
ZKL_API int zkl_session_open(zkl_session **ret, const char *connect,
                             const zkl_session_options *options, zkl_error *reterr);

/* Waits until the session is connected, for timeout_ms at most. 0 does not wait at all.
 *
 * Returns 0 if there is a connection; or
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection, for that reason;
 *   ZKL_EDEADLK: called inside a callback, even if there is a connection;
 *   ZKL_EAUTH, ZKL_ECLOSED, ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_session_wait(zkl_session *s, int64_t timeout_ms);

/* Waits until the servers have confirmed that the nodes of all that was released before the call
 * are deleted, for timeout_ms at most. 0 does not wait at all. The functions that release, unlock,
 * resign or cancel return at once, and the nodes are deleted in the background: call this function,
 * or zkl_session_close(), before the process ends. At exit() the library waits for that, too, but
 * for some 50 ms at most, and not inside a callback, in a forked child for what its parent has
 * released, or for sessions with TLS.
 *
 * The function does not wait for the nodes of members of groups and double barriers, for those of
 * LOST grants whose callbacks have not returned, or for a lock that a handle retains
 * (zkl_mutex_yield() releases it).
 *
 * Returns 0 if no such node is left, or their ZooKeeper session has ended; or
 *   ZKL_ETIMEDOUT: the servers have not confirmed it in time;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the same, as there is no connection, for that reason;
 *   ZKL_EACCES: the server refuses to delete a node, and the session is used (see
 *     ZKL_SESSION_REPLACED). The node ends with the ZooKeeper session;
 *   ZKL_EAUTH, ZKL_ECLOSED, ZKL_EDEADLK, ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_session_flush(zkl_session *s, int64_t timeout_ms);

/* Returns why the session has no connection at this moment, or ZKL_OUTAGE_NONE if it has one. While
 * it has none, the errors ZKL_EUNREACHABLE, ZKL_EHOST and ZKL_EAUTH of calls that wait mostly say
 * the same in their text. Never waits for a server. Returns ZKL_OUTAGE_UNKNOWN if s is NULL and in
 * a forked child. */
ZKL_API zkl_outage zkl_session_outage(zkl_session *s);

/* Registers fn(s, event, id, data), which is called at every later event. If there is a connection
 * already, fn first gets ZKL_SESSION_CONNECTED. Registrations add up, and end with the session.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_session_on_change(zkl_session *s, zkl_session_fn fn, void *data);

/* Returns a descriptor for poll(2) and similar functions, for a session with the option dispatch.
 * The descriptor is readable while callbacks wait to be called. It belongs to the session: do not
 * read or close it.
 *
 * Returns the descriptor, 0 or more; or
 *   ZKL_EINVAL: s is NULL, or was opened without the option dispatch;
 *   ZKL_ECHILD. */
ZKL_API int zkl_session_fd(zkl_session *s);

/* Calls the callbacks that wait, for a session with the option dispatch. Locks are kept, renewed
 * and lost whether or not the program calls this function; but losses are reported in time only if
 * it does. If two threads dispatch, one waits while the other is in a callback. zkl_session_close()
 * sees to the callbacks that are left.
 *
 * Returns 0; or
 *   ZKL_EINVAL: s is NULL, or was opened without the option dispatch;
 *   ZKL_EDEADLK, ZKL_ECHILD. */
ZKL_API int zkl_session_dispatch(zkl_session *s);

/* Gives the session another list of servers. connect is as for zkl_session_open(), and its chroot
 * must be the same as before. Never waits.
 *
 * The present connection and the ZooKeeper session stay: grants, waiters and members do not notice.
 * When the connection is lost and attempts to connect fail, the new list takes the place of the old
 * one. The servers must be of the same ensemble: another one does not know the ZooKeeper session,
 * which then ends (ZKL_SESSION_REPLACED).
 *
 * When an ensemble is reconfigured, the library follows by itself: the voting servers that
 * /zookeeper/config names are tried beside the list, if it names the server to which the session is
 * connected. They serve the present ZooKeeper session only: each new one begins at the list. So
 * give a long-lived program a new list when servers are replaced. The library does not follow with
 * TLS, if the permission to read that node is missing, or with the option fixed_servers.
 *
 * A new list and a reconfigured ensemble need libzookeeper's lines about errors. If a program
 * switches them off (zoo_set_debug_level(0)), each of its ZooKeeper sessions stays on the servers
 * with which it was opened. So does each session of a process beyond 256 at a time.
 *
 * Returns 0; or
 *   ZKL_EINVAL: s is NULL, or connect is invalid or has another chroot;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_session_set_servers(zkl_session *s, const char *connect);

/* Declares that the program has ephemeral nodes or watches of its own in the ZooKeeper session,
 * made with the handle that zkl_session_call() lends: the library then does not end that session by
 * itself (see ZKL_SESSION_REPLACED). It may still expire, and the declaration then holds for the
 * next one, too. A keep of 1 declares, 0 takes one declaration back. Declarations are counted. Call
 * the function before the first node is made, or inside the function that makes it.
 *
 * Returns 0; or
 *   ZKL_EPERM: keep is 0, and there is no declaration to take back;
 *   ZKL_ECLOSED, ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_session_keep(zkl_session *s, int keep);

/* Returns the id of the present ZooKeeper session. Returns 0 while there is none, as before the
 * first one and between two; in a forked child; and for NULL. */
ZKL_API int64_t zkl_session_id(zkl_session *s);

/* The id of a ZooKeeper session, and the password with which another process can take it up. It is
 * for what guards a program: when the program is dead, the guard ends its session. */
typedef struct zkl_session_claim {
    int64_t id;
    unsigned char password[16];
} zkl_session_claim;

/* Stores in *ret what another process needs for zkl_session_end(). Read it again at the
 * ZKL_SESSION_CONNECTED after a ZKL_SESSION_REPLACED. Keep it secret, since any process that has it
 * can hold the session's locks and end them. SECURITY.md says who else can.
 *
 * Returns 0; or
 *   ZKL_EUNREACHABLE: there is no ZooKeeper session at the moment;
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_session_get_claim(zkl_session *s, zkl_session_claim *ret);

/* Ends the ZooKeeper session of another process, which is dead. Its nodes are deleted at once,
 * instead of after the session timeout. Call this only when nothing that worked under the session's
 * locks runs any more: their next holders begin at once, whatever the deadline was.
 *
 * connect and options are those of the dead process: its credentials are needed where the servers
 * demand some (enforce.auth.enabled). The function takes the session up on a connection of its own,
 * ends it, and asks the servers whether it has ended. It waits for timeout_ms at most; 0 does not
 * wait at all. It calls no callback, even if options have a log. It may be called in a forked
 * child.
 *
 * Returns 0 if the servers know no session of that id and password any more; or
 *   ZKL_EINVAL: claim is NULL, its id is 0, or connect or options are invalid;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: no server has confirmed it in time, for that reason. The session
 *     may live for one session timeout more;
 *   ZKL_EAUTH: the servers demand credentials that options do not have, or refuse those that they
 *     have. The function does not try again: the session may live for one session timeout more;
 *   ZKL_EDEADLK, ZKL_ENOMEM. */
ZKL_API int zkl_session_end(const char *connect, const zkl_session_options *options,
                            const zkl_session_claim *claim, int64_t timeout_ms);

/* Returns the negotiated session timeout in milliseconds. Before the first connection, returns the
 * timeout of the options. Returns ZKL_EINVAL if s is NULL, and ZKL_ECHILD in a forked child. */
ZKL_API int zkl_session_timeout_ms(zkl_session *s);

/* Ends the session: grants become LOST, operations fail with ZKL_ECLOSED or ZKL_EUNKNOWN, and the
 * session's nodes are deleted (without a connection, after the session timeout). Waits for
 * callbacks that are running or queued, at most 5 s for the server and for functions that
 * zkl_session_call() calls, and at most 0.5 s for a stderr that accepts no data. Inside a callback
 * the function waits for none of these, and the session ends in the background. s is invalid
 * afterwards. Handles that were made from s stay valid until they are freed (zkl(3), Ownership). */
ZKL_API void zkl_session_close(zkl_session *s);

/* From this call on, *flag is 1 while a call of the calling thread waits, and while
 * zkl_session_dispatch() calls callbacks, otherwise 0; it must be 0 before. zkl_session_close(),
 * zkl_session_end() and zkl_watch_free() do not change it, even while they wait. It is for packages
 * of other languages, where any thread may free a handle, and no call may begin once that is done.
 * While *flag is 1, the call has begun: another thread may free what it was given, and close the
 * session. When *flag is 0, the call may yet need what it was given. Other threads read *flag
 * atomically. flag must be valid until the thread gives another one; NULL is none. */
ZKL_API void zkl_call_waits(int *flag);

ZKL_END

#endif
