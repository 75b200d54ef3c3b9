#include "shards_member.h"
#include "members.h"
#include "onlooker.h"

#include <pthread.h>
#include <string.h>

struct shards_member {
    struct onlooker onlooker; /* the first member */
    const struct shards_options *options;
    struct shards_report *report;
    struct events *above;
    const zkl_member_info **owners;
    char *data; /* ends with the share */
    zkl_watch *observer;
    zkl_member *member;
    zkl_error error; /* why it could not join, before: */
    atomic_bool failed;
    pthread_mutex_t lock; /* of: */
    uint64_t joined;      /* its token; 0: others may think that it is gone */
    uint64_t seen;        /* the token of its id in the last view */
    bool ever;            /* it has joined once */
};

/* ---- events, on a thread of the library ---- */

/* With the lock held. The time first: who sees it with the state of before waits the longer. */
static void publish(struct shards_member *m)
{
    const bool confirmed = m->joined != 0 && m->joined == m->seen;

    if (confirmed != atomic_load(&m->report->confirmed)) {
        atomic_store(&m->report->confirmed_since, now_ms());
        atomic_store(&m->report->confirmed, confirmed);
    }
    events_wake(m->above);
}

static void set_joined(struct shards_member *m, uint64_t token)
{
    pthread_mutex_lock(&m->lock);
    m->joined = token;
    m->ever |= token != 0;
    publish(m);
    pthread_mutex_unlock(&m->lock);
}

/* Later failures are not the end: it is a member again as soon as it can. */
static void fail_first(struct shards_member *m, const zkl_error *err)
{
    pthread_mutex_lock(&m->lock);
    if (!m->ever && !atomic_load(&m->failed)) {
        m->error = *err;
        atomic_store(&m->failed, true);
        events_wake(m->onlooker.events);
    }
    pthread_mutex_unlock(&m->lock);
}

static void on_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                     void *data)
{
    struct shards_member *m = data;

    (void)member;
    switch (event) {
    case ZKL_MEMBER_JOINED:
        set_joined(m, news->token);
        break;
    case ZKL_MEMBER_GONE:
    case ZKL_MEMBER_LEFT:
        set_joined(m, 0);
        break;
    case ZKL_MEMBER_BUSY:
        say_id_is_taken(m->onlooker.path, m->options->id, news);
        break;
    case ZKL_MEMBER_FAILED:
        fail_first(m, news->err);
        break;
    default:
        break;
    }
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    struct shards_member *m = data;

    (void)member;
    if (event != ZKL_MEMBERS_ALL)
        return;
    pthread_mutex_lock(&m->lock);
    m->seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++)
        if (strcmp(zkl_members_get(all, i)->id, m->options->id) == 0)
            m->seen = zkl_members_get(all, i)->token;
    zkl_shards_plan(m->owners, (size_t)m->options->count, all);
    for (int k = 0; k < m->options->count; k++)
        atomic_store(&m->report->shards[k].owned,
                     m->owners[k] && strcmp(m->owners[k]->id, m->options->id) == 0);
    publish(m);
    pthread_mutex_unlock(&m->lock);
}

/* ---- the way there ---- */

static int join(struct onlooker *of)
{
    struct shards_member *m = (struct shards_member *)of;
    const struct shards_options *o = m->options;
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    options.parents = o->run.parents;
    options.fn = on_event;
    options.fn_data = m;
    return zkl_members_watch(&m->observer, of->session, of->path, NULL, on_members, m) == 0 &&
                   zkl_member_join(&m->member, of->session, of->path, o->id, m->data,
                                   strlen(m->data), &options) == 0
               ? GO_ON
               : onlooker_failed(of);
}

/* Until it is told to end. */
static int stay(struct onlooker *o, struct reading *newest)
{
    const struct shards_member *m = (struct shards_member *)o;

    reading_unref(newest); /* which only says that all is well */
    return atomic_load(&m->failed) ? fail_error(&m->error, o->path) : GO_ON;
}

static int read_group(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct onlooker *o = r->data;

    (void)most;
    return members_try_read(ret, o->session, o->path, NULL);
}

int shards_member_run(const struct settings *settings, const struct shards_options *options,
                      struct events *events, struct events *above, struct shards_report *report)
{
    static const struct onlooker_ops ops = {.begin = join, .see = stay, .read = read_group};
    char *group = g_strconcat(options->run.path, "/members", NULL);
    struct shards_member m = {
        .onlooker = {.settings = settings, .path = group, .events = events, .ops = &ops},
        .options = options,
        .report = report,
        .above = above,
        .owners = g_new0(const zkl_member_info *, options->count),
        .data = g_strdup_printf("%s%szkl-shards %d 1", options->data ? options->data : "",
                                options->data ? "\n" : "", options->count),
        .lock = PTHREAD_MUTEX_INITIALIZER};
    const int status = onlooker_run(&m.onlooker);

    zkl_watch_free(m.observer);
    zkl_member_free(m.member);
    g_free(m.owners);
    g_free(m.data);
    g_free(group);
    return status;
}
