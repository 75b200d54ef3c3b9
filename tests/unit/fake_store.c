#include "fake_store.h"

#include <pthread.h>

enum { ASKED_MAX = 256 };

struct asked {
    enum store_kind kind;
    char *path, *changes;
    store_done done; /* NULL: answered */
    void *context;
};

static struct store {
    struct store_sink sink;
    struct asked asked[ASKED_MAX];
    int count;
    fake_answerer *at_once; /* NULL: none */
} fake;

static int fake_open(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    (void)config;
    fake.sink = *sink;
    *ret = &fake;
    return 0;
}

static char *describe(const struct store_request *request)
{
    static const char *const names[] = {
        [STORE_CREATE] = "create",
        [STORE_SET] = "set",
        [STORE_DELETE] = "delete",
        [STORE_GET] = "check",
    };
    GString *text = g_string_new(NULL);

    for (int i = 0; i < request->count; i++) {
        const struct store_change *c = &request->changes[i];
        g_string_append_printf(text, "%s%s %s %d", i ? "; " : "", names[c->kind], c->path,
                               c->version);
    }
    return g_string_free(text, FALSE);
}

static bool fake_submit(struct store *store, const struct store_request *request, store_done done,
                        void *context)
{
    struct store_reply reply;

    if (store->at_once && store->at_once(request, &reply)) {
        done(context, &reply);
        return true;
    }
    if (store->count == ASKED_MAX)
        return false;
    store->asked[store->count++] =
        (struct asked){request->kind, g_strdup(request->path), describe(request), done, context};
    return true;
}

static void end(struct asked *a, struct store_reply reply)
{
    store_done done = a->done;

    a->done = NULL;
    done(a->context, &reply);
}

/* Its own copy: the next store may be open by then. */
static void *report_closed(void *data)
{
    struct store_sink *sink = data;

    sink->closed(sink->context);
    g_free(sink);
    return NULL;
}

static void fake_close(struct store *store)
{
    pthread_t thread;

    for (int i = 0; i < store->count; i++) {
        if (store->asked[i].done)
            end(&store->asked[i], (struct store_reply){.rc = STORE_GONE});
        g_clear_pointer(&store->asked[i].path, g_free);
        g_clear_pointer(&store->asked[i].changes, g_free);
    }
    store->count = 0;
    if (pthread_create(&thread, NULL, report_closed, g_memdup2(&fake.sink, sizeof fake.sink)) == 0)
        pthread_detach(thread);
}

static void *fake_borrow(struct store *store)
{
    (void)store;
    return NULL;
}

static void fake_give_back(struct store *store)
{
    (void)store;
}

static const struct store_ops fake_ops = {fake_open, fake_submit, fake_close, fake_borrow,
                                          fake_give_back};

zkl_session *fake_session(void)
{
    zkl_session *s;

    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", NULL, NULL) == 0);
    session_store = &store_zk;
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    return s;
}

static struct asked *find(enum store_kind kind, const char *path)
{
    for (int i = 0; i < fake.count; i++) {
        struct asked *a = &fake.asked[i];
        if (a->done && a->kind == kind && g_str_has_prefix(a->path, path))
            return a;
    }
    return NULL;
}

void fake_answer_at_once(fake_answerer *fn)
{
    fake.at_once = fn;
}

void fake_event(enum store_event event)
{
    pthread_mutex_lock(fake.sink.monitor);
    fake.sink.event(fake.sink.context, event, FAKE_SESSION_ID, FAKE_TIMEOUT_MS);
    pthread_mutex_unlock(fake.sink.monitor);
}

bool fake_answer(enum store_kind kind, const char *path, struct store_reply reply)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(kind, path);
    if (a)
        end(a, reply);
    pthread_mutex_unlock(fake.sink.monitor);
    return a != NULL;
}

bool fake_is_asked(enum store_kind kind, const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    bool asked = find(kind, path) != NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return asked;
}

char *fake_created_name(const char *path, int number)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(STORE_CREATE, path);
    char *name = a ? g_strdup_printf("%s%010d", a->path, number) : NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return name;
}

char *fake_changes(const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(STORE_MULTI, path);
    char *changes = a ? g_strdup(a->changes) : NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return changes;
}
