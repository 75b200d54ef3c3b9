/* A session as its user has it, from its options to its end. The functions of the interface are
 * called without the monitor, and take it where they need it. Other functions say if it is held.
 * zkl_session_dispatch() runs the user's callbacks, so no lock of ours is held there. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <zkl-glib.h>

#include "core.h"
#include "incarnation.h"
#include "lib/base/acl.h"
#include "lib/base/callbacks.h"
#include "lib/base/credentials.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/base/thread.h"
#include "orphans.h"
#include "participant.h"
#include "watch.h"

enum {
    TIMEOUT_DEFAULT_MS = 10000,
    TIMEOUT_MIN_MS = 200,
    DRIFT_DEFAULT = 100,
    DRIFT_MAX = 500,
    WARM_MS = 60000,
    CLOSE_WAIT_MS = 5000
};

const struct store_ops *session_store = &store_zk;

/* ---- options ---- */

static const char *session_check_acl(const zkl_session_options *o)
{
    GArray *acl = acl_parse(o->acl);
    const char *wrong = NULL;

    if (!acl)
        return "acl must be scheme:id:perms,… with perms of r, w, c, d and a";
    /* The server puts the session's own ids in the place of auth, and refuses each create if there
     * are none. */
    for (guint i = 0; i < acl->len && o->credential_count == 0; i++) {
        if (strcmp(g_array_index(acl, struct acl_entry, i).scheme, "auth") == 0)
            wrong = "acl has the scheme auth, which needs credentials";
    }
    g_array_unref(acl);
    return wrong;
}

static const char *session_check_sasl(const zkl_session_options *o)
{
    bool sasl = false;

    for (size_t i = 0; i < o->credential_count; i++)
        sasl |= strcmp(o->credentials[i].scheme, "sasl") == 0;
    if (!sasl)
        return NULL;
    if (o->tls_ca)
        return "libzookeeper cannot do TLS and SASL together";
    return store_sasl_unsupported();
}

static const char *session_check_options(const zkl_session_options *o)
{
    const char *wrong = session_check_acl(o);

    if (wrong)
        return wrong;
    if (o->session_timeout_ms < TIMEOUT_MIN_MS || o->session_timeout_ms > SESSION_TIMEOUT_MAX_MS)
        return "session_timeout_ms must be 200 to 1000000000";
    if (o->tick_ms < 0)
        return "tick_ms must not be negative";
    if (o->drift_permille < 0 || o->drift_permille > DRIFT_MAX)
        return "drift_permille must be 1 to 500, or 0 for the default";
    if (o->log_level < ZKL_LOG_ERROR || o->log_level > ZKL_LOG_DEBUG)
        return "log_level is none of zkl_log_level";
    if (o->dispatch != 0 && o->dispatch != 1)
        return "dispatch must be 0 or 1";
    if (o->fixed_servers != 0 && o->fixed_servers != 1)
        return "fixed_servers must be 0 or 1";
    if (!proofs_can_last(o->session_timeout_ms * CLOCK_MS, o->tick_ms * CLOCK_MS, o->drift_permille,
                         false))
        return "tick_ms or drift_permille is too large for session_timeout_ms: an ensemble could "
               "not renew a grant in time";
    wrong = credentials_check(o);
    return wrong ? wrong : session_check_sasl(o);
}

/* Returns the files that the options name; the options own the names. */
static struct tls_files session_tls(const zkl_session_options *o)
{
    /* nothing writes to the texts */
    return (struct tls_files){(char *)(uintptr_t)o->tls_ca, (char *)(uintptr_t)o->tls_cert,
                              (char *)(uintptr_t)o->tls_key};
}

/* Fills in *o from the options given, with the defaults in place of zeros. Returns what is wrong
 * with them; NULL: nothing. */
static const char *session_take_options(zkl_session_options *o, const zkl_session_options *given)
{
    const char *wrong = options_take(o, offsetof(zkl_session_options, reserved), given);

    if (wrong)
        return wrong;
    if (o->session_timeout_ms == 0)
        o->session_timeout_ms = TIMEOUT_DEFAULT_MS;
    if (o->drift_permille == 0)
        o->drift_permille = DRIFT_DEFAULT;
    if (o->log_level == 0)
        o->log_level = ZKL_LOG_WARN;
    return session_check_options(o);
}

/* Splits connect. Returns 0, and both results are to be freed; or ZKL_EINVAL. */
static int session_split_connect(const char *connect, char **ret_hosts, char **ret_chroot)
{
    const char *wrong = path_split_connect(connect, ret_hosts, ret_chroot);

    if (!wrong)
        return 0;
    return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": %s", connect ? connect : "",
                     wrong);
}

/* ---- memory ---- */

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
    s->warm_ns = WARM_MS * CLOCK_MS;
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

/* ---- open ---- */

/* Starts both threads. The calling thread cannot be cancelled here: what is closed and awaited
 * after a failure are points of cancellation. */
static bool session_start_threads(zkl_session *s, const zkl_session_options *o)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    s->callbacks = callbacks_new(o->dispatch);
    if (s->callbacks)
        s->timers = timers_new(&s->monitor);
    if (s->timers)
        s->log = log_new(o->log, o->log_data, o->log_level, s->callbacks);
    else if (s->callbacks)
        callbacks_stop(s->callbacks);
    pthread_setcancelstate(before, NULL);
    return s->timers != NULL;
}

/* Makes the thread's last error, and *reterr (which may be NULL), from the other arguments. Returns
 * code. */
static int session_refuse_open(zkl_error *reterr, int code, const char *path, const char *text)
{
    error_set(code, path, "%s", text);
    if (reterr)
        zkl_last_error(reterr);
    return code;
}

/* The calling thread cannot be cancelled while it reads the files. */
static bool session_check_tls(const zkl_session_options *o, zkl_error *reterr)
{
    const struct tls_files tls = session_tls(o);
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    char *wrong = tls_files_check(&tls);
    pthread_setcancelstate(before, NULL);
    if (wrong)
        session_refuse_open(reterr, ZKL_EINVAL, "options", wrong);
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
        return session_refuse_open(reterr, ZKL_EINVAL, NULL, "zkl_session_open: ret is NULL");
    wrong = session_take_options(&o, options);
    if (wrong)
        return session_refuse_open(reterr, ZKL_EINVAL, "options", wrong);
    if (session_split_connect(connect, &hosts, &chroot) != 0) {
        if (reterr)
            zkl_last_error(reterr);
        return ZKL_EINVAL;
    }
    if (!session_check_tls(&o, reterr)) {
        g_free(hosts);
        g_free(chroot);
        return ZKL_EINVAL;
    }
    fork_watch();
    orphans_watch_exit();
    zkl_session *s = session_new(&o, hosts, chroot);
    if (!lock_owner_watch() || !session_start_threads(s, &o)) {
        session_unref(s);
        return session_refuse_open(reterr, ZKL_ENOMEM, NULL, zkl_strerror(ZKL_ENOMEM));
    }
    session_lock(s);
    s->warm_until = instant_add(clock_now(), s->warm_ns);
    incarnation_begin(s);
    session_unlock(s);
    *ret = s;
    return 0;
}

void session_set_warm_ms(zkl_session *s, int64_t ms)
{
    session_lock(s);
    s->warm_ns = ms * CLOCK_MS;
    s->warm_until = instant_add(clock_now(), s->warm_ns);
    session_unlock(s);
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
    thread_shows_wait(true);
    callbacks_flush(s->callbacks);
    thread_shows_wait(false);
    session_unref(s);
    return 0;
}

struct session_source {
    GSource source;
    zkl_session *session;
};

static gboolean session_source_dispatch(GSource *source, GSourceFunc fn, gpointer data)
{
    (void)fn;
    (void)data;
    zkl_session_dispatch(((struct session_source *)source)->session);
    return G_SOURCE_CONTINUE;
}

static void session_source_finalize(GSource *source)
{
    zkl_session *s = ((struct session_source *)source)->session;

    if (!fork_is_child(s->generation))
        session_unref(s);
}

static GSourceFuncs session_source_funcs = {.dispatch = session_source_dispatch,
                                            .finalize = session_source_finalize};

GSource *zkl_glib_source_new(zkl_session *s)
{
    int fd = zkl_session_fd(s);

    if (fd < 0)
        return NULL;
    GSource *source = g_source_new(&session_source_funcs, sizeof(struct session_source));
    ((struct session_source *)source)->session = session_ref(s);
    g_source_set_static_name(source, "zkl");
    g_source_add_unix_fd(source, fd, G_IO_IN);
    return source;
}

/* ---- its state ---- */

/* The monitor is held. */
static int session_wait_up(zkl_session *s, const struct timespec *until)
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

int zkl_session_wait(zkl_session *s, int64_t timeout_ms)
{
    return session_await(s, "zkl_session_wait", timeout_ms, session_wait_up);
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

/* ---- servers: the store's handle takes a new list when it next fails to connect ---- */

/* Takes hosts, the new list. The monitor is held. */
static int session_change_servers(zkl_session *s, char *hosts)
{
    if (s->closing) {
        g_free(hosts);
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    }
    char *former = s->hosts, *shown = s->shown_hosts;
    s->hosts = hosts;
    s->shown_hosts = path_show_hosts(hosts); /* a forked child finds one or the other */
    if (s->store && s->ops->set_hosts && strcmp(hosts, former) != 0)
        s->ops->set_hosts(s->store, hosts);
    g_free(former);
    g_free(shown);
    return 0;
}

int zkl_session_set_servers(zkl_session *s, const char *connect)
{
    int code = session_check(s);
    char *hosts, *chroot;

    if (!code)
        code = session_split_connect(connect, &hosts, &chroot);
    if (code)
        return code;
    const bool same = strcmp(chroot, s->chroot) == 0;
    g_free(chroot);
    if (!same) {
        g_free(hosts);
        return error_set(ZKL_EINVAL, connect, "connect string \"%.100s\": it has another chroot",
                         connect);
    }
    session_lock(s);
    code = session_change_servers(s, hosts);
    session_unlock(s);
    return code;
}

/* ---- close ---- */

/* Ends a session that is closing, and gives up a reference. Losses are told while the nodes still
 * stand; then the server deletes them with the session. The monitor is not held; callbacks may run
 * here. */
static void *session_finish(void *data)
{
    zkl_session *s = data;

    callbacks_flush(s->callbacks);
    struct timespec until = clock_after_ms(CLOSE_WAIT_MS);
    session_lock(s);
    incarnation_close(s);
    timers_stop(s->timers); /* the end of the thread need not wait for the server's answer */
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

/* The thread cannot be cancelled here: a session that is half closed would keep its nodes. A
 * callback that hangs keeps them for one timeout. */
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
    if (!s->refused) /* else it closes in time already */
        incarnation_close_in_time(s);
    session_unlock(s);
    if (!callbacks_inside()) {
        session_finish(s);
    } else if (thread_start_detached(session_finish, s) != 0) {
        /* Deletes the nodes at least. The threads stay, since no thread can wait for them. */
        session_lock(s);
        incarnation_close(s);
        session_unlock(s);
    }
    pthread_setcancelstate(before, NULL);
}

/* ---- ended by another process ----
 *
 * zkl_session_end() takes the session up, closes it as its own, and takes it up again until the
 * servers say that it has expired. */

_Static_assert(sizeof(((zkl_session_claim *)NULL)->password) == STORE_PASSWORD, "one length");

int zkl_session_get_claim(zkl_session *s, zkl_session_claim *ret)
{
    int code = session_check(s);
    struct store_claim claim;

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_session_get_claim: ret is NULL");
    session_lock(s);
    const bool closing = s->closing;
    const bool known =
        !closing && s->store && s->ops->get_claim && s->ops->get_claim(s->store, &claim);
    session_unlock(s);
    if (closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    if (!known)
        return error_set(ZKL_EUNREACHABLE, NULL, "there is no ZooKeeper session yet");
    ret->id = claim.id;
    memcpy(ret->password, claim.password, sizeof ret->password);
    return 0;
}

/* A call of zkl_session_end(), which has a store but no session. So the monitor of the functions
 * called claim_… is the one here, which guards all but .until. The caller frees this, or the store
 * does, if the caller's time is over first. */
struct claim_ending {
    pthread_mutex_t monitor;
    pthread_cond_t changed;
    struct timespec until;
    bool up;       /* the session is ours */
    bool answered; /* what was asked then is answered, or there is no connection any more */
    bool expired;  /* the session is over */
    bool refused;  /* to us: the servers want other credentials */
    bool host_unknown;
    bool closed;    /* the store is gone */
    bool abandoned; /* the caller does not wait for .closed any more */
};

static void claim_ending_free(struct claim_ending *e)
{
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->monitor);
    g_free(e);
}

/* Called with the monitor held, like the next two. */
static void claim_on_event(void *context, enum store_event event, int64_t id, int timeout_ms)
{
    struct claim_ending *e = context;

    (void)id;
    (void)timeout_ms;
    e->up |= event == STORE_EV_UP;
    e->expired |= event == STORE_EV_EXPIRED;
    e->refused |= event == STORE_EV_AUTH;
    if (event == STORE_EV_HOST || event == STORE_EV_BEGIN)
        e->host_unknown = event == STORE_EV_HOST;
    pthread_cond_broadcast(&e->changed);
}

static void claim_on_answer(void *context, const struct store_reply *reply)
{
    struct claim_ending *e = context;

    (void)reply;
    e->answered = true;
    pthread_cond_broadcast(&e->changed);
}

static void claim_on_watch(void *context, const char *path, enum store_fired fired)
{
    (void)context;
    (void)path;
    (void)fired;
}

static void claim_on_closed(void *context)
{
    struct claim_ending *e = context;

    pthread_mutex_lock(&e->monitor);
    e->closed = true;
    pthread_cond_broadcast(&e->changed);
    const bool abandoned = e->abandoned;
    pthread_mutex_unlock(&e->monitor);
    if (abandoned)
        claim_ending_free(e);
}

/* Waits for a change. Returns false when the time is over. The monitor is held. */
static bool claim_wait(struct claim_ending *e)
{
    return pthread_cond_timedwait(&e->changed, &e->monitor, &e->until) != ETIMEDOUT;
}

/* Takes the session up and closes it. Returns 0 while there is time to ask again. Servers that
 * demand credentials refuse the close without a word, and each time that a session is taken up
 * prolongs it: so they are asked for something else before, which they do refuse with a word. A
 * store that looks a name up closes when that is done, which nobody can end. The monitor is
 * held. */
static int claim_take_up_and_close(struct claim_ending *e, const struct store_config *config)
{
    const struct store_request request = {.kind = STORE_STAT, .path = "/"};
    const struct store_sink sink = {.event = claim_on_event,
                                    .watch = claim_on_watch,
                                    .closed = claim_on_closed,
                                    .context = e,
                                    .monitor = &e->monitor};
    struct store *store;
    bool more = true;

    e->up = e->answered = e->closed = false;
    if (session_store->open(&store, config, &sink) != 0)
        return ZKL_ENOMEM;
    while (!e->up && !e->expired && !e->refused && more)
        more = claim_wait(e);
    const bool asked = e->up && session_store->submit(store, &request, claim_on_answer, e);
    while (asked && !e->answered && more)
        more = claim_wait(e);
    session_store->close(store);
    while (!e->closed && more)
        more = claim_wait(e);
    e->abandoned = !e->closed;
    return e->refused           ? ZKL_EAUTH
           : e->expired || more ? 0
           : e->host_unknown    ? ZKL_EHOST
                                : ZKL_EUNREACHABLE;
}

static int claim_end_session(const struct store_config *config, int64_t timeout_ms)
{
    struct claim_ending *e = g_new0(struct claim_ending, 1);
    int code = 0;

    e->until = clock_after_ms(timeout_ms);
    pthread_mutex_init(&e->monitor, NULL);
    thread_cond_init(&e->changed);
    pthread_mutex_lock(&e->monitor);
    while (code == 0 && !e->expired)
        code = claim_take_up_and_close(e, config);
    const bool abandoned = e->abandoned;
    pthread_mutex_unlock(&e->monitor);
    if (!abandoned)
        claim_ending_free(e);
    return code ? error_set(code, config->hosts, "%s", zkl_strerror(code)) : 0;
}

static int claim_end_checked(const char *connect, const zkl_session_options *o,
                             const zkl_session_claim *claim, int64_t timeout_ms)
{
    struct store_claim taken = {.id = claim->id};
    char *hosts, *chroot;
    int before, code = session_split_connect(connect, &hosts, &chroot);

    if (code)
        return code;
    memcpy(taken.password, claim->password, sizeof taken.password);
    const struct tls_files tls = session_tls(o);
    const struct store_config config = {.hosts = hosts,
                                        .claim = &taken,
                                        .timeout_ms = o->session_timeout_ms,
                                        .credentials = credentials_new(o),
                                        .tls = &tls};
    fork_watch();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    code = claim_end_session(&config, timeout_ms);
    pthread_setcancelstate(before, NULL);
    credentials_unref(config.credentials);
    explicit_bzero(&taken, sizeof taken);
    g_free(hosts);
    g_free(chroot);
    return code;
}

int zkl_session_end(const char *connect, const zkl_session_options *options,
                    const zkl_session_claim *claim, int64_t timeout_ms)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const char *wrong = !claim           ? "zkl_session_end: claim is NULL"
                        : claim->id == 0 ? "zkl_session_end: the claim has no id"
                                         : NULL;

    if (!wrong)
        wrong = session_take_options(&o, options);
    if (wrong)
        return error_set(ZKL_EINVAL, NULL, "%s", wrong);
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_session_end: called in a callback");
    if (!session_check_tls(&o, NULL))
        return ZKL_EINVAL;
    return claim_end_checked(connect, &o, claim, timeout_ms);
}
