/* A session is ended by another process: it takes the session up, closes it as its own, and takes
 * it up again until the servers say that it has expired. */
#include <string.h>

#include "core.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/thread.h"
#include "participant.h"

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
    const bool known = !closing && s->store && s->ops->claim && s->ops->claim(s->store, &claim);
    session_unlock(s);
    if (closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    if (!known)
        return error_set(ZKL_EUNREACHABLE, NULL, "there is no ZooKeeper session yet");
    ret->id = claim.id;
    memcpy(ret->password, claim.password, sizeof ret->password);
    return 0;
}

/* ---- the end ---- */

struct ending {
    pthread_mutex_t monitor;
    pthread_cond_t changed;
    struct timespec until;
    bool up;      /* the session is ours */
    bool expired; /* there is none */
    bool host_unknown;
    bool closed; /* the store is gone */
};

/* With the monitor held, like the next. */
static void on_event(void *context, enum store_event event, int64_t id, int timeout_ms)
{
    struct ending *e = context;

    (void)id;
    (void)timeout_ms;
    e->up |= event == STORE_EV_UP;
    e->expired |= event == STORE_EV_EXPIRED;
    if (event == STORE_EV_HOST || event == STORE_EV_BEGIN)
        e->host_unknown = event == STORE_EV_HOST;
    pthread_cond_broadcast(&e->changed);
}

static void on_watch(void *context, const char *path, enum store_fired fired)
{
    (void)context;
    (void)path;
    (void)fired;
}

static void on_closed(void *context)
{
    struct ending *e = context;

    pthread_mutex_lock(&e->monitor);
    e->closed = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->monitor);
}

/* Takes the session up and closes it, with the monitor held. 0 while there is time to ask again. */
static int take_up_and_close(struct ending *e, const struct store_config *config)
{
    const struct store_sink sink = {.event = on_event,
                                    .watch = on_watch,
                                    .closed = on_closed,
                                    .context = e,
                                    .monitor = &e->monitor};
    struct store *store;
    bool more = true;

    e->up = e->closed = false;
    if (session_store->open(&store, config, &sink) != 0)
        return ZKL_ENOMEM;
    while (!e->up && !e->expired && more)
        more = pthread_cond_timedwait(&e->changed, &e->monitor, &e->until) != ETIMEDOUT;
    session_store->close(store);
    while (!e->closed)
        pthread_cond_wait(&e->changed, &e->monitor);
    return e->up || e->expired || more ? 0 : e->host_unknown ? ZKL_EHOST : ZKL_EUNREACHABLE;
}

static int end_session(const struct store_config *config, int64_t timeout_ms)
{
    struct ending e = {.monitor = PTHREAD_MUTEX_INITIALIZER, .until = clock_after_ms(timeout_ms)};
    int code = 0;

    thread_cond_init(&e.changed);
    pthread_mutex_lock(&e.monitor);
    while (code == 0 && !e.expired)
        code = take_up_and_close(&e, config);
    pthread_mutex_unlock(&e.monitor);
    pthread_cond_destroy(&e.changed);
    pthread_mutex_destroy(&e.monitor);
    return code ? error_set(code, config->hosts, "%s", zkl_strerror(code)) : 0;
}

static const char *check(const zkl_session_claim *claim, int64_t timeout_ms)
{
    return !claim           ? "zkl_session_end: claim is NULL"
           : claim->id == 0 ? "zkl_session_end: the claim has no id"
           : timeout_ms < 0 ? "zkl_session_end: timeout_ms is negative"
                            : NULL;
}

static int end_checked(const char *connect, const zkl_session_options *o,
                       const zkl_session_claim *claim, int64_t timeout_ms)
{
    struct store_claim taken = {.id = claim->id};
    char *hosts, *chroot;
    int before, code = session_split_connect(connect, &hosts, &chroot);

    if (code)
        return code;
    memcpy(taken.password, claim->password, sizeof taken.password);
    const struct tls_files tls = session_tls(o);
    const struct store_config config = {
        .hosts = hosts, .claim = &taken, .timeout_ms = o->session_timeout_ms, .tls = &tls};
    fork_watch();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    code = end_session(&config, timeout_ms);
    pthread_setcancelstate(before, NULL);
    explicit_bzero(&taken, sizeof taken);
    g_free(hosts);
    g_free(chroot);
    return code;
}

int zkl_session_end(const char *connect, const zkl_session_options *options,
                    const zkl_session_claim *claim, int64_t timeout_ms)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const char *wrong = check(claim, timeout_ms);

    if (!wrong)
        wrong = session_take_options(&o, options);
    if (wrong)
        return error_set(ZKL_EINVAL, NULL, "%s", wrong);
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_session_end: called in a callback");
    return end_checked(connect, &o, claim, timeout_ms);
}
