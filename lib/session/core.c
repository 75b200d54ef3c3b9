/* What all others ask of a session: does it live, why does it not work, who is told? The functions
 * of the interface, session_check_open() and session_await() take the monitor. session_ref(),
 * session_path() and session_check() need none, session_unref() is called without it, and the
 * others with it held. */
#include "core.h"

#include <errno.h>
#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/credentials.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "participant.h"

enum { PATIENCE_MAX_MS = 60000 };

/* ---- memory ---- */

zkl_session *session_ref(zkl_session *s)
{
    g_atomic_int_inc(&s->refs);
    return s;
}

/* The last reference frees what close has left. It has left the timers only of a session whose
 * opening failed. The thread cannot be cancelled here: it closes descriptors, which is a point of
 * cancellation. */
void session_unref(zkl_session *s)
{
    int before;

    if (!g_atomic_int_dec_and_test(&s->refs))
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    participants_free(s);
    if (s->timers)
        timers_free(s->timers);
    if (s->log)
        log_free(s->log);
    if (s->callbacks)
        callbacks_free(s->callbacks);
    g_hash_table_unref(s->watches);
    g_hash_table_unref(s->logged);
    g_hash_table_unref(s->unnoted);
    g_clear_pointer(&s->stats_paths, g_ptr_array_unref);
    g_array_unref(s->listeners);
    pthread_mutex_destroy(&s->monitor);
    pthread_cond_destroy(&s->changed);
    g_free(s->hosts);
    g_free(s->shown_hosts);
    g_free(s->chroot);
    credentials_unref(s->credentials);
    tls_files_clear(&s->tls);
    g_free(s->unusable);
    g_free(s->acl);
    g_free(s->denial.node);
    g_free(s);
    pthread_setcancelstate(before, NULL);
}

/* ---- what others ask of it ---- */

const char *session_path(const zkl_session *s, const char *full)
{
    size_t length = strlen(s->chroot);

    if (strncmp(full, s->chroot, length) == 0 && full[length] == '/')
        return full + length;
    return full;
}

int64_t session_patience_ms(const zkl_session *s)
{
    return MIN(s->timeout_ms, MAX(s->wanted_timeout_ms, PATIENCE_MAX_MS));
}

int session_check(const zkl_session *s)
{
    if (!s)
        return error_set(ZKL_EINVAL, NULL, "the session is NULL");
    if (fork_is_child(s->generation))
        return error_set(ZKL_ECHILD, s->shown_hosts,
                         "the session of %s belongs to the parent process", s->shown_hosts);
    return 0;
}

int session_check_open(zkl_session *s)
{
    session_lock(s);
    const bool closing = s->closing;
    session_unlock(s);
    return closing ? error_set(ZKL_ECLOSED, NULL, "the session was closed") : 0;
}

/* Keeps this thread's cancel state: while it waits, other threads have the monitor, and store
 * theirs. */
bool session_wait_change(zkl_session *s, const struct timespec *until)
{
    int cancel_state = s->cancel_state, code;

    if (until)
        code = pthread_cond_timedwait(&s->changed, &s->monitor, until);
    else
        code = pthread_cond_wait(&s->changed, &s->monitor);
    s->cancel_state = cancel_state;
    return code != ETIMEDOUT;
}

int session_await(zkl_session *s, const char *doing, int64_t timeout_ms,
                  int (*await)(zkl_session *s, const struct timespec *until))
{
    int code = session_check(s);

    if (code)
        return code;
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "%s: called in a callback", doing);
    struct timespec until = clock_after_ms(timeout_ms);
    session_ref(s); /* another thread's close ends the wait, and may free the session before this
                       thread goes on */
    thread_shows_wait(true);
    session_lock(s);
    code = await(s, timeout_ms == ZKL_FOREVER ? NULL : &until);
    session_unlock(s);
    thread_shows_wait(false);
    session_unref(s);
    return code;
}

/* ---- listeners ---- */

struct session_message {
    struct session_listener listener;
    zkl_session *session;
    zkl_session_event event;
    int64_t id;
};

static void session_deliver(void *data)
{
    struct session_message *m = data;

    m->listener.fn(m->session, m->event, m->id, m->listener.data);
    g_free(m);
}

/* Needs no reference to the session, since the callback queue ends before it. */
static void session_tell_one(zkl_session *s, const struct session_listener *listener,
                             zkl_session_event event, int64_t id)
{
    struct session_message *m = g_new(struct session_message, 1);

    *m = (struct session_message){*listener, s, event, id};
    if (!callbacks_push(s->callbacks, session_deliver, m))
        g_free(m);
}

void session_tell(zkl_session *s, zkl_session_event event, int64_t id)
{
    if (s->closing && event != ZKL_SESSION_CLOSED) /* which is the last one */
        return;
    for (guint i = 0; i < s->listeners->len; i++)
        session_tell_one(s, &g_array_index(s->listeners, struct session_listener, i), event, id);
}

int zkl_session_on_change(zkl_session *s, zkl_session_fn fn, void *data)
{
    struct session_listener listener = {fn, data};
    int code = session_check(s);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_session_on_change: fn is NULL");
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        g_array_append_val(s->listeners, listener);
        if (s->up)
            session_tell_one(s, &listener, ZKL_SESSION_CONNECTED, s->id);
    }
    session_unlock(s);
    return code;
}

/* ---- why there is no connection ---- */

static zkl_outage outage_of_trouble(enum store_trouble trouble)
{
    static const zkl_outage outages[] = {
        [TROUBLE_UNKNOWN] = ZKL_OUTAGE_UNKNOWN,
        [TROUBLE_NO_ROUTE] = ZKL_OUTAGE_NO_ROUTE,
        [TROUBLE_REFUSED] = ZKL_OUTAGE_REFUSED,
        [TROUBLE_SILENT] = ZKL_OUTAGE_SILENT,
        [TROUBLE_HANGS_UP] = ZKL_OUTAGE_HANGS_UP,
        [TROUBLE_FOREIGN] = ZKL_OUTAGE_FOREIGN,
        [TROUBLE_TLS] = ZKL_OUTAGE_TLS,
        [TROUBLE_NOT_SERVING] = ZKL_OUTAGE_NOT_SERVING,
        [TROUBLE_NONE] = ZKL_OUTAGE_UNKNOWN,
        [TROUBLE_MEMORY] = ZKL_OUTAGE_MEMORY,
        [TROUBLE_DESCRIPTORS] = ZKL_OUTAGE_DESCRIPTORS,
    };

    return outages[trouble];
}

/* Returns why there is no connection. Reasons that are certain come before those that were found
 * out by asking. But if a name is unknown, or TLS is nonsense to us, such a finding may be the
 * reason. */
static zkl_outage outage_why(const zkl_session *s)
{
    if (s->refused)
        return ZKL_OUTAGE_AUTH;
    if (s->trouble >= TROUBLE_MEMORY || s->trouble == TROUBLE_TLS)
        return outage_of_trouble(s->trouble);
    if (s->unusable)
        return ZKL_OUTAGE_CERTIFICATE;
    if (s->foreigners)
        return ZKL_OUTAGE_FOREIGN;
    if (s->host_unknown)
        return ZKL_OUTAGE_HOST;
    return s->rollback.refuses ? ZKL_OUTAGE_ROLLED_BACK : outage_of_trouble(s->trouble);
}

int session_why_down(const zkl_session *s, zkl_error *ret)
{
    static const char *const texts[] = {
        [ZKL_OUTAGE_UNKNOWN] = "no server answers",
        [ZKL_OUTAGE_HOST] = "no server name can be resolved",
        [ZKL_OUTAGE_NO_ROUTE] = "no server answers: there is no route to it",
        [ZKL_OUTAGE_REFUSED] = "no server answers: connection refused",
        [ZKL_OUTAGE_SILENT] = "no server answers: nothing comes back",
        [ZKL_OUTAGE_HANGS_UP] = "no server answers: it closes the connection at once; it may have "
                                "too many from this address",
        [ZKL_OUTAGE_NOT_SERVING] = "the server that answers there does not serve: it is starting, "
                                   "or has no quorum",
        [ZKL_OUTAGE_FOREIGN] = "the server that answers there is not ZooKeeper",
        [ZKL_OUTAGE_TLS] = "the server that answers there speaks TLS, and this connection does not",
        [ZKL_OUTAGE_DESCRIPTORS] = "cannot connect: no file descriptor is left",
        [ZKL_OUTAGE_MEMORY] = "cannot connect: the system refuses memory or a thread",
        [ZKL_OUTAGE_ROLLED_BACK] = "the servers' data is older than what the session has seen",
    };
    const zkl_outage outage = outage_why(s);
    if (outage == ZKL_OUTAGE_CERTIFICATE)
        return error_fill(ret, ZKL_EUNREACHABLE, s->shown_hosts, "%s", s->unusable);
    const int code = outage == ZKL_OUTAGE_AUTH   ? ZKL_EAUTH
                     : outage == ZKL_OUTAGE_HOST ? ZKL_EHOST
                                                 : ZKL_EUNREACHABLE;

    return error_fill(ret, code, s->shown_hosts, "%s: %s", s->shown_hosts,
                      code == ZKL_EAUTH ? zkl_strerror(code) : texts[outage]);
}

zkl_outage zkl_session_outage(zkl_session *s)
{
    if (session_check(s))
        return ZKL_OUTAGE_UNKNOWN;
    session_lock(s);
    const zkl_outage outage = s->closing ? ZKL_OUTAGE_CLOSED
                              : s->up    ? ZKL_OUTAGE_NONE
                                         : outage_why(s);
    session_unlock(s);
    return outage;
}
