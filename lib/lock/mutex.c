/* A mutex: what handle.c does, for the turns of its callers. */
#include "handle.h"
#include "lib/base/error.h"
#include "op.h"
#include "turns.h"

static const char what[] = "mutex";

struct zkl_mutex {
    struct handle handle; /* the first */
    struct turns *turns;  /* guarded by the monitor */
    bool retains;
};

static zkl_mutex *mutex_of(struct handle *h)
{
    return (zkl_mutex *)h;
}

/* Each asynchronous call is an owner of its own. */
static zkl_op *mutex_start(struct handle *h, const struct hold *hold, bool shared,
                           int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    struct turn_caller caller = {
        .payload = handle_payload(h), .owner = hold ? hold->key : 0, .is_new = !hold};

    (void)shared;
    return op_start_turn(&h->waiters, mutex_of(h)->turns, &caller, timeout_ms, fn, data);
}

/* What the handle has kept. */
static zkl_grant *mutex_take(struct handle *h, const struct hold *hold)
{
    zkl_mutex *m = mutex_of(h);

    if (!m->retains)
        return NULL;
    session_lock_briefly(h->session);
    zkl_grant *grant = turns_take(m->turns, hold->key);
    session_unlock_briefly(h->session);
    return grant;
}

static void mutex_close(struct handle *h)
{
    turns_close(mutex_of(h)->turns);
}

static void mutex_end(struct handle *h)
{
    turns_unref(mutex_of(h)->turns);
}

static const struct handle_kind kind = {
    .what = what, .start = mutex_start, .take = mutex_take, .close = mutex_close, .end = mutex_end};

/* ---- new ---- */

static void mutex_start_turns(zkl_mutex *m, const zkl_mutex_options *o)
{
    const struct retain config = {
        .retain_ns = o->retain_ms * CLOCK_MS, .local_turns = turns_local, .fence64 = o->fence64};

    session_lock(m->handle.session);
    struct contender_spec spec = handle_spec(&m->handle);
    spec.rule = o->peer == ZKL_PEER_KAZOO ? RULE_OWN_KAZOO : RULE_LOCK;
    spec.hints = true;
    m->turns = turns_new(m->handle.session, &spec, &config);
    m->retains = o->retain_ms > 0;
    session_unlock(m->handle.session);
}

int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                  const zkl_mutex_options *options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const char *wrong =
        handle_take_options(&o, options, HANDLE_HAS_KEYS | HANDLE_HAS_PEERS | HANDLE_HAS_TURNS);
    int code = handle_check_new("zkl_mutex_new", ret, s, path, wrong);

    if (code)
        return code;
    zkl_mutex *m = handle_new(&kind, sizeof *m, s, path, &o);
    mutex_start_turns(m, &o);
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

int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, const zkl_grant **ret)
{
    int code = handle_check(mutex_handle_of(m), what);

    return code ? code : handle_lock(&m->handle, false, timeout_ms, ret);
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
    turns_yield(m->turns);
    session_unlock(m->handle.session);
    return 0;
}
