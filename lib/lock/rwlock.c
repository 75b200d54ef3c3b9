/* A read-write lock: a handle (handle.h) whose contenders read or write. rwlock_start() is called
 * with the monitor held. All others are called without it. */
#include "handle.h"
#include "op.h"

static const char what[] = "read-write lock";

struct zkl_rwlock {
    struct handle handle; /* the first member */
};

static zkl_op *rwlock_start(struct handle *h, const struct hold *hold, bool shared,
                            int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    struct contender_spec spec = handle_spec(h);

    (void)hold;
    spec.rule = shared ? RULE_READ : RULE_WRITE;
    return op_start(&h->waiters, &spec, timeout_ms, fn, data);
}

static const struct handle_kind kind = {.what = what, .start = rwlock_start};

int zkl_rwlock_new(zkl_rwlock **ret, zkl_session *s, const char *path,
                   const zkl_mutex_options *options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const char *wrong = handle_take_options(&o, options, HANDLE_HAS_KEYS);
    int code = handle_check_new("zkl_rwlock_new", ret, s, path, wrong);

    if (code)
        return code;
    zkl_rwlock *l = handle_new(&kind, sizeof *l, s, path, &o);
    handle_publish(&l->handle);
    *ret = l;
    return 0;
}

static struct handle *rwlock_handle_of(zkl_rwlock *l)
{
    return l ? &l->handle : NULL;
}

void zkl_rwlock_free(zkl_rwlock *l)
{
    handle_free(rwlock_handle_of(l));
}

/* Takes the lock: to read if shared, and else to write. */
static int rwlock_lock_as(zkl_rwlock *l, bool shared, int64_t timeout_ms, const zkl_grant **ret)
{
    int code = handle_check(rwlock_handle_of(l), what);

    return code ? code : handle_lock(&l->handle, shared, timeout_ms, ret);
}

int zkl_rwlock_lock(zkl_rwlock *l, int64_t timeout_ms, const zkl_grant **ret)
{
    return rwlock_lock_as(l, false, timeout_ms, ret);
}

int zkl_rwlock_lock_shared(zkl_rwlock *l, int64_t timeout_ms, const zkl_grant **ret)
{
    return rwlock_lock_as(l, true, timeout_ms, ret);
}

int zkl_rwlock_depth(zkl_rwlock *l)
{
    int code = handle_check(rwlock_handle_of(l), what);

    return code ? code : handle_depth(&l->handle);
}

int zkl_rwlock_unlock(zkl_rwlock *l)
{
    int code = handle_check(rwlock_handle_of(l), what);

    return code ? code : handle_unlock(&l->handle);
}

int zkl_rwlock_lock_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                          zkl_op **ret)
{
    int code = handle_check(rwlock_handle_of(l), what);

    return code ? code
                : handle_lock_async(&l->handle, "zkl_rwlock_lock_async", false, timeout_ms, fn,
                                    data, ret);
}

int zkl_rwlock_lock_shared_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                 zkl_op **ret)
{
    int code = handle_check(rwlock_handle_of(l), what);

    return code ? code
                : handle_lock_async(&l->handle, "zkl_rwlock_lock_shared_async", true, timeout_ms,
                                    fn, data, ret);
}
