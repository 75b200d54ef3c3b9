/* Locking and unlocking: levels, owners, and who waits for whom. */
#include "grant.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "mutex_handle.h"
#include "op.h"
#include "retained.h"

static uint64_t caller_key(const zkl_mutex *m)
{
    return m->key ? m->key(m->key_data) : lock_owner_thread();
}

static struct hold *find_hold(zkl_mutex *m, uint64_t key)
{
    if (!m->recent || m->recent->key != key)
        m->recent = g_hash_table_lookup(m->holds, &key);
    return m->recent;
}

/* The owner is known here: one level deeper, if it may. */
static int reenter(const zkl_mutex *m, struct hold *hold, zkl_grant **ret)
{
    if (hold->depth == 0)
        return error_set(ZKL_EDEADLK, mutex_path(m), "%s: this owner is already acquiring it",
                         mutex_path(m));
    if (zkl_grant_state(hold->grant) >= ZKL_LOST)
        return error_set(ZKL_ELOST, mutex_path(m),
                         "%s: the grant was lost or released, and is still to be unlocked",
                         mutex_path(m));
    hold->depth++;
    if (ret)
        *ret = hold->grant;
    return 0;
}

/* Of asynchronous calls each is an owner of its own. */
static zkl_op *start(zkl_mutex *m, const struct hold *hold, int64_t timeout_ms, zkl_acquired_fn fn,
                     void *data)
{
    zkl_op *op;

    session_lock(m->session);
    if (m->retained) {
        struct turn_caller caller = {
            .payload = mutex_payload(m), .owner = hold ? hold->key : 0, .is_new = !hold};
        op = op_start_turn(m->session, m->retained, &caller, timeout_ms, fn, data, &m->waiters);
    } else {
        struct contender_spec spec = mutex_spec(m);
        op = op_start(m->session, &spec, timeout_ms, fn, data, &m->waiters);
    }
    session_unlock(m->session);
    return op;
}

/* What the handle has kept; NULL: it must be waited for. */
static zkl_grant *take_retained(zkl_mutex *m, const struct hold *hold)
{
    zkl_grant *grant;

    if (!m->retained)
        return NULL;
    session_lock_briefly(m->session);
    grant = retained_take(m->retained, hold->key);
    session_unlock_briefly(m->session);
    return grant;
}

/* The attempt of a hold that the table has already, with m->lock held. */
static int acquire(zkl_mutex *m, struct hold *hold, int64_t timeout_ms)
{
    zkl_op *op = start(m, hold, timeout_ms, NULL, NULL);
    zkl_grant *grant = NULL;
    int code;

    if (!op)
        return ZKL_ECLOSED;
    pthread_mutex_unlock(&m->lock);
    code = op_wait(op, &grant);
    pthread_mutex_lock(&m->lock);
    zkl_op_free(op);
    if (code)
        return code;
    hold->grant = grant;
    hold->depth = 1;
    if (!m->freed)
        return 0;
    mutex_end_hold(m, hold, false);
    return error_set(ZKL_ECLOSED, mutex_path(m), "%s: the mutex was freed", mutex_path(m));
}

static struct hold *hold_new(zkl_mutex *m, uint64_t key)
{
    struct hold *hold = g_new0(struct hold, 1);

    hold->key = key;
    g_hash_table_insert(m->holds, &hold->key, hold);
    return hold;
}

/* *ret_waited: m->lock was given up meanwhile, and m has a reference more. */
static int lock_anew(zkl_mutex *m, struct hold *hold, int64_t timeout_ms, bool *ret_waited)
{
    int code = 0;

    hold->grant = take_retained(m, hold);
    hold->depth = hold->grant != NULL;
    if (!hold->grant) {
        g_atomic_int_inc(&m->refs);
        *ret_waited = true;
        code = acquire(m, hold, timeout_ms);
    }
    if (code && hold != m->over)
        mutex_forget_hold(m, hold);
    if (!code && !m->key)
        lock_owner_count(1, mutex_thread_ends);
    return code;
}

/* Locks as the owner who has no hold, or one that is over. */
static int lock_first(zkl_mutex *m, struct hold *hold, uint64_t key, int64_t timeout_ms,
                      zkl_grant **ret)
{
    bool waited = false;
    int code = 0;

    if (callbacks_inside())
        code = error_set(ZKL_EDEADLK, mutex_path(m), "%s: locking would wait inside a callback",
                         mutex_path(m));
    if (!code) {
        m->over = m->over == hold ? NULL : m->over;
        hold = hold ? hold : hold_new(m, key);
        code = lock_anew(m, hold, timeout_ms, &waited);
    }
    if (!code && ret)
        *ret = hold->grant;
    pthread_mutex_unlock(&m->lock);
    if (waited)
        mutex_unref(m);
    return code;
}

int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, zkl_grant **ret)
{
    int code = mutex_check(m);
    uint64_t key;

    if (code)
        return code;
    key = caller_key(m);
    pthread_mutex_lock(&m->lock);
    struct hold *hold = find_hold(m, key);
    if (!hold || hold == m->over)
        return lock_first(m, hold, key, timeout_ms, ret);
    code = reenter(m, hold, ret);
    pthread_mutex_unlock(&m->lock);
    return code;
}

int zkl_mutex_unlock(zkl_mutex *m)
{
    int code = mutex_check(m);
    bool owned;

    if (code)
        return code;
    uint64_t key = caller_key(m);
    pthread_mutex_lock(&m->lock);
    struct hold *hold = find_hold(m, key);
    if (!hold || hold->depth == 0) {
        pthread_mutex_unlock(&m->lock);
        return error_set(ZKL_EPERM, mutex_path(m), "%s: the caller does not hold it",
                         mutex_path(m));
    }
    if (--hold->depth > 0) {
        owned = zkl_grant_state(hold->grant) != ZKL_LOST;
    } else {
        if (!m->key)
            lock_owner_count(-1, mutex_thread_ends);
        owned = mutex_end_hold(m, hold, false);
    }
    pthread_mutex_unlock(&m->lock);
    if (owned)
        return 0;
    return error_set(ZKL_ELOST, mutex_path(m), "%s: the grant was lost", mutex_path(m));
}

int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                         zkl_op **ret)
{
    int code = mutex_check(m);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, mutex_path(m), "zkl_mutex_lock_async: fn is NULL");
    zkl_op *op = start(m, NULL, timeout_ms, fn, data);

    if (!op)
        return ZKL_ECLOSED;
    if (ret)
        *ret = op;
    else
        zkl_op_free(op);
    return 0;
}
