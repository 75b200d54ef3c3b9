/* The session: one per process is enough, shared by every lock. */
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

/* Receives one line without newline, valid during the call, on a library thread, in order. Lines
 * of libzookeeper itself carry no session: each session of the process with a log callback gets
 * them; those about its attempts to connect have level ZKL_LOG_DEBUG. Without a connection there is
 * one warning after a second, one each minute and one when it is back. Must not block long: other
 * callbacks wait behind it. */
typedef void (*zkl_log_fn)(zkl_log_level level, const char *line, void *data);

/* What happened to a session. Since 0.1. */
typedef enum zkl_session_event {
    ZKL_SESSION_CONNECTED = 1, /* there is a connection again, or a first one */
    ZKL_SESSION_SUSPENDED = 2, /* the connection is lost; the session may live on */
    ZKL_SESSION_REPLACED = 3, /* the session is over (it expired, or the servers' data has gone back
                                 and they do not take it any more): its grants are LOST, waiters
                                 enter anew in the one that is being opened */
    ZKL_SESSION_REFUSED = 4,  /* the credentials: nothing will work any more */
    ZKL_SESSION_CLOSED = 5    /* by zkl_session_close(); the last call */
} zkl_session_event;

/* Called on a library thread, in the order of events, with no lock of the library held. id is that
 * of the session it is about, 0 if there was none yet. */
typedef void (*zkl_session_fn)(zkl_session *s, zkl_session_event event, int64_t id, void *data);

/* Fill with ZKL_SESSION_OPTIONS_INIT and change what is needed. In this and all structs of options
 * size says which version of the struct it is: one that is too small is ZKL_EINVAL, and so is a
 * larger one in which anything that this library does not know is not 0. Lines for stderr are
 * written by a thread of the library, so that nothing waits for whoever reads them; while stderr
 * takes none, those beyond 64 KiB are dropped, and their number is written later. Since 0.1. */
typedef struct zkl_session_options {
    size_t size;             /* sizeof(zkl_session_options); 0 is ZKL_EINVAL */
    int session_timeout_ms;  /* 10000; 200 to 10^9; the server may change it within its limits */
    const char *auth_scheme; /* "digest", NULL for none */
    const char *auth;        /* the credentials of that scheme, "user:password"; both or none */
    const char *acl; /* of nodes made: "world:anyone:cdrwa" (NULL too), "auth::cdrwa" (with auth
                        only), … , comma separated as the ZooKeeper shell takes them */
    zkl_log_fn log;  /* NULL: warnings and errors go to stderr, see above */
    void *log_data;
    zkl_log_level log_level; /* ZKL_LOG_WARN, also for 0; more is not delivered */
    int tick_ms;        /* the servers' tickTime; 0: unknown, then 0.3 of the timeout bounds it,
                           sound while minSessionTimeout is at least two ticks */
    int drift_permille; /* 100, also for 0; 1 to 500: how far clock rates may differ, in 1/1000 */
    int64_t warm_ms;    /* 60000: how long proofs go on after the last grant or waiter */
    int dispatch;       /* 0: callbacks run on a thread of the library; 1: inside
                           zkl_session_dispatch() */
} zkl_session_options;

#define ZKL_SESSION_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_session_options), 10000, NULL, NULL, NULL, NULL, NULL, ZKL_LOG_WARN, 0, 100,    \
            60000, 0                                                                               \
    }

/* Opens a session to connect: "host:port,host:port/chroot", port 2181 if left out, IPv6 in
 * brackets. Checks syntax only and never waits: a daemon may start before its ensemble. options
 * and reterr may be NULL; *reterr is written on failure only. Answers ZKL_EINVAL, ZKL_ENOMEM.
 * Since 0.1. */
ZKL_API int zkl_session_open(zkl_session **ret, const char *connect,
                             const zkl_session_options *options, zkl_error *reterr);

/* Waits until a session is established. Answers 0, ZKL_EUNREACHABLE or ZKL_EHOST (the time passed
 * and this is why), ZKL_EAUTH, ZKL_ECLOSED, ZKL_EDEADLK (in a callback), ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_wait(zkl_session *s, int64_t timeout_ms);

/* Registers fn(s, event, id, data) for every later event. Registrations add up; when there is a
 * connection already, fn is called once with ZKL_SESSION_CONNECTED. Answers ZKL_EINVAL,
 * ZKL_ECLOSED, ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_on_change(zkl_session *s, zkl_session_fn fn, void *data);

/* With the option dispatch: a descriptor for poll(2) and the like, readable while callbacks wait to
 * be called. It is the session's: neither read nor close it; it ends with the last handle. Answers
 * the descriptor, or ZKL_EINVAL (without that option), ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_fd(zkl_session *s);

/* With the option dispatch: calls what waits to be called, and does nothing else: locks are kept,
 * renewed and lost whether or not it is called, but losses are not told in time. Callbacks come one
 * at a time, whoever dispatches; a second thread waits for the first. zkl_session_close() calls
 * what is left itself; called in a callback, it leaves that to a library thread. It is no point of
 * cancellation, and callbacks run with cancellation disabled: a thread cancelled in one of them
 * goes on until this has returned. A callback must return, and must not enable cancellation.
 * Answers 0, ZKL_EINVAL, ZKL_EDEADLK (in a callback), ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_dispatch(zkl_session *s);

/* The present session's id, 0 before the first. Since 0.1. */
ZKL_API int64_t zkl_session_id(zkl_session *s);

/* The negotiated session timeout in ms; before the first connection the wanted one. Answers
 * ZKL_EINVAL or ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_session_timeout_ms(zkl_session *s);

/* Ends the session: grants become LOST, operations end with ZKL_ECLOSED, nodes are deleted. Waits
 * for running callbacks, at most 5 s for the server and at most 0.5 s for a stderr that takes no
 * lines (in a callback for none of them: it then finishes in the background). Handles made from it
 * must still be freed, and answer ZKL_ECLOSED or ZKL_ELOST. In a forked child it does nothing. NULL
 * is ignored. Since 0.1. */
ZKL_API void zkl_session_close(zkl_session *s);

ZKL_END

#endif
