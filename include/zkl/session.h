/* The session with the ZooKeeper servers. One per process is enough for all its locks. */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* Since 0.1. */
typedef enum zkl_log_level {
    ZKL_LOG_ERROR = 1,
    ZKL_LOG_WARN = 2,
    ZKL_LOG_INFO = 3,
    ZKL_LOG_DEBUG = 4
} zkl_log_level;

/* Receives one line without newline, which is valid during the call. Called on a library thread,
 * in order. It must not block for long, since other callbacks wait behind it.
 * Lines of libzookeeper itself name no session: each session of the process that has a log callback
 * gets them. Those about its attempts to connect have the level ZKL_LOG_DEBUG. Without a connection
 * there is one warning after a second, one each minute, and one when the connection is back.
 * Since 0.1. */
typedef void (*zkl_log_fn)(zkl_log_level level, const char *line, void *data);

/* What happened to a session. Since 0.1. */
typedef enum zkl_session_event {
    ZKL_SESSION_CONNECTED = 1, /* there is a connection, the first one or a new one */
    ZKL_SESSION_SUSPENDED = 2, /* the connection was lost; the session may live on */
    ZKL_SESSION_REPLACED = 3,  /* the ZooKeeper session has ended: it expired, or the servers' data
                                  has gone back and they no longer accept it. Its grants are LOST;
                                  waiters enter the queue again in the one that is being opened */
    ZKL_SESSION_REFUSED = 4,   /* the server refused the credentials: nothing will work any more */
    ZKL_SESSION_CLOSED = 5     /* zkl_session_close() was called; the last event */
} zkl_session_event;

/* Called on a library thread, in the order of events. id is that of the ZooKeeper session
 * concerned, 0 if there was none yet. Since 0.1. */
typedef void (*zkl_session_fn)(zkl_session *s, zkl_session_event event, int64_t id, void *data);

/* The ACL of the nodes that the library creates at path and below it, instead of the option acl.
 * Since 0.1. */
typedef struct zkl_path_acl {
    const char *path; /* as for zkl_mutex_new() */
    const char *acl;  /* as the option acl; not NULL */
} zkl_path_acl;

/* Fill with ZKL_SESSION_OPTIONS_INIT, then change members.
 * In this and every other struct of options, size tells which version of the struct the caller was
 * compiled with. A size that is too small is ZKL_EINVAL. So is a larger one if a member that this
 * library does not know is not 0.
 * If log is NULL, warnings and errors go to stderr. A thread of the library writes them, so that
 * nothing waits for the reader. While stderr accepts no data, lines beyond 64 KiB are dropped, and
 * their number is written later. Since 0.1. */
typedef struct zkl_session_options {
    size_t size;             /* sizeof(zkl_session_options); 0 is ZKL_EINVAL */
    int session_timeout_ms;  /* default 10000; 200 to 10^9; the server may change it within its own
                                limits */
    const char *auth_scheme; /* "digest"; NULL: no credentials */
    const char *auth;        /* the credentials of that scheme, "user:password"; both or none */
    const char *acl; /* of the nodes created, comma separated as the ZooKeeper shell takes them:
                        "world:anyone:cdrwa" (also for NULL), "auth::cdrwa" (needs auth)… */
    zkl_log_fn log;  /* NULL: stderr */
    void *log_data;  /* argument of log */
    zkl_log_level
        log_level;      /* default ZKL_LOG_WARN, also for 0; lines above it are not delivered */
    int tick_ms;        /* the servers' tickTime; 0: unknown. It is then taken as 0.3 of the session
                           timeout, which is safe if minSessionTimeout is at least two ticks */
    int drift_permille; /* default 100, also for 0; 1 to 500: by how much the rates of clocks may
                           differ, in 1/1000 */
    int64_t warm_ms;    /* default 60000; 0 and more: how long the session is still proved after the
                           last grant or waiter */
    int dispatch;       /* 0: callbacks run on a thread of the library; 1: they run inside
                                 zkl_session_dispatch() */
    int retain_max; /* default 1000; 0 and more: how many locks the session's mutexes retain while
                       nobody uses them. Of more, the least lately used are given back */
    const zkl_path_acl *path_acls; /* ACLs by path, copied; of several that match, the longest path
                                      counts. NULL: acl for every node. Nodes that exist keep the
                                      ACL that they have */
    size_t path_acl_count;         /* of path_acls */
} zkl_session_options;

#define ZKL_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_session_options), 10000, NULL, NULL, NULL, NULL, NULL, ZKL_LOG_WARN, 0, 100,    \
            60000, 0, 1000, NULL, 0                                                                \
    }

/* Opens a session and stores it in *ret. connect is "host:port,host:port/chroot"; the port is 2181
 * if left out, an IPv6 address is in brackets. Only the syntax is checked, and the function never
 * waits for a server: a daemon may start before its ensemble. options and reterr may be NULL;
 * *reterr is written on failure only. End the session with zkl_session_close().
 * Returns
 *   0;
 *   ZKL_EINVAL: ret is NULL, or connect or options are invalid;
 *   ZKL_ENOMEM: the system refused a thread or a descriptor.
 * Since 0.1. */
ZKL_API int zkl_session_open(zkl_session **ret, const char *connect,
                             const zkl_session_options *options, zkl_error *reterr);

/* Waits until the session is connected, for timeout_ms at most; 0 does not wait at all.
 * Returns
 *   0: there is a connection;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed, for that reason;
 *   ZKL_EAUTH: the server refused the credentials;
 *   ZKL_ECLOSED: the session was closed;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: s is NULL;
 *   ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_session_wait(zkl_session *s, int64_t timeout_ms);

/* Registers fn(s, event, id, data), which is called at every later event. If there is a connection
 * already, fn is also called once with ZKL_SESSION_CONNECTED. Registrations add up, and end with
 * the session.
 * Returns 0; ZKL_EINVAL: s or fn is NULL; ZKL_ECLOSED; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_on_change(zkl_session *s, zkl_session_fn fn, void *data);

/* With the option dispatch: returns a descriptor for poll(2) and the like, which is readable while
 * callbacks wait to be called. It belongs to the session: do not read or close it.
 * Returns the descriptor, 0 or more; ZKL_EINVAL: s is NULL, or was opened without that option;
 * ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_fd(zkl_session *s);

/* With the option dispatch: calls the callbacks that wait, and does nothing else. Locks are kept,
 * renewed and lost whether or not it is called; but without it losses are not reported in time.
 * Callbacks run one at a time: a second thread that dispatches waits for the first.
 * zkl_session_close() calls what is left; if it is itself called in a callback, a library thread
 * does. Callbacks run with cancellation disabled, and must neither enable it nor leave other than
 * by returning.
 * Returns 0; ZKL_EINVAL: s is NULL, or was opened without that option; ZKL_EDEADLK: called inside a
 * callback; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_dispatch(zkl_session *s);

/* Gives the session another list of servers, as connect of zkl_session_open(); its chroot must be
 * the same. Never waits. The present connection stays, and so does the list that it was made with,
 * until the ZooKeeper session ends. When there is no connection and nothing is held, or as soon as
 * that is so, the library opens a new session on the new servers instead of going on with the old
 * ones (ZKL_SESSION_REPLACED): waiters enter the queue again. A grant that is held when the
 * connection is lost keeps the session on the old servers: it is kept if they take the session back
 * before its deadline, and is LOST otherwise; so does a member inside of a double barrier. Let the
 * old servers run, therefore, until locks that matter have been given back; to change them one by
 * one nothing is lost if some of them are always up. Requests under way when a connection ends are
 * repeated, or settled as after any lost connection. Returns 0; ZKL_EINVAL: s is NULL, connect is
 * invalid or has another chroot; ZKL_ECLOSED; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_set_servers(zkl_session *s, const char *connect);

/* Returns the id of the present ZooKeeper session. Returns 0 before the first, in a forked child
 * and for NULL. Since 0.1. */
ZKL_API int64_t zkl_session_id(zkl_session *s);

/* Returns the negotiated session timeout in milliseconds; before the first connection, that of the
 * options. Returns ZKL_EINVAL if s is NULL, or ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_timeout_ms(zkl_session *s);

/* Ends the session: grants become LOST, operations fail with ZKL_ECLOSED, the session's nodes are
 * deleted. Waits for callbacks that are running or queued, for the server at most 5 s, and at most
 * 0.5 s for a stderr that accepts no data. Inside a callback it waits for none of them and finishes
 * in the background. s is invalid afterwards. Handles made from it stay valid until they are freed;
 * their functions return ZKL_ECLOSED or ZKL_ELOST. NULL is ignored. In a forked child it does
 * nothing. Since 0.1. */
ZKL_API void zkl_session_close(zkl_session *s);

ZKL_END

#endif
