#include <string.h>
#include <unistd.h>

#include "grant.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "mutex_handle.h"
#include "op.h"
#include "release.h"
#include "retained.h"
#include "turn.h"

enum { NAME_MAX_BYTES = 1024, RETAIN_MAX_MS = 86400000 };

/* For threads that end while they own. Before every other lock. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue all = G_QUEUE_INIT;

const char *mutex_path(const zkl_mutex *m)
{
    return session_path(m->session, m->path);
}

void mutex_unref(zkl_mutex *m)
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

int mutex_check(const zkl_mutex *m)
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

/* Its contenders share it. */
char *mutex_payload(zkl_mutex *m)
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

struct contender_spec mutex_spec(zkl_mutex *m)
{
    return (struct contender_spec){.directory = m->path,
                                   .payload = mutex_payload(m),
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
    const struct contender_spec spec = mutex_spec(m);
    m->retained = retained_new(m->session, &spec, &config);
    session_unlock(m->session);
}

/* ---- giving back ---- */

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

void mutex_forget_hold(zkl_mutex *m, struct hold *hold)
{
    if (m->recent == hold)
        m->recent = NULL;
    g_hash_table_remove(m->holds, &hold->key);
}

static void forget_over(zkl_mutex *m)
{
    if (m->over)
        mutex_forget_hold(m, m->over);
    m->over = NULL;
}

/* Ends the hold whatever its depth. The same owner may lock again soon, and finds it. */
bool mutex_end_hold(zkl_mutex *m, struct hold *hold, bool last)
{
    zkl_grant *grant = hold->grant;

    hold->depth = 0;
    hold->grant = NULL;
    forget_over(m);
    m->over = hold;
    return give_back(m, grant, last);
}

/* The owner's thread is ending: nobody else could ever unlock. */
void mutex_thread_ends(uint64_t owner)
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
            mutex_end_hold(m, hold, true);
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
    /* First: what is given back here would be theirs. */
    op_abort_all(m->session, &m->waiters, ZKL_ECLOSED, "the mutex was freed");
    m->recent = NULL;
    g_hash_table_foreach_remove(m->holds, end_if_held, m);
    stop_retaining(m);
    pthread_mutex_unlock(&m->lock);
    mutex_unref(m);
}

int zkl_mutex_yield(zkl_mutex *m)
{
    int code = mutex_check(m);

    if (code)
        return code;
    session_lock(m->session);
    if (m->retained)
        retained_yield(m->retained);
    session_unlock(m->session);
    return 0;
}
