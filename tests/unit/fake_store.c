#include "fake_store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { ASKED_MAX = 4096 };

struct asked {
    enum store_kind kind;
    char *path, *data, *changes, *changed_data;
    struct store_request what; /* but its pointers */
    store_done done;           /* NULL: answered */
    void *context;
};

static struct store {
    struct store_sink sink;
    struct asked asked[ASKED_MAX];
    int count;
    _Atomic(fake_answerer *) at_once; /* NULL: none; changed while other threads ask */
    char hosts[64];                   /* of the last that was opened */
    bool busy;                        /* takes no request, and cannot be opened */
    bool strays;
    char config[256]; /* that was heard last */
    atomic_int open;
} fake;

static int fake_open(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    g_strlcpy(fake.hosts, config->hosts, sizeof fake.hosts);
    fake.config[0] = '\0';
    if (fake.busy)
        return -1;
    fake.sink = *sink;
    fake.open++;
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

/* What the changes write, one behind the other. */
static char *written(const struct store_request *request)
{
    GString *text = g_string_new(NULL);

    for (int i = 0; i < request->count; i++)
        if (request->changes[i].data)
            g_string_append_len(text, request->changes[i].data, request->changes[i].length);
    return g_string_free(text, FALSE);
}

/* With a NUL behind it. */
static char *copy(const char *data, int length)
{
    if (!data)
        return NULL;
    char *to = g_malloc0((gsize)length + 1);
    memcpy(to, data, (gsize)length);
    return to;
}

static bool fake_submit(struct store *store, const struct store_request *request, store_done done,
                        void *context)
{
    fake_answerer *at_once = store->at_once;
    struct store_reply reply;

    if (at_once && at_once(request, &reply)) {
        done(context, &reply);
        return true;
    }
    if (store->busy || store->count == ASKED_MAX)
        return false;
    store->asked[store->count++] = (struct asked){request->kind,
                                                  g_strdup(request->path),
                                                  copy(request->data, request->length),
                                                  describe(request),
                                                  written(request),
                                                  *request,
                                                  done,
                                                  context};
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
        g_clear_pointer(&store->asked[i].data, g_free);
        g_clear_pointer(&store->asked[i].changes, g_free);
        g_clear_pointer(&store->asked[i].changed_data, g_free);
    }
    store->count = 0;
    store->open--;
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

static void fake_set_hosts(struct store *store, const char *hosts)
{
    g_strlcpy(store->hosts, hosts, sizeof store->hosts);
}

static void fake_hear_config(struct store *store, const char *config, int length)
{
    g_strlcpy(store->config, config ? config : "",
              MIN(sizeof store->config, (gsize)MAX(length, 0) + 1));
}

static bool fake_strays(const struct store *store)
{
    return store->strays;
}

const struct store_ops fake_ops = {fake_open,      fake_submit,      fake_close,
                                   fake_borrow,    fake_give_back,   NULL,
                                   fake_set_hosts, fake_hear_config, fake_strays};

static void fake_must_be_closed(void)
{
    if (fake.open != 0)
        runner_fail(__FILE__, __LINE__, "the test has not closed its session");
    fake.open = 0;
}

zkl_session *fake_open_session(const char *connect, const zkl_session_options *options)
{
    zkl_session *s;

    runner_at_end(fake_must_be_closed);
    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, connect, options, NULL) == 0);
    session_store = &store_zk;
    return s;
}

zkl_session *fake_session(void)
{
    zkl_session *s = fake_open_session("fake:1", NULL);

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

const char *fake_config(void)
{
    return fake.config;
}

void fake_stray(bool strays)
{
    fake.strays = strays;
}

const char *fake_hosts(void)
{
    return fake.hosts;
}

void fake_answer_at_once(fake_answerer *fn)
{
    fake.at_once = fn;
}

bool fake_alone(const struct store_request *request, struct store_reply *reply)
{
    static char path[128], *names[1];

    *reply = (struct store_reply){
        .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5, .names = names};
    if (request->kind == STORE_CREATE) {
        g_snprintf(path, sizeof path, "%s0000000007", request->path);
        reply->path = path;
    }
    names[0] = path[0] ? strrchr(path, '/') + 1 : path;
    reply->count = request->kind == STORE_LIST;
    return g_str_has_suffix(request->path, "/l") || strstr(request->path, "/l/");
}

void fake_trouble(enum store_trouble trouble, const char *unusable)
{
    session_lock(fake.sink.context);
    fake.sink.trouble(fake.sink.context, trouble, unusable);
    session_unlock(fake.sink.context);
}

void fake_event_of(enum store_event event, int64_t id, int timeout_ms)
{
    pthread_mutex_t *monitor = fake.sink.monitor;

    pthread_mutex_lock(monitor);
    fake.sink.event(fake.sink.context, event, id, timeout_ms);
    pthread_mutex_unlock(monitor);
}

void fake_event(enum store_event event)
{
    fake_event_of(event, FAKE_SESSION_ID, FAKE_TIMEOUT_MS);
}

void fake_reconnect(void)
{
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
}

void fake_next_session(void)
{
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
}

void fake_fire(const char *path, enum store_fired fired)
{
    pthread_mutex_lock(fake.sink.monitor);
    fake.sink.watch(fake.sink.context, path, fired);
    pthread_mutex_unlock(fake.sink.monitor);
}

void fake_watch(const char *path, bool gone)
{
    fake_fire(path, gone ? STORE_FIRED_GONE : STORE_FIRED_CHANGED);
}

void fake_busy(bool busy)
{
    fake.busy = busy;
}

bool fake_is_watching(enum store_kind kind, const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    const struct asked *a = find(kind, path);
    bool watching = a && a->what.watch;
    pthread_mutex_unlock(fake.sink.monitor);
    return watching;
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

void fake_answer_all(fake_answerer *fn)
{
    struct store_reply reply;

    pthread_mutex_lock(fake.sink.monitor);
    fake.at_once = fn;
    for (int i = 0; i < fake.count; i++) {
        struct asked *a = &fake.asked[i];
        a->what.path = a->path;
        if (a->done && fn(&a->what, &reply))
            end(a, reply);
    }
    pthread_mutex_unlock(fake.sink.monitor);
}

bool fake_is_asked(enum store_kind kind, const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    bool asked = find(kind, path) != NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return asked;
}

void fake_await(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

int fake_place(enum store_kind kind, const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(kind, path);
    int place = a ? (int)(a - fake.asked) : -1;
    pthread_mutex_unlock(fake.sink.monitor);
    return place;
}

int fake_count(enum store_kind kind, const char *path)
{
    int count = 0;

    pthread_mutex_lock(fake.sink.monitor);
    for (int i = 0; i < fake.count; i++) {
        const struct asked *a = &fake.asked[i];
        count += a->done && a->kind == kind && g_str_has_prefix(a->path, path);
    }
    pthread_mutex_unlock(fake.sink.monitor);
    return count;
}

struct store_request fake_request(enum store_kind kind, const char *path)
{
    struct store_request what = {.path = NULL};

    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(kind, path);
    if (a) {
        what = a->what;
        what.path = a->path;
        what.data = a->data;
    }
    pthread_mutex_unlock(fake.sink.monitor);
    return what;
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

char *fake_changed_data(const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(STORE_MULTI, path);
    char *data = a ? g_strdup(a->changed_data) : NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return data;
}
