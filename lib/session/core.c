/* What everything above the session asks of it: that it lives, why it does not work, who is told.
 */
#include "core.h"

#include <errno.h>
#include <string.h>

#include "denial.h"
#include "lib/base/callbacks.h"
#include "lib/base/credentials.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "participant.h"

enum { PATIENCE_MAX_MS = 60000 };

zkl_session *session_ref(zkl_session *s)
{
    g_atomic_int_inc(&s->refs);
    return s;
}

static void free_session(zkl_session *s)
{
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
    denial_forget(s);
    g_free(s);
}

/* Closing descriptors is a point of cancellation. */
void session_unref(zkl_session *s)
{
    int before;

    if (!g_atomic_int_dec_and_test(&s->refs))
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    free_session(s);
    pthread_setcancelstate(before, NULL);
}

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

/* Others have the monitor meanwhile, and leave their own state. */
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

/* ---- listeners ---- */

struct message {
    struct session_listener listener;
    zkl_session *session;
    zkl_session_event event;
    int64_t id;
};

static void deliver(void *data)
{
    struct message *m = data;

    m->listener.fn(m->session, m->event, m->id, m->listener.data);
    g_free(m);
}

/* The queue ends before the session does, so no reference is needed. */
static void tell_one(zkl_session *s, const struct session_listener *listener,
                     zkl_session_event event, int64_t id)
{
    struct message *m = g_new(struct message, 1);

    *m = (struct message){*listener, s, event, id};
    if (!callbacks_push(s->callbacks, deliver, m))
        g_free(m);
}

void session_tell(zkl_session *s, zkl_session_event event, int64_t id)
{
    for (guint i = 0; i < s->listeners->len; i++)
        tell_one(s, &g_array_index(s->listeners, struct session_listener, i), event, id);
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
            tell_one(s, &listener, ZKL_SESSION_CONNECTED, s->id);
    }
    session_unlock(s);
    return code;
}
