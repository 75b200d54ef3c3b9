#include "shards_member.h"
#include "members.h"

#include <string.h>

enum { TO_JOIN, TO_SEE };

#define READ_MS 1000

/* ---- events, on a thread of the library ---- */

/* With the lock held. */
static void compare_tokens(struct shards_member *m)
{
    const bool is_in = m->joined != 0 && m->joined == m->seen;

    if (atomic_exchange(&m->is_in, is_in) != is_in)
        m->is_in_since = now_ms();
}

static void set_joined(struct shards_member *m, uint64_t token)
{
    pthread_mutex_lock(&m->lock);
    m->joined = token;
    if (token != 0) {
        atomic_store(&m->was_in, true);
        m->denied[TO_JOIN].code = 0;
    }
    compare_tokens(m);
    pthread_mutex_unlock(&m->lock);
}

/* NULL: not any more. */
static void set_denied(struct shards_member *m, int what, const zkl_error *error)
{
    pthread_mutex_lock(&m->lock);
    m->denied[what] = error ? *error : (zkl_error){0};
    pthread_mutex_unlock(&m->lock);
}

static void on_member_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    struct shards_member *m = data;

    (void)member;
    switch (event) {
    case ZKL_MEMBER_JOINED:
        set_joined(m, news->token);
        break;
    case ZKL_MEMBER_LOST:
    case ZKL_MEMBER_LEFT:
        set_joined(m, 0);
        break;
    case ZKL_MEMBER_BUSY:
        say_id_is_taken(m->group, m->host->options->id, news);
        break;
    case ZKL_MEMBER_FAILED:
        set_denied(m, TO_JOIN, news->err);
        break;
    default:
        break;
    }
    events_wake(m->host->events);
}

/* Once for each. During a rolling change of N it is as it should be. */
static void compare_counts(struct shards_member *m, const zkl_member_info *other)
{
    const struct shards_options *o = m->host->options;
    zkl_shards_share share;
    gpointer told;

    if (zkl_shards_share_of(other, &share) == 0)
        return;
    told = g_hash_table_lookup(m->others, other->id);
    if (GPOINTER_TO_UINT(told) == share.count || (!told && share.count == (uint32_t)o->count))
        return;
    say("%s: %s shares %u shards, not %d", o->run.hold.path, other->id, (unsigned)share.count,
        o->count);
    g_hash_table_insert(m->others, g_strdup(other->id), GUINT_TO_POINTER(share.count));
}

/* With the lock held. */
static void take_view(struct shards_member *m, const zkl_members *all)
{
    const struct shards_options *o = m->host->options;
    g_autofree const zkl_member_info **owners = g_new0(const zkl_member_info *, (gsize)o->count);

    m->seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++) {
        const zkl_member_info *one = zkl_members_get(all, i);

        if (strcmp(one->id, o->id) == 0)
            m->seen = one->token;
        else
            compare_counts(m, one);
    }
    zkl_shards_plan(owners, (size_t)o->count, all);
    for (int k = 0; k < o->count; k++)
        m->owned[k] = owners[k] && strcmp(owners[k]->id, o->id) == 0;
    m->denied[TO_SEE].code = 0;
    compare_tokens(m);
}

static void on_view(zkl_members_event event, const zkl_member_info *member, const zkl_members *all,
                    void *data)
{
    struct shards_member *m = data;

    (void)member;
    if (event != ZKL_MEMBERS_ALL)
        return;
    pthread_mutex_lock(&m->lock);
    take_view(m, all);
    pthread_mutex_unlock(&m->lock);
    events_wake(m->host->events);
}

/* ---- the main thread ---- */

void shards_member_init(struct shards_member *m, struct host_common *host)
{
    const struct shards_options *o = host->options;

    *m = (struct shards_member){.host = host, .lock = PTHREAD_MUTEX_INITIALIZER};
    m->group = g_strconcat(o->run.hold.path, "/members", NULL);
    m->data = g_strdup_printf("%s%szkl-shards %d %d", o->data ? o->data : "", o->data ? "\n" : "",
                              o->count, o->weight);
    m->owned = g_new0(bool, (gsize)o->count);
    m->others = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    m->is_in_since = now_ms();
}

void shards_member_free(struct shards_member *m)
{
    g_free(m->group);
    g_free(m->data);
    g_free(m->owned);
    g_hash_table_unref(m->others);
}

int shards_member_join(struct shards_member *m)
{
    const struct shards_options *o = m->host->options;
    zkl_session *session = m->host->session;
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    options.parents = o->run.parents;
    options.fn = on_member_event;
    options.fn_data = m;
    if (zkl_members_watch(&m->observer, session, m->group, ZKL_MEMBER_GROUP, on_view, m) == 0 &&
        zkl_member_join(&m->member, session, m->group, o->id, m->data, strlen(m->data), &options) ==
            0)
        return GO_ON;
    return fail_last(m->group);
}

void shards_member_leave(struct shards_member *m)
{
    if (m->member)
        leave_group(m->member);
}

void shards_member_close(struct shards_member *m)
{
    zkl_watch_free(m->observer);
    zkl_member_free(m->member);
    m->observer = NULL;
    m->member = NULL;
    m->seen = m->joined = 0;
    compare_tokens(m);
    for (int i = TO_JOIN; i <= TO_SEE; i++)
        m->denied[i].code = 0;
}

void shards_member_facts(struct shards_member *m, struct shard_facts *ret)
{
    ret->member_until = ret->now + (m->member ? membership_ms(m->member) : 0);
    pthread_mutex_lock(&m->lock);
    ret->confirmed = atomic_load(&m->is_in);
    ret->confirmed_since = m->is_in_since;
    pthread_mutex_unlock(&m->lock);
}

bool shards_member_owns(struct shards_member *m, int k)
{
    pthread_mutex_lock(&m->lock);
    const bool owned = m->owned[k];
    pthread_mutex_unlock(&m->lock);
    return owned;
}

void shards_member_read(struct shards_member *m)
{
    g_autoptr(zkl_members) all = NULL;
    zkl_error error = {0};
    int code = zkl_members_read(&all, m->host->session, m->group, ZKL_MEMBER_GROUP, READ_MS);

    if (code != 0)
        zkl_last_error(&error);
    if (code == 0 || code == ZKL_ENOENT)
        set_denied(m, TO_SEE, NULL);
    else if (code != ZKL_ETIMEDOUT && code != ZKL_EUNREACHABLE)
        set_denied(m, TO_SEE, &error);
    atomic_store(&m->doubt, code != 0 && code != ZKL_ENOENT);
    events_wake(m->host->events);
}

void shards_member_denied(struct shards_member *m, int64_t bearable_ms, zkl_error *ret_error,
                          bool *ret_last)
{
    const int64_t now = now_ms();

    *ret_error = (zkl_error){0};
    *ret_last = false;
    pthread_mutex_lock(&m->lock);
    for (int i = TO_JOIN; i <= TO_SEE && !*ret_last; i++) {
        if (m->denied[i].code == 0) {
            m->denied_since[i] = 0;
            continue;
        }
        *ret_error = m->denied[i];
        *ret_last = !failure_passes(failure_status(ret_error->code), atomic_load(&m->was_in),
                                    &m->denied_since[i], now, bearable_ms);
    }
    pthread_mutex_unlock(&m->lock);
}
