/* Makes and frees handles, locks and unlocks them. An owner's levels are counted here. A thread
 * that ends gives back what it holds. In a forked child the parent's handles are nobody's.
 *
 * Functions that get a hold are called with handle.lock held. They take the monitor where they need
 * it. */
#include "handle.h"

#include <limits.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"

enum { RETAIN_MAX_MS = 86400000 };

/* All handles, for threads that end while they hold locks. The lock is taken before all others. */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue handles = G_QUEUE_INIT;

/* Returns the handle's path as the user sees it, without the chroot. */
static const char *handle_path(const struct handle *h)
{
    return session_path(h->session, h->path);
}

/* Gives up a reference. The last one frees the handle, for which this takes the monitor. */
static void handle_unref(struct handle *h)
{
    if (!g_atomic_int_dec_and_test(&h->refs))
        return;
    session_lock(h->session); /* it guards the counts of strings that contenders share */
    op_queue_clear(&h->waiters);
    if (h->kind->end)
        h->kind->end(h);
    g_ref_string_release(h->path);
    g_clear_pointer(&h->payload, g_ref_string_release);
    session_unlock(h->session);
    g_hash_table_unref(h->holds);
    pthread_mutex_destroy(&h->lock);
    session_unref(h->session);
    g_free(h->name);
    g_free(h);
}

int handle_check(const struct handle *h, const char *what)
{
    if (!h)
        return error_set(ZKL_EINVAL, NULL, "the %s is NULL", what);
    return session_check(h->session);
}

/* ---- forks: in the child the parent's handles are nobody's ---- */

static void handle_before_fork(void)
{
    pthread_mutex_lock(&handles_lock);
}

static void handle_after_fork(void)
{
    pthread_mutex_unlock(&handles_lock);
}

static void handle_after_fork_in_child(void)
{
    g_queue_init(&handles);
    pthread_mutex_unlock(&handles_lock);
}

static void handle_watch_forks(void)
{
    fork_handle(handle_before_fork, handle_after_fork, handle_after_fork_in_child);
}

/* ---- new ---- */

const char *handle_take_options(zkl_mutex_options *o, const zkl_mutex_options *given, unsigned has)
{
    const char *wrong = options_take(o, offsetof(zkl_mutex_options, reserved), given);

    if (wrong)
        return wrong;
    if (o->key && !(has & HANDLE_HAS_KEYS))
        return "key is set, but such a lock belongs to no owner";
    if ((unsigned)o->peer > ZKL_PEER_KAZOO)
        return "peer is none of zkl_peer";
    if (o->peer != ZKL_PEER_CURATOR && !(has & HANDLE_HAS_PEERS))
        return "peer is not for such a lock";
    if (o->retain_ms < 0 || o->retain_ms > RETAIN_MAX_MS)
        return "retain_ms must be 0 to 86400000";
    if (o->fence64 & ~1)
        return "fence64 must be 0 or 1";
    if ((o->retain_ms || o->fence64) && !(has & HANDLE_HAS_TURNS))
        return "retain_ms and fence64 are for a mutex";
    return options_check(o->name, o->parents);
}

int handle_check_options_taken(const char *what, const void *ret, const zkl_session *s,
                               const char *wrong)
{
    int code = session_check(s);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "%s: ret is NULL", what);
    return wrong ? error_set(ZKL_EINVAL, "options", "%s", wrong) : 0;
}

int handle_check_new(const char *what, const void *ret, zkl_session *s, const char *path,
                     const char *wrong)
{
    int code = handle_check_options_taken(what, ret, s, wrong);

    if (!code)
        code = path_error(s->chroot, path);
    return code ? code : session_check_open(s);
}

void *handle_new(const struct handle_kind *kind, size_t size, zkl_session *s, const char *path,
                 const zkl_mutex_options *o)
{
    struct handle *h = g_malloc0(size);

    h->kind = kind;
    h->refs = 1;
    h->session = session_ref(s);
    h->path = path_full(s->chroot, path);
    h->name = g_strdup(o->name);
    h->parents = o->parents;
    h->key = o->key;
    h->key_data = o->key_data;
    h->holds = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    pthread_mutex_init(&h->lock, NULL);
    h->link.data = h;
    session_lock(s);
    op_queue_init(&h->waiters, s, h->path);
    session_unlock(s);
    return h;
}

void handle_publish(struct handle *h)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, handle_watch_forks);
    pthread_mutex_lock(&handles_lock);
    g_queue_push_tail_link(&handles, &h->link);
    pthread_mutex_unlock(&handles_lock);
}

/* ---- names ---- */

char *handle_new_payload(const char *name, uint64_t thread)
{
    if (name)
        return g_ref_string_new(name);
    char *text = options_default_name(thread);
    char *payload = g_ref_string_new(text);
    g_free(text);
    return payload;
}

/* Keeps the text until another thread asks, so the contenders of one thread share one string. */
char *handle_payload(struct handle *h)
{
    uint64_t thread = h->name ? 0 : lock_owner_thread();

    if (h->payload && h->payload_for == thread)
        return h->payload;
    g_clear_pointer(&h->payload, g_ref_string_release);
    h->payload = handle_new_payload(h->name, thread);
    h->payload_for = thread;
    return h->payload;
}

struct contender_spec handle_spec(struct handle *h)
{
    return (struct contender_spec){
        .directory = h->path, .payload = handle_payload(h), .parents = h->parents};
}

/* ---- giving back ---- */

/* Gives the grant back, and our reference to it. last: its owner will not lock again. Returns false
 * if the grant was lost before. */
static bool handle_give_back(struct handle *h, zkl_grant *grant, bool last)
{
    session_lock(h->session);
    bool owned = grant_give_back(grant, last);
    session_unlock(h->session);
    grant_unref(grant);
    return owned;
}

/* Takes the hold out of the table and frees it. */
static void handle_forget_hold(struct handle *h, struct hold *hold)
{
    h->recent = NULL;
    g_hash_table_remove(h->holds, &hold->key);
}

/* Ends the hold, whatever its depth. The hold stays in the table as .over, because the same owner
 * may lock again soon; the hold that was .over before is freed. last: the owner will not lock
 * again. Returns false if the grant was lost before. */
static bool handle_end_hold(struct handle *h, struct hold *hold, bool last)
{
    zkl_grant *grant = g_steal_pointer(&hold->grant);

    hold->depth = 0;
    if (h->over)
        handle_forget_hold(h, h->over);
    h->over = hold;
    return handle_give_back(h, grant, last);
}

void handle_thread_ends(uint64_t owner)
{
    pthread_mutex_lock(&handles_lock);
    for (GList *l = handles.head; l; l = l->next) {
        struct handle *h = l->data;
        if (h->key)
            continue;
        pthread_mutex_lock(&h->lock);
        struct hold *hold = g_hash_table_lookup(h->holds, &owner);
        if (hold && hold->depth > 0) {
            log_line(h->session->log, ZKL_LOG_WARN, "thread-ended", handle_path(h),
                     "%s: released, because the thread that held it ended", h->path);
            handle_end_hold(h, hold, true);
        }
        pthread_mutex_unlock(&h->lock);
    }
    pthread_mutex_unlock(&handles_lock);
}

/* Gives up the reference if .key does not return: its thread ends, or it throws an exception. */
static void handle_drop(void *handle)
{
    handle_unref(handle);
}

/* Returns the key of the calling owner. If .key is set, that function of the user's runs here, and
 * any thread may free the handle during the call. So the handle then gets a reference, which
 * handle_leave() gives up. */
static uint64_t handle_caller_key(struct handle *h)
{
    uint64_t key;

    if (!h->key)
        return lock_owner_thread();
    g_atomic_int_inc(&h->refs);
    pthread_cleanup_push(handle_drop, h);
    key = h->key(h->key_data);
    pthread_cleanup_pop(0);
    return key;
}

/* Ends what handle_caller_key() and the lock of h->lock began: gives up the lock, and the reference
 * if there is one. */
static void handle_leave(struct handle *h)
{
    const bool counted = h->key != NULL;

    pthread_mutex_unlock(&h->lock);
    if (counted)
        handle_unref(h);
}

/* Returns the hold of the owner with that key; NULL: there is none. The caller holds h->lock. */
static struct hold *handle_find_hold(struct handle *h, uint64_t key)
{
    if (!h->recent || h->recent->key != key)
        h->recent = g_hash_table_lookup(h->holds, &key);
    return h->recent;
}

/* ---- locking ---- */

/* Locks once more for an owner that has a hold: the hold gets one level deeper, and the grant stays
 * the same. A reader may not wait to write, because two readers that do so would wait for each
 * other. Returns 0, or the thread's last error. */
static int handle_reenter(const struct handle *h, struct hold *hold, bool shared,
                          const zkl_grant **ret)
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

/* Starts the operation of a call; hold NULL: the call is asynchronous. */
static zkl_op *handle_start(struct handle *h, const struct hold *hold, bool shared,
                            int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    session_lock(h->session);
    zkl_op *op = h->kind->start(h, hold, shared, timeout_ms, fn, data);
    session_unlock(h->session);
    return op;
}

/* Sets what the hold has; grant NULL: nothing yet. */
static void handle_set_hold(struct hold *hold, zkl_grant *grant, bool shared)
{
    hold->grant = grant;
    hold->depth = grant != NULL;
    hold->shared = shared;
}

static int handle_deny_freed(const struct handle *h)
{
    return error_set(ZKL_ECLOSED, handle_path(h), "%s: the %s was freed", handle_path(h),
                     h->kind->what);
}

/* Acquires the lock for a hold that is in the table, and waits for it without h->lock. Returns 0,
 * or the thread's last error. */
static int handle_acquire(struct handle *h, struct hold *hold, bool shared, int64_t timeout_ms)
{
    zkl_op *op = handle_start(h, hold, shared, timeout_ms, NULL, NULL);
    zkl_grant *grant = NULL;
    int code;

    if (!op)
        return ZKL_ECLOSED;
    pthread_mutex_unlock(&h->lock);
    session_lock(h->session);
    code = op_wait(op, &grant);
    session_unlock(h->session);
    op_unref(op);
    pthread_mutex_lock(&h->lock);
    if (code)
        return code;
    handle_set_hold(hold, grant, shared);
    if (!h->freed)
        return 0;
    handle_end_hold(h, hold, false);
    return handle_deny_freed(h);
}

/* Locks for an owner that has no hold (NULL), or whose hold is over. Takes a grant that is free at
 * once (handle_kind.take), or else waits for an operation. The caller has locked h->lock; this
 * function calls handle_leave(). Returns 0, or the thread's last error. */
static int handle_lock_first(struct handle *h, struct hold *hold, uint64_t key, bool shared,
                             int64_t timeout_ms, const zkl_grant **ret)
{
    int code = 0;

    h->over = h->over == hold ? NULL : h->over;
    if (!hold) {
        hold = g_new0(struct hold, 1);
        hold->key = key;
        g_hash_table_insert(h->holds, &hold->key, hold);
    }
    handle_set_hold(hold, h->kind->take ? h->kind->take(h, hold) : NULL, shared);
    const bool waits = !hold->grant;
    if (waits) {
        g_atomic_int_inc(&h->refs); /* without h->lock, another thread may free the handle */
        code = handle_acquire(h, hold, shared, timeout_ms);
    }
    if (code && hold != h->over)
        handle_forget_hold(h, hold);
    if (!code && !h->key)
        lock_owner_count(1, handle_thread_ends);
    if (!code && ret)
        *ret = hold->grant;
    handle_leave(h);
    if (waits)
        handle_unref(h);
    return code;
}

int handle_lock(struct handle *h, bool shared, int64_t timeout_ms, const zkl_grant **ret)
{
    const uint64_t key = handle_caller_key(h);
    int code;

    pthread_mutex_lock(&h->lock);
    struct hold *hold = handle_find_hold(h, key);
    if (h->freed)
        code = handle_deny_freed(h);
    else if (hold && hold != h->over)
        code = handle_reenter(h, hold, shared, ret);
    else if (callbacks_inside())
        code = error_set(ZKL_EDEADLK, handle_path(h), "%s: locking would wait inside a callback",
                         handle_path(h));
    else
        return handle_lock_first(h, hold, key, shared, timeout_ms, ret);
    handle_leave(h);
    return code;
}

/* ---- levels ---- */

int handle_depth(struct handle *h)
{
    const uint64_t key = handle_caller_key(h);

    pthread_mutex_lock(&h->lock);
    const struct hold *hold = handle_find_hold(h, key);
    const int depth = hold ? hold->depth : 0;
    handle_leave(h);
    return depth;
}

/* ---- unlocking ---- */

int handle_unlock(struct handle *h)
{
    const uint64_t key = handle_caller_key(h);
    bool owned = true; /* the grant was not lost */
    int code = 0;

    pthread_mutex_lock(&h->lock);
    struct hold *hold = handle_find_hold(h, key);
    if (!hold || hold->depth == 0) {
        code =
            error_set(ZKL_EPERM, handle_path(h), "%s: the caller does not hold it", handle_path(h));
    } else if (--hold->depth > 0) {
        owned = zkl_grant_state(hold->grant) != ZKL_LOST;
    } else {
        if (!h->key)
            lock_owner_count(-1, handle_thread_ends);
        owned = handle_end_hold(h, hold, false);
    }
    if (!owned)
        code = error_set(ZKL_ELOST, handle_path(h), "%s: the grant was lost", handle_path(h));
    handle_leave(h);
    return code;
}

int handle_lock_async(struct handle *h, const char *what, bool shared, int64_t timeout_ms,
                      zkl_acquired_fn fn, void *data, zkl_op **ret)
{
    if (!fn && !ret)
        return error_set(ZKL_EINVAL, handle_path(h), "%s: fn and ret are NULL", what);
    return op_return_op(handle_start(h, NULL, shared, timeout_ms, fn, data), ret);
}

/* ---- the end ---- */

/* Gives back what a hold has. Returns TRUE, so that the table drops the hold, unless it is over or
 * still acquiring. */
static gboolean handle_end_if_held(void *key, void *value, void *handle)
{
    struct hold *hold = value;

    (void)key;
    if (hold->depth == 0)
        return FALSE;
    handle_give_back(handle, hold->grant, false);
    return TRUE;
}

void handle_free(struct handle *h)
{
    char *why;

    if (!h || fork_is_child(h->session->generation))
        return;
    pthread_mutex_lock(&handles_lock);
    g_queue_unlink(&handles, &h->link);
    pthread_mutex_unlock(&handles_lock);
    pthread_mutex_lock(&h->lock);
    h->freed = true;
    /* First end those that wait: otherwise they would get what is given back below. */
    why = g_strdup_printf("the %s was freed", h->kind->what);
    session_lock(h->session);
    op_queue_abort(&h->waiters, ZKL_ECLOSED, why);
    session_unlock(h->session);
    g_free(why);
    h->recent = NULL; /* the table may drop it */
    g_hash_table_foreach_remove(h->holds, handle_end_if_held, h);
    if (h->kind->close) {
        session_lock(h->session);
        h->kind->close(h);
        session_unlock(h->session);
    }
    pthread_mutex_unlock(&h->lock);
    handle_unref(h);
}
