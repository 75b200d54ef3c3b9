/* Locking and unlocking: levels, owners, and who waits for whom. */
#include <limits.h>

#include "canceler.h"
#include "grant.h"
#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "op.h"

/* What is asked for, and what ends the wait for it beside the lock itself. */
struct wish {
    bool shared;
    int64_t timeout_ms;
    zkl_canceler *canceler; /* NULL: nobody */
};

static uint64_t caller_key(const struct handle *h)
{
    return h->key ? h->key(h->key_data) : lock_owner_thread();
}

static struct hold *find_hold(struct handle *h, uint64_t key)
{
    if (!h->recent || h->recent->key != key)
        h->recent = g_hash_table_lookup(h->holds, &key);
    return h->recent;
}

/* ---- locking ---- */

/* The owner is known here: one level deeper, if it may; the grant remains what it is. A reader that
 * would wait to write would wait for every other one that does the same. */
static int reenter(const struct handle *h, struct hold *hold, bool shared, zkl_grant **ret)
{
    const char *path = handle_path(h);

    if (hold->depth == 0)
        return error_set(ZKL_EDEADLK, path, "%s: this owner is already acquiring it", path);
    if (zkl_grant_state(hold->grant) >= ZKL_LOST)
        return error_set(ZKL_ELOST, path,
                         "%s: the grant was lost or released, and is still to be unlocked", path);
    if (!shared && hold->shared)
        return error_set(ZKL_EDEADLK, path, "%s: this owner holds it as a reader", path);
    if (hold->depth == INT_MAX)
        return error_set(ZKL_EOVERFLOW, path, "%s: this owner holds %d levels", path, hold->depth);
    hold->depth++;
    if (ret)
        *ret = hold->grant;
    return 0;
}

static zkl_op *start(struct handle *h, const struct hold *hold, bool shared, int64_t timeout_ms,
                     zkl_acquired_fn fn, void *data)
{
    session_lock(h->session);
    zkl_op *op = h->kind->start(h, hold, shared, timeout_ms, fn, data);
    session_unlock(h->session);
    return op;
}

static void set_hold(struct hold *hold, zkl_grant *grant, bool shared)
{
    hold->grant = grant;
    hold->depth = grant != NULL;
    hold->shared = shared;
}

/* The attempt of a hold that the table has already, with h->lock held. */
static int acquire(struct handle *h, struct hold *hold, const struct wish *wish)
{
    zkl_op *op = start(h, hold, wish->shared, wish->timeout_ms, NULL, NULL);
    zkl_grant *grant = NULL;
    int code;

    if (!op)
        return ZKL_ECLOSED;
    pthread_mutex_unlock(&h->lock);
    code = canceler_wait(wish->canceler, op, &grant);
    pthread_mutex_lock(&h->lock);
    zkl_op_free(op);
    if (code)
        return code;
    set_hold(hold, grant, wish->shared);
    if (!h->freed)
        return 0;
    handle_end_hold(h, hold, false);
    return error_set(ZKL_ECLOSED, handle_path(h), "%s: the %s was freed", handle_path(h),
                     h->kind->what);
}

static struct hold *hold_new(struct handle *h, uint64_t key)
{
    struct hold *hold = g_new0(struct hold, 1);

    hold->key = key;
    g_hash_table_insert(h->holds, &hold->key, hold);
    return hold;
}

/* *ret_waited: h->lock was given up meanwhile, and h has a reference more. */
static int lock_anew(struct handle *h, struct hold *hold, const struct wish *wish, bool *ret_waited)
{
    int code = 0;

    set_hold(hold, h->kind->take ? h->kind->take(h, hold) : NULL, wish->shared);
    if (!hold->grant) {
        g_atomic_int_inc(&h->refs);
        *ret_waited = true;
        code = acquire(h, hold, wish);
    }
    if (code && hold != h->over)
        handle_forget_hold(h, hold);
    if (!code && !h->key)
        lock_owner_count(1, handle_thread_ends);
    return code;
}

static int check_wait(const struct handle *h, const struct wish *wish)
{
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, handle_path(h), "%s: locking would wait inside a callback",
                         handle_path(h));
    return wish->canceler ? canceler_check(wish->canceler, handle_path(h)) : 0;
}

/* Locks as the owner who has no hold, or one that is over. */
static int lock_first(struct handle *h, struct hold *hold, uint64_t key, const struct wish *wish,
                      zkl_grant **ret)
{
    bool waited = false;
    int code = check_wait(h, wish);

    if (!code) {
        h->over = h->over == hold ? NULL : h->over;
        hold = hold ? hold : hold_new(h, key);
        code = lock_anew(h, hold, wish, &waited);
    }
    if (!code && ret)
        *ret = hold->grant;
    pthread_mutex_unlock(&h->lock);
    if (waited)
        handle_unref(h);
    return code;
}

int handle_lock(struct handle *h, bool shared, int64_t timeout_ms, zkl_canceler *canceler,
                zkl_grant **ret)
{
    const struct wish wish = {shared, timeout_ms, canceler};
    const uint64_t key = caller_key(h);
    int code;

    pthread_mutex_lock(&h->lock);
    struct hold *hold = find_hold(h, key);
    if (!hold || hold == h->over)
        return lock_first(h, hold, key, &wish, ret);
    code = reenter(h, hold, shared, ret);
    pthread_mutex_unlock(&h->lock);
    return code;
}

/* ---- levels ---- */

int handle_depth(struct handle *h)
{
    const uint64_t key = caller_key(h);

    pthread_mutex_lock(&h->lock);
    const struct hold *hold = find_hold(h, key);
    const int depth = hold ? hold->depth : 0;
    pthread_mutex_unlock(&h->lock);
    return depth;
}

/* ---- unlocking ---- */

/* With h->lock held. False: it was lost before. */
static bool undo_level(struct handle *h, struct hold *hold)
{
    if (--hold->depth == 0) {
        if (!h->key)
            lock_owner_count(-1, handle_thread_ends);
        return handle_end_hold(h, hold, false);
    }
    return zkl_grant_state(hold->grant) != ZKL_LOST;
}

int handle_unlock(struct handle *h)
{
    const uint64_t key = caller_key(h);
    bool owned;

    pthread_mutex_lock(&h->lock);
    struct hold *hold = find_hold(h, key);
    if (!hold || hold->depth == 0) {
        pthread_mutex_unlock(&h->lock);
        return error_set(ZKL_EPERM, handle_path(h), "%s: the caller does not hold it",
                         handle_path(h));
    }
    owned = undo_level(h, hold);
    pthread_mutex_unlock(&h->lock);
    if (owned)
        return 0;
    return error_set(ZKL_ELOST, handle_path(h), "%s: the grant was lost", handle_path(h));
}

int handle_lock_async(struct handle *h, const char *what, bool shared, int64_t timeout_ms,
                      zkl_acquired_fn fn, void *data, zkl_op **ret)
{
    if (!fn)
        return error_set(ZKL_EINVAL, handle_path(h), "%s: fn is NULL", what);
    return op_end_async(start(h, NULL, shared, timeout_ms, fn, data), ret);
}
