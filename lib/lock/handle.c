/* Handles from new to free, and what becomes of them when a thread ends or the process forks. */
#include "handle.h"

#include "grant.h"
#include "lib/base/error.h"
#include "lib/base/lock_owner.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "op.h"

/* For threads that end while they own. Before every other lock. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static GQueue all = G_QUEUE_INIT;

const char *handle_path(const struct handle *h)
{
    return session_path(h->session, h->path);
}

void handle_unref(struct handle *h)
{
    if (!g_atomic_int_dec_and_test(&h->refs))
        return;
    session_lock(h->session); /* contenders share the strings */
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
                 const struct handle_options *o)
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
    return h;
}

void handle_publish(struct handle *h)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&all_lock);
    g_queue_push_tail_link(&all, &h->link);
    pthread_mutex_unlock(&all_lock);
}

/* ---- who ---- */

char *handle_new_payload(const char *name, uint64_t thread)
{
    if (name)
        return g_ref_string_new(name);
    char *text = options_default_name(thread);
    char *payload = g_ref_string_new(text);
    g_free(text);
    return payload;
}

/* Its contenders share it. */
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

static bool give_back(struct handle *h, zkl_grant *grant, bool last)
{
    session_lock(h->session);
    bool owned = h->kind->give_back(h, grant, last);
    session_unlock(h->session);
    grant_unref(grant);
    return owned;
}

void handle_forget_hold(struct handle *h, struct hold *hold)
{
    h->recent = NULL;
    g_hash_table_remove(h->holds, &hold->key);
}

static void forget_over(struct handle *h)
{
    if (h->over)
        handle_forget_hold(h, h->over);
    h->over = NULL;
}

bool handle_end_hold(struct handle *h, struct hold *hold, bool last)
{
    zkl_grant *grant = g_steal_pointer(&hold->grant);

    hold->depth = 0;
    forget_over(h);
    h->over = hold;
    return give_back(h, grant, last);
}

void handle_thread_ends(uint64_t owner)
{
    pthread_mutex_lock(&all_lock);
    for (GList *l = all.head; l; l = l->next) {
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
    pthread_mutex_unlock(&all_lock);
}

static gboolean end_if_held(void *key, void *value, void *handle)
{
    struct hold *hold = value;

    (void)key;
    if (hold->depth == 0)
        return FALSE;
    give_back(handle, hold->grant, false);
    return TRUE;
}

static void close_kind(struct handle *h)
{
    if (!h->kind->close)
        return;
    session_lock(h->session);
    h->kind->close(h);
    session_unlock(h->session);
}

void handle_free(struct handle *h)
{
    char *why;

    if (!h || fork_is_child(h->session->generation))
        return;
    pthread_mutex_lock(&all_lock);
    g_queue_unlink(&all, &h->link);
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&h->lock);
    h->freed = true;
    /* First: what is given back here would be theirs. */
    why = g_strdup_printf("the %s was freed", h->kind->what);
    op_abort_all(h->session, &h->waiters, ZKL_ECLOSED, why);
    g_free(why);
    g_hash_table_foreach_remove(h->holds, end_if_held, h);
    close_kind(h);
    pthread_mutex_unlock(&h->lock);
    handle_unref(h);
}
