#include <string.h>
#include <unistd.h>

#include "grant.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "op.h"
#include "release.h"
#include "retained.h"
#include "turn.h"

enum { NAME_MAX_BYTES = 1024, RETAIN_MAX_MS = 86400000 };

struct zkl_mutex {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path; /* GRefString, with chroot */
    char *name; /* NULL: made for each contender */
    zkl_parents parents;
    zkl_peer peer;
    bool strict;
    zkl_key_fn key;
    void *key_data;
    pthread_mutex_t lock; /* before the monitor */
    bool freed;
    GHashTable *holds; /* key -> struct hold */
    struct hold *over; /* the hold that ended last, left in the table; NULL: none */
    /* guarded by the monitor: */
    struct retained *retained; /* NULL: nothing is retained */
    uint64_t calls;            /* asynchronous ones, of which each is an owner */
    GQueue waiters;            /* of zkl_op: acquiring */
    char *payload;             /* GRefString: of the thread that asked last; NULL before */
    uint64_t payload_for;      /* that thread */
    GList link;                /* in the list of all mutexes */
};

/* One owner's lock, from the call on. */
struct hold {
    uint64_t key;
    unsigned depth;   /* 0: acquiring, or over */
    zkl_grant *grant; /* ours, lent to the caller */
};

/* For threads that end while they own. Before every other lock. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue all = G_QUEUE_INIT;

static const char *own_path(const zkl_mutex *m)
{
    return session_path(m->session, m->path);
}

static void mutex_unref(zkl_mutex *m)
{
    if (!g_atomic_int_dec_and_test(&m->refs))
        return;
    session_lock(m->session);
    if (m->retained)
        retained_unref(m->retained);
    session_unlock(m->session);
    g_hash_table_unref(m->holds);
    pthread_mutex_destroy(&m->lock);
    session_unref(m->session);
    g_ref_string_release(m->path);
    g_free(m->name);
    if (m->payload)
        g_ref_string_release(m->payload);
    g_free(m);
}

static int check(const zkl_mutex *m)
{
    if (!m)
        return error_set(ZKL_EINVAL, NULL, "the mutex is NULL");
    return session_check(m->session);
}

/* ---- forks: in the child the parent's handles are nobody's ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
}

static void behind_fork(void)
{
    pthread_mutex_unlock(&all_lock);
}

static void behind_fork_in_child(void)
{
    g_queue_init(&all);
    pthread_mutex_unlock(&all_lock);
}

static void watch_forks(void)
{
    fork_handle(before_fork, behind_fork, behind_fork_in_child);
}

/* ---- new ---- */

static const char *check_options(const zkl_mutex_options *o)
{
    if (o->name && strnlen(o->name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
        return "name is longer than 1024 bytes";
    if (o->name && !g_utf8_validate(o->name, -1, NULL))
        return "name is not UTF-8";
    if (o->parents != ZKL_PARENTS_CONTAINER && o->parents != ZKL_PARENTS_PERSISTENT)
        return "parents is none of zkl_parents";
    if ((unsigned)o->peer > ZKL_PEER_APACHE)
        return "peer is none of zkl_peer";
    if (o->strict & ~1)
        return "strict must be 0 or 1";
    if (o->retain_ms < 0 || o->retain_ms > RETAIN_MAX_MS || o->slice_ms < 0 ||
        o->slice_ms > RETAIN_MAX_MS)
        return "retain_ms and slice_ms must be 0 to 86400000";
    if (o->local_turns < 0)
        return "local_turns must not be negative";
    if (o->fence64 & ~1)
        return "fence64 must be 0 or 1";
    return NULL;
}

static void start_retaining(zkl_mutex *m, const zkl_mutex_options *o);

static zkl_mutex *mutex_new(zkl_session *s, const char *path, const zkl_mutex_options *o)
{
    zkl_mutex *m = g_new0(zkl_mutex, 1);

    m->refs = 1;
    m->session = session_ref(s);
    m->path = path_full(s->chroot, path);
    m->name = g_strdup(o->name);
    m->parents = o->parents;
    m->peer = o->peer;
    m->strict = o->strict;
    m->key = o->key;
    m->key_data = o->key_data;
    m->holds = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    pthread_mutex_init(&m->lock, NULL);
    m->link.data = m;
    if (o->retain_ms > 0)
        start_retaining(m, o);
    pthread_mutex_lock(&all_lock);
    g_queue_push_tail_link(&all, &m->link);
    pthread_mutex_unlock(&all_lock);
    return m;
}

static bool is_closed(zkl_session *s)
{
    session_lock(s);
    const bool closing = s->closing;
    session_unlock(s);
    return closing;
}

int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                  const zkl_mutex_options *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    int code = session_check(s);
    const char *wrong;

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_mutex_new: ret is NULL");
    if ((wrong = options_take(&o, sizeof o, options)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((wrong = path_check(path)))
        return error_set(ZKL_EINVAL, path, "path \"%.100s\": %s", path ? path : "", wrong);
    if ((wrong = check_options(&o)))
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if (is_closed(s))
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    pthread_once(&once, watch_forks);
    *ret = mutex_new(s, path, &o);
    return 0;
}

/* ---- who ---- */

static uint64_t caller_key(const zkl_mutex *m)
{
    return m->key ? m->key(m->key_data) : lock_owner_thread();
}

/* Its contenders share it. */
static char *payload(zkl_mutex *m)
{
    uint64_t thread = m->name ? 0 : lock_owner_thread();
    char host[256] = "", *text;

    if (m->payload && m->payload_for == thread)
        return m->payload;
    gethostname(host, sizeof host - 1);
    text = m->name ? g_strdup(m->name)
                   : g_strdup_printf("%s pid %d thread %" G_GUINT64_FORMAT, host, (int)getpid(),
                                     thread);
    g_clear_pointer(&m->payload, g_ref_string_release);
    m->payload = g_ref_string_new(text);
    m->payload_for = thread;
    g_free(text);
    return m->payload;
}

static struct contender_spec make_spec(zkl_mutex *m)
{
    return (struct contender_spec){.directory = m->path,
                                   .payload = payload(m),
                                   .parents = m->parents,
                                   .kind = m->peer == ZKL_PEER_APACHE ? CHILD_APACHE : CHILD_LOCK,
                                   .style = m->peer == ZKL_PEER_KAZOO ? STYLE_KAZOO : STYLE_GUARDED,
                                   .strict = m->strict,
                                   .hints = true};
}

static void start_retaining(zkl_mutex *m, const zkl_mutex_options *o)
{
    const struct retain config = {.retain_ns = o->retain_ms * CLOCK_MS,
                                  .slice_ns = o->slice_ms * CLOCK_MS,
                                  .local_turns = (uint32_t)o->local_turns,
                                  .fence64 = o->fence64};

    session_lock(m->session);
    const struct contender_spec spec = make_spec(m);
    m->retained = retained_new(m->session, &spec, &config);
    session_unlock(m->session);
}

/* ---- giving back ---- */

static void release_owned_by(uint64_t owner);

/* last: what is retained ends with it. False: it was lost before. */
static bool give_back(zkl_mutex *m, zkl_grant *grant, bool last)
{
    session_lock(m->session);
    bool owned = last && turn_retained(grant) ? retained_give_back(m->retained, grant, true)
                                              : grant_give_back(grant);
    session_unlock(m->session);
    grant_unref(grant);
    return owned;
}

static void forget_over(zkl_mutex *m)
{
    if (m->over)
        g_hash_table_remove(m->holds, &m->over->key);
    m->over = NULL;
}

/* Ends the hold whatever its depth. The same owner may lock again soon, and finds it. */
static bool end_hold(zkl_mutex *m, struct hold *hold, bool last)
{
    zkl_grant *grant = hold->grant;

    hold->depth = 0;
    hold->grant = NULL;
    forget_over(m);
    m->over = hold;
    return give_back(m, grant, last);
}

/* The owner's thread is ending: nobody else could ever unlock. */
static void release_owned_by(uint64_t owner)
{
    pthread_mutex_lock(&all_lock);
    for (GList *l = all.head; l; l = l->next) {
        zkl_mutex *m = l->data;
        if (m->key || fork_is_child(m->session->generation))
            continue;
        pthread_mutex_lock(&m->lock);
        struct hold *hold = g_hash_table_lookup(m->holds, &owner);
        if (hold && hold->depth > 0) {
            log_line(m->session->log, ZKL_LOG_WARN,
                     "%s: released, because the thread that held it ended", m->path);
            end_hold(m, hold, true);
        }
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_unlock(&all_lock);
}

static gboolean end_if_held(void *key, void *value, void *mutex)
{
    struct hold *hold = value;
    zkl_mutex *m = mutex;

    (void)key;
    if (hold->depth == 0)
        return FALSE;
    give_back(m, hold->grant, false);
    return TRUE;
}

static void stop_retaining(zkl_mutex *m)
{
    session_lock(m->session);
    if (m->retained)
        retained_close(m->retained);
    session_unlock(m->session);
}

void zkl_mutex_free(zkl_mutex *m)
{
    if (!m || fork_is_child(m->session->generation))
        return;
    pthread_mutex_lock(&all_lock);
    g_queue_unlink(&all, &m->link);
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&m->lock);
    m->freed = true;
    g_hash_table_foreach_remove(m->holds, end_if_held, m);
    op_abort_all(m->session, &m->waiters, ZKL_ECLOSED, "the mutex was freed");
    stop_retaining(m);
    pthread_mutex_unlock(&m->lock);
    mutex_unref(m);
}

/* ---- lock ---- */

/* The owner is known here: one level deeper, if it may. */
static int reenter(const zkl_mutex *m, struct hold *hold, zkl_grant **ret)
{
    if (hold->depth == 0)
        return error_set(ZKL_EDEADLK, own_path(m), "%s: this owner is already acquiring it",
                         own_path(m));
    if (zkl_grant_state(hold->grant) >= ZKL_LOST)
        return error_set(ZKL_ELOST, own_path(m),
                         "%s: the grant was lost or released, and is still to be unlocked",
                         own_path(m));
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
        struct turn_caller caller = {.payload = payload(m),
                                     .owner = hold ? hold->key : UINT64_MAX - m->calls++};
        op = op_start_turn(m->session, m->retained, &caller, timeout_ms, fn, data, &m->waiters);
    } else {
        struct contender_spec spec = make_spec(m);
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
    session_lock(m->session);
    grant = retained_take(m->retained, hold->key);
    session_unlock(m->session);
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
    end_hold(m, hold, false);
    return error_set(ZKL_ECLOSED, own_path(m), "%s: the mutex was freed", own_path(m));
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
        g_hash_table_remove(m->holds, &hold->key);
    if (!code && !m->key)
        lock_owner_count(1, release_owned_by);
    return code;
}

/* Locks as the owner who has no hold, or one that is over. */
static int lock_first(zkl_mutex *m, struct hold *hold, uint64_t key, int64_t timeout_ms,
                      zkl_grant **ret)
{
    bool waited = false;
    int code = 0;

    if (callbacks_inside())
        code = error_set(ZKL_EDEADLK, own_path(m), "%s: locking would wait inside a callback",
                         own_path(m));
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
    int code = check(m);
    uint64_t key;

    if (code)
        return code;
    key = caller_key(m);
    pthread_mutex_lock(&m->lock);
    struct hold *hold = g_hash_table_lookup(m->holds, &key);
    if (!hold || hold == m->over)
        return lock_first(m, hold, key, timeout_ms, ret);
    code = reenter(m, hold, ret);
    pthread_mutex_unlock(&m->lock);
    return code;
}

int zkl_mutex_unlock(zkl_mutex *m)
{
    int code = check(m);
    bool owned;

    if (code)
        return code;
    uint64_t key = caller_key(m);
    pthread_mutex_lock(&m->lock);
    struct hold *hold = g_hash_table_lookup(m->holds, &key);
    if (!hold || hold->depth == 0) {
        pthread_mutex_unlock(&m->lock);
        return error_set(ZKL_EPERM, own_path(m), "%s: the caller does not hold it", own_path(m));
    }
    if (--hold->depth > 0) {
        owned = zkl_grant_state(hold->grant) != ZKL_LOST;
    } else {
        if (!m->key)
            lock_owner_count(-1, release_owned_by);
        owned = end_hold(m, hold, false);
    }
    pthread_mutex_unlock(&m->lock);
    if (owned)
        return 0;
    return error_set(ZKL_ELOST, own_path(m), "%s: the grant was lost", own_path(m));
}

int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                         zkl_op **ret)
{
    int code = check(m);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, own_path(m), "zkl_mutex_lock_async: fn is NULL");
    zkl_op *op = start(m, NULL, timeout_ms, fn, data);

    if (!op)
        return ZKL_ECLOSED;
    if (ret)
        *ret = op;
    else
        zkl_op_free(op);
    return 0;
}

int zkl_mutex_yield(zkl_mutex *m)
{
    int code = check(m);

    if (code)
        return code;
    session_lock(m->session);
    if (m->retained)
        retained_yield(m->retained);
    session_unlock(m->session);
    return 0;
}
