/* A mutex: what handle.c does, for contenders of the mutex's kinds, and retained grants. */
#include "handle.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/contender/local_queue.h"
#include "op.h"
#include "retained.h"

enum { RETAIN_MAX_MS = 86400000 };

static const char what[] = "mutex";

struct zkl_mutex {
    struct handle handle; /* the first */
    zkl_peer peer;
    /* guarded by the monitor: */
    struct retained *retained; /* NULL: nothing is retained */
    struct local_queue *local; /* NULL: something is */
};

static zkl_mutex *mutex_of(struct handle *h)
{
    return (zkl_mutex *)h;
}

static struct contender_spec spec_of(zkl_mutex *m)
{
    struct contender_spec spec = handle_spec(&m->handle);

    spec.rule = m->peer == ZKL_PEER_KAZOO ? RULE_OWN_KAZOO : RULE_LOCK;
    spec.hints = true;
    spec.local = m->local;
    return spec;
}

/* Of asynchronous calls each is an owner of its own. */
static zkl_op *mutex_start(struct handle *h, const struct hold *hold, bool shared,
                           int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    zkl_mutex *m = mutex_of(h);

    (void)shared;
    if (m->retained) {
        struct turn_caller caller = {
            .payload = handle_payload(h), .owner = hold ? hold->key : 0, .is_new = !hold};
        return op_start_turn(&h->waiters, m->retained, &caller, timeout_ms, fn, data);
    }
    struct contender_spec spec = spec_of(m);
    return op_start(&h->waiters, &spec, timeout_ms, fn, data);
}

/* What the handle has kept. */
static zkl_grant *mutex_take(struct handle *h, const struct hold *hold)
{
    zkl_mutex *m = mutex_of(h);

    if (!m->retained)
        return NULL;
    session_lock_briefly(h->session);
    zkl_grant *grant = retained_take(m->retained, hold->key);
    session_unlock_briefly(h->session);
    return grant;
}

static void stop_retaining(struct handle *h)
{
    if (mutex_of(h)->retained)
        retained_close(mutex_of(h)->retained);
}

static void mutex_end(struct handle *h)
{
    if (mutex_of(h)->retained)
        retained_unref(mutex_of(h)->retained);
    if (mutex_of(h)->local)
        local_queue_unref(mutex_of(h)->local);
}

static const struct handle_kind kind = {.what = what,
                                        .start = mutex_start,
                                        .take = mutex_take,
                                        .close = stop_retaining,
                                        .end = mutex_end};

/* ---- new ---- */

static const char *mutex_check_options(const zkl_mutex_options *o)
{
    const char *wrong = options_check(o->name, o->parents);

    if (wrong)
        return wrong;
    if ((unsigned)o->peer > ZKL_PEER_KAZOO)
        return "peer is none of zkl_peer";
    if (o->retain_ms < 0 || o->retain_ms > RETAIN_MAX_MS)
        return "retain_ms must be 0 to 86400000";
    if (o->fence64 & ~1)
        return "fence64 must be 0 or 1";
    return NULL;
}

static void start_retaining(zkl_mutex *m, const zkl_mutex_options *o)
{
    const struct retain config = {.retain_ns = o->retain_ms * CLOCK_MS,
                                  .local_turns = retained_local_turns,
                                  .fence64 = o->fence64};

    session_lock(m->handle.session);
    const struct contender_spec spec = spec_of(m);
    m->retained = retained_new(m->handle.session, &spec, &config);
    session_unlock(m->handle.session);
}

int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                  const zkl_mutex_options *options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const char *wrong = options_take(&o, sizeof o, options);
    int code =
        handle_check_new("zkl_mutex_new", ret, s, path, wrong ? wrong : mutex_check_options(&o));

    if (code)
        return code;
    const struct handle_options common = {
        .name = o.name, .parents = o.parents, .key = o.key, .key_data = o.key_data};
    zkl_mutex *m = handle_new(&kind, sizeof *m, s, path, &common);
    m->peer = o.peer;
    if (o.retain_ms)
        start_retaining(m, &o);
    else
        m->local = local_queue_new();
    handle_publish(&m->handle);
    *ret = m;
    return 0;
}

/* ---- the rest of the interface ---- */

static struct handle *mutex_handle_of(zkl_mutex *m)
{
    return m ? &m->handle : NULL;
}

void zkl_mutex_free(zkl_mutex *m)
{
    handle_free(mutex_handle_of(m));
}

int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, zkl_grant **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_lock(&m->handle, false, timeout_ms, NULL, ret);
}

int zkl_mutex_lock_cancelable(zkl_mutex *m, int64_t timeout_ms, zkl_canceler *canceler,
                              zkl_grant **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_lock(&m->handle, false, timeout_ms, canceler, ret);
}

int zkl_mutex_depth(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_depth(&m->handle);
}

int zkl_mutex_unlock(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_unlock(&m->handle);
}

int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                         zkl_op **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code
                : handle_lock_async(&m->handle, "zkl_mutex_lock_async", false, timeout_ms, fn, data,
                                    ret);
}

int zkl_mutex_yield(zkl_mutex *m)
{
    int code = handle_check(mutex_handle_of(m), what);

    if (code)
        return code;
    session_lock(m->handle.session);
    if (m->retained)
        retained_yield(m->retained);
    session_unlock(m->handle.session);
    return 0;
}
