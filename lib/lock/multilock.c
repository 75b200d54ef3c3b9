/* The handle of a lock at several paths. It checks and sorts them, and makes an attempt for each
 * acquisition (multi_attempt.h). multilock_abort() and multilock_waiting() are called with the
 * monitor held. All others are called without it. */
#include <string.h>

#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/path.h"
#include "multi_attempt.h"
#include "op.h"

G_STATIC_ASSERT((int)ZKL_MULTILOCK_PATHS == (int)MULTI_LOCK_PATHS);

struct zkl_multilock {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *name; /* written into the nodes; NULL: one is made for each call */
    zkl_parents parents;
    zkl_peer peer;
    struct op_queue waiters;
    uint32_t count;
    struct multi_path paths[]; /* sorted */
};

static void multilock_unref(zkl_multilock *l)
{
    if (!g_atomic_int_dec_and_test(&l->refs))
        return;
    session_lock(l->session); /* it guards the counts of strings that contenders share */
    op_queue_clear(&l->waiters);
    for (uint32_t i = 0; i < l->count; i++)
        g_ref_string_release(l->paths[i].directory);
    session_unlock(l->session);
    session_unref(l->session);
    g_free(l->name);
    g_free(l);
}

static int multilock_check(const zkl_multilock *l)
{
    if (!l)
        return error_set(ZKL_EINVAL, NULL, "the lock is NULL");
    return session_check(l->session);
}

/* ---- new ---- */

/* Compares full paths byte by byte, as the server has them. All clients enter them in this order,
 * so that none waits for the other. */
static int multilock_compare(const void *a, const void *b, void *unused)
{
    (void)unused;
    return strcmp(((const struct multi_path *)a)->directory,
                  ((const struct multi_path *)b)->directory);
}

static int multilock_check_paths(const zkl_session *s, const char *const *paths, size_t count)
{
    if (!paths || count == 0 || count > ZKL_MULTILOCK_PATHS)
        return error_set(ZKL_EINVAL, NULL, "zkl_multilock_new: %s",
                         paths ? "count must be 1 to 64" : "paths is NULL");
    for (size_t i = 0; i < count; i++) {
        const int code = path_error(s->chroot, paths[i]);
        if (code)
            return code;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(paths[k], paths[i]) == 0)
                return error_set(ZKL_EINVAL, paths[i], "path \"%.100s\" is there twice", paths[i]);
        }
    }
    return 0;
}

int zkl_multilock_new(zkl_multilock **ret, zkl_session *s, const char *const *paths, size_t count,
                      const zkl_mutex_options *options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const char *wrong = handle_take_options(&o, options, HANDLE_HAS_PEERS);
    int code = handle_check_options_taken("zkl_multilock_new", ret, s, wrong);

    if (!code)
        code = multilock_check_paths(s, paths, count);
    if (!code)
        code = session_check_open(s);
    if (code)
        return code;
    zkl_multilock *l = g_malloc0(sizeof(zkl_multilock) + count * sizeof(struct multi_path));
    l->refs = 1;
    l->session = session_ref(s);
    l->name = g_strdup(o.name);
    l->parents = o.parents;
    l->peer = o.peer;
    l->count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++)
        l->paths[i] = (struct multi_path){path_full(s->chroot, paths[i]), i};
    g_qsort_with_data(l->paths, (gint)count, sizeof l->paths[0], multilock_compare, NULL);
    session_lock(s);
    op_queue_init(&l->waiters, s, l->paths[0].directory);
    session_unlock(s);
    *ret = l;
    return 0;
}

void zkl_multilock_free(zkl_multilock *l)
{
    if (!l || fork_is_child(l->session->generation))
        return;
    session_lock(l->session);
    op_queue_abort(&l->waiters, ZKL_ECLOSED, "the lock was freed");
    session_unlock(l->session);
    multilock_unref(l);
}

/* ---- locking ---- */

static void multilock_abort(void *attempt, int code, const char *text)
{
    multi_attempt_abort(attempt, code, text);
}

static const struct contender *multilock_waiting(const void *attempt)
{
    return multi_attempt_waiting(attempt);
}

static const struct op_ops multilock_op_ops = {.abort = multilock_abort,
                                               .waiting = multilock_waiting};

static zkl_op *multilock_start(zkl_multilock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    struct contender_spec spec = {.payload = handle_new_payload(l->name, lock_owner_thread()),
                                  .parents = l->parents,
                                  .rule = l->peer == ZKL_PEER_KAZOO ? RULE_OWN_KAZOO : RULE_LOCK,
                                  .hints = true};

    spec.try_only = timeout_ms <= 0;
    session_lock(l->session);
    zkl_op *op = op_begin(&l->waiters, timeout_ms, fn, data);
    if (op_is_open(op)) {
        struct multi_attempt *a =
            multi_attempt_new(l->session, &spec, l->paths, l->count, op_decide, op);
        op_assign(op, &multilock_op_ops, a);
        multi_attempt_begin(a);
    }
    g_ref_string_release(spec.payload);
    session_unlock(l->session);
    return op;
}

int zkl_multilock_lock(zkl_multilock *l, int64_t timeout_ms, zkl_grant **ret)
{
    int code = multilock_check(l);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_multilock_lock: ret is NULL");
    if (callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_multilock_lock: called in a callback");
    g_atomic_int_inc(&l->refs);
    code = op_return_grant(multilock_start(l, timeout_ms, NULL, NULL), ret);
    multilock_unref(l);
    return code;
}

int zkl_multilock_lock_async(zkl_multilock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                             zkl_op **ret)
{
    int code = multilock_check(l);

    if (code)
        return code;
    if (!fn && !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_multilock_lock_async: fn and ret are NULL");
    return op_return_op(multilock_start(l, timeout_ms, fn, data), ret);
}
