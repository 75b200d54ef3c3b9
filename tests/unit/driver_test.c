/* The driver over a store that answers what the test says: interleavings no server can be made to
 * show on demand. */
#include "suites.h"

#include "lib/core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { SESSION_ID = 7, TIMEOUT_MS = 10000, ASKED_MAX = 256 };

struct asked {
    enum store_kind kind;
    char *path;
    store_done done; /* NULL: answered */
    void *context;
};

static struct store {
    struct store_sink sink;
    struct asked asked[ASKED_MAX];
    int count;
} fake;

static int fake_open(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    (void)config;
    fake.sink = *sink;
    *ret = &fake;
    return 0;
}

static bool fake_submit(struct store *store, const struct store_request *request, store_done done,
                        void *context)
{
    if (store->count == ASKED_MAX)
        return false;
    store->asked[store->count++] =
        (struct asked){request->kind, g_strdup(request->path), done, context};
    return true;
}

static void end(struct asked *a, struct store_reply reply)
{
    store_done done = a->done;

    a->done = NULL;
    done(a->context, &reply);
}

static void *report_closed(void *unused)
{
    (void)unused;
    fake.sink.closed(fake.sink.context);
    return NULL;
}

static void fake_close(struct store *store)
{
    pthread_t thread;

    for (int i = 0; i < store->count; i++) {
        if (store->asked[i].done)
            end(&store->asked[i], (struct store_reply){.rc = STORE_GONE});
        g_clear_pointer(&store->asked[i].path, g_free);
    }
    store->count = 0;
    if (pthread_create(&thread, NULL, report_closed, NULL) == 0)
        pthread_detach(thread);
}

static const struct store_ops fake_ops = {fake_open, fake_submit, fake_close};

/* The request of that kind below path that is not answered yet. */
static struct asked *find(enum store_kind kind, const char *path)
{
    for (int i = 0; i < fake.count; i++) {
        struct asked *a = &fake.asked[i];
        if (a->done && a->kind == kind && g_str_has_prefix(a->path, path))
            return a;
    }
    return NULL;
}

static void event(enum store_event event)
{
    pthread_mutex_lock(fake.sink.monitor);
    fake.sink.event(fake.sink.context, event, SESSION_ID, TIMEOUT_MS);
    pthread_mutex_unlock(fake.sink.monitor);
}

static bool answer(enum store_kind kind, const char *path, struct store_reply reply)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(kind, path);
    if (a)
        end(a, reply);
    pthread_mutex_unlock(fake.sink.monitor);
    return a != NULL;
}

static bool is_asked(enum store_kind kind, const char *path)
{
    pthread_mutex_lock(fake.sink.monitor);
    bool asked = find(kind, path) != NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return asked;
}

#define ANSWER(kind, path, ...) CHECK(answer(kind, path, (struct store_reply){__VA_ARGS__}))

static zkl_session *open_fake(void)
{
    zkl_session *s;

    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", NULL, NULL) == 0);
    session_store = &store_zk;
    event(STORE_EV_BEGIN);
    event(STORE_EV_UP);
    return s;
}

struct outcome {
    atomic_int calls;
    atomic_int held_up; /* the callback does not return while it is set */
    int code;
};

static void decided(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct outcome *o = data;

    o->code = error ? error->code : 0;
    zkl_grant_release(grant);
    atomic_fetch_add(&o->calls, 1);
    while (atomic_load(&o->held_up))
        g_usleep(1000);
}

static void wait_outcome(struct outcome *o)
{
    while (atomic_load(&o->calls) == 0)
        g_usleep(1000);
}

/* The name that the fake server gives to the create under way. */
static char *created_name(const char *path, int number)
{
    pthread_mutex_lock(fake.sink.monitor);
    struct asked *a = find(STORE_CREATE, path);
    char *name = a ? g_strdup_printf("%s%010d", a->path, number) : NULL;
    pthread_mutex_unlock(fake.sink.monitor);
    return name;
}

/* The create's outcome is unknown, the list that would tell is cut off too, and the caller gives
 * up: the list must still come after the reconnect, or the node stands as long as the session. */
static void aborted_while_settling(void)
{
    zkl_session *s = open_fake();
    zkl_mutex *m;
    zkl_op *op;
    struct outcome o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &o, &op) == 0);
    char *name = created_name("/b", 0);
    REQUIRE(name != NULL);
    event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/b", .rc = STORE_UNKNOWN);
    event(STORE_EV_UP);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK); /* the one behind the create: it proves nothing */
    ANSWER(STORE_SYNC, "/b", .rc = STORE_OK);
    event(STORE_EV_DOWN);
    ANSWER(STORE_LIST, "/b", .rc = STORE_UNKNOWN);
    zkl_op_cancel(op);
    wait_outcome(&o);
    CHECK_INT(o.code, ZKL_ECANCELED);
    event(STORE_EV_UP);
    char *child = strrchr(name, '/') + 1;
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &child, .count = 1);
    CHECK(is_asked(STORE_DELETE, name));
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(name);
}

/* What was never sent needs no settling, and is not sent later either. */
static void aborted_before_sent(void)
{
    zkl_session *s = open_fake();
    zkl_mutex *m;
    zkl_op *op;
    struct outcome o = {.calls = 0};

    event(STORE_EV_DOWN);
    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &o, &op) == 0);
    zkl_op_cancel(op);
    wait_outcome(&o);
    event(STORE_EV_UP);
    CHECK(!is_asked(STORE_CREATE, "/b"));
    CHECK(!is_asked(STORE_LIST, "/b"));
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

/* What was decided but not told yet is still cancelled. */
static void canceled_before_told(void)
{
    zkl_session *s = open_fake();
    zkl_mutex *m;
    zkl_op *op;
    char first[] = "_c_other-lock-0000000000";
    struct outcome before = {.held_up = 1}, o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &before, NULL) == 0);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_NOAUTH);
    wait_outcome(&before);
    ANSWER(STORE_LIST, "/b", .rc = STORE_NOAUTH);
    REQUIRE(zkl_mutex_lock_async(m, 0, decided, &o, &op) == 0);
    char *name = created_name("/b", 1);
    REQUIRE(name != NULL);
    char *names[] = {first, strrchr(name, '/') + 1};
    ANSWER(STORE_CREATE, "/b", .rc = STORE_OK, .path = name, .czxid = 5, .owner = SESSION_ID);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2);
    CHECK(is_asked(STORE_DELETE, name)); /* decided: others are first */
    zkl_op_cancel(op);
    atomic_store(&before.held_up, 0);
    wait_outcome(&o);
    CHECK_INT(before.code, ZKL_EACCES);
    CHECK_INT(o.code, ZKL_ECANCELED);
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(name);
}

static const struct test_case cases[] = {
    {"aborted_while_settling", aborted_while_settling},
    {"aborted_before_sent", aborted_before_sent},
    {"canceled_before_told", canceled_before_told},
    {NULL, NULL},
};

const struct test_suite driver_suite = {"driver", NULL, NULL, cases};
