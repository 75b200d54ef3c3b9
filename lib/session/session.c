#include <string.h>
#include <time.h>

#include "core.h"
#include "flush.h"
#include "incarnation.h"
#include "lib/base/callbacks.h"
#include "lib/base/credentials.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/path.h"
#include "lib/base/thread.h"
#include "participant.h"
#include "watch.h"

enum { CLOSE_WAIT_MS = 5000 };

const struct store_ops *session_store = &store_zk;

/* ---- open ---- */

static zkl_session *session_new(const zkl_session_options *o, char *hosts, char *chroot)
{
    zkl_session *s = g_new0(zkl_session, 1);

    s->refs = 1;
    s->generation = fork_generation;
    s->ops = session_store;
    s->hosts = hosts;
    s->shown_hosts = path_show_hosts(hosts);
    s->chroot = chroot;
    s->fixed_servers = o->fixed_servers || o->tls_ca;
    s->credentials = credentials_new(o);
    const struct tls_files tls = session_tls(o);
    s->tls = tls_files_copy(&tls);
    s->acl = g_strdup(o->acl);
    s->wanted_timeout_ms = o->session_timeout_ms;
    s->timeout_ms = o->session_timeout_ms;
    s->warm_ns = MIN(o->warm_ms, INT64_MAX / CLOCK_MS / 4) * CLOCK_MS;
    s->watches = watch_table_new();
    s->logged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    s->unnoted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    s->participants = g_ptr_array_new();
    s->stats = (zkl_stats)ZKL_STATS_INIT;
    s->stats.deadline_left_least_ms = -1;
    s->listeners = g_array_new(FALSE, FALSE, sizeof(struct session_listener));
    proofs_init(&s->proofs, o->tick_ms * CLOCK_MS, o->drift_permille);
    pthread_mutex_init(&s->monitor, NULL);
    thread_cond_init(&s->changed);
    return s;
}

static bool start_threads_uncanceled(zkl_session *s, const zkl_session_options *o)
{
    s->callbacks = callbacks_new(o->dispatch);
    if (!s->callbacks)
        return false;
    s->timers = timers_new(&s->monitor);
    if (!s->timers) {
        callbacks_stop(s->callbacks);
        return false;
    }
    s->log = log_new(o->log, o->log_data, o->log_level, s->callbacks);
    return true;
}

/* What it closes and waits for when it fails are points of cancellation. */
static bool start_threads(zkl_session *s, const zkl_session_options *o)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    bool started = start_threads_uncanceled(s, o);
    pthread_setcancelstate(before, NULL);
    return started;
}

static int refuse_open(zkl_error *reterr, int code, const char *path, const char *text)
{
    error_set(code, path, "%s", text);
    if (reterr)
        zkl_last_error(reterr);
    return code;
}

static bool check_tls(const zkl_session_options *o, zkl_error *reterr)
{
    const struct tls_files tls = session_tls(o);
    char *wrong = tls_files_check(&tls);

    if (wrong)
        refuse_open(reterr, ZKL_EINVAL, "options", wrong);
    g_free(wrong);
    return wrong == NULL;
}

int zkl_session_open(zkl_session **ret, const char *connect, const zkl_session_options *options,
                     zkl_error *reterr)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    char *hosts, *chroot;
    const char *wrong;

    if (!ret)
        return refuse_open(reterr, ZKL_EINVAL, NULL, "zkl_session_open: ret is NULL");
    wrong = session_take_options(&o, options);
    if (wrong)
        return refuse_open(reterr, ZKL_EINVAL, "options", wrong);
    if (session_split_connect(connect, &hosts, &chroot) != 0) {
        if (reterr)
            zkl_last_error(reterr);
        return ZKL_EINVAL;
    }
    if (!check_tls(&o, reterr)) {
        g_free(hosts);
        g_free(chroot);
        return ZKL_EINVAL;
    }
    fork_watch();
    flush_watch();
    zkl_session *s = session_new(&o, hosts, chroot);
    if (!lock_owner_watch() || !start_threads(s, &o)) {
        session_unref(s);
        return refuse_open(reterr, ZKL_ENOMEM, NULL, zkl_strerror(ZKL_ENOMEM));
    }
    session_lock(s);
    s->warm_until = instant_add(clock_now(), s->warm_ns);
    incarnation_begin(s);
    session_unlock(s);
    *ret = s;
    return 0;
}

/* ---- callbacks ---- */

int zkl_session_fd(zkl_session *s)
{
    int code = session_check(s);

    if (code)
        return code;
    if (callbacks_fd(s->callbacks) < 0)
        return error_set(ZKL_EINVAL, NULL, "the session was opened without the option dispatch");
    return callbacks_fd(s->callbacks);
}

int zkl_session_dispatch(zkl_session *s)
{
    int fd = zkl_session_fd(s);

    if (fd < 0)
        return fd;
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_session_dispatch: called in a callback");
    session_ref(s); /* a callback may close it */
    callbacks_flush(s->callbacks);
    session_unref(s);
    return 0;
}

/* ---- asking ---- */

static int wait_up(zkl_session *s, const struct timespec *until)
{
    zkl_error why;

    for (bool more = true;; more = session_wait_change(s, until)) {
        if (s->closing)
            return error_set(ZKL_ECLOSED, NULL, "the session was closed");
        if (s->up)
            return 0;
        if (s->refused || !more) {
            session_why_down(s, &why);
            return error_keep(&why);
        }
    }
}

int session_await(zkl_session *s, const char *doing, int64_t timeout_ms,
                  int (*await)(zkl_session *s, const struct timespec *until))
{
    int code = session_check(s);

    if (code)
        return code;
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "%s: called in a callback", doing);
    /* A hundred years are forever, and do not overflow. */
    timeout_ms = timeout_ms > INT64_C(3155760000000) ? ZKL_FOREVER : timeout_ms;
    struct timespec until = clock_after_ms(MAX(timeout_ms, 0));
    session_ref(s); /* closing it ends the wait, and may come first to its end */
    session_lock(s);
    code = await(s, timeout_ms < 0 ? NULL : &until);
    session_unlock(s);
    session_unref(s);
    return code;
}

int zkl_session_wait(zkl_session *s, int64_t timeout_ms)
{
    return session_await(s, "zkl_session_wait", timeout_ms, wait_up);
}

int64_t zkl_session_id(zkl_session *s)
{
    if (session_check(s))
        return 0;
    session_lock(s);
    int64_t id = s->id;
    session_unlock(s);
    return id;
}

int zkl_session_keep(zkl_session *s, int keep)
{
    int code = session_check(s);

    if (code)
        return code;
    session_lock(s);
    if (s->closing)
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    else if (keep)
        s->users.kept++;
    else if (s->users.kept > 0)
        incarnation_user_left(s, &s->users.kept);
    else
        code = error_set(ZKL_EPERM, NULL, "zkl_session_keep: the session is not kept");
    session_unlock(s);
    return code;
}

int zkl_session_timeout_ms(zkl_session *s)
{
    int code = session_check(s);

    if (code)
        return code;
    session_lock(s);
    int timeout_ms = s->timeout_ms;
    session_unlock(s);
    return timeout_ms;
}

/* ---- close ---- */

/* Losses are told while the nodes still stand; then the server deletes them with the session. */
static void *finish(void *data)
{
    zkl_session *s = data;

    callbacks_flush(s->callbacks);
    struct timespec until = clock_after_ms(CLOSE_WAIT_MS);
    session_lock(s);
    incarnation_close(s);
    timers_stop(s->timers); /* its end need not wait for the server's */
    while (s->stores > 0 && session_wait_change(s, &until))
        continue;
    s->closed = true;
    session_unlock(s);
    timers_free(s->timers);
    s->timers = NULL;
    log_retire(s->log);
    callbacks_stop(s->callbacks);
    log_flush(s->log);
    session_unref(s);
    return NULL;
}

/* No point of cancellation: half closed, it would keep its nodes. */
void zkl_session_close(zkl_session *s)
{
    int before;

    if (!s || fork_is_child(s->generation))
        return;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    session_lock(s);
    s->closing = true;
    s->ended = LOSS_CLOSED;
    pthread_cond_broadcast(&s->changed);
    participants_tell(s, NEWS_CLOSED);
    session_tell(s, ZKL_SESSION_CLOSED, s->id);
    session_unlock(s);
    if (!callbacks_inside()) {
        finish(s);
    } else if (thread_start_detached(finish, s) != 0) {
        /* At least the nodes go; the threads stay, as nobody is left to wait for them. */
        session_lock(s);
        incarnation_close(s);
        session_unlock(s);
    }
    pthread_setcancelstate(before, NULL);
}
