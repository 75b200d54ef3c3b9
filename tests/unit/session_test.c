/* What a session answers without a server, and how it takes what the store reports. */
#include "fake_store.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <zkl-glib.h>

TEST_SUITE(session);

static void refused_options(const zkl_session_options *o, const char *named)
{
    zkl_session *s;
    zkl_error why = {.code = 0};

    CHECK_INT(zkl_session_open(&s, "a", o, &why), ZKL_EINVAL);
    CHECK_INT(why.code, ZKL_EINVAL);
    CHECK(strstr(why.text, named));
}

TEST_CASE(bad_options)
{
    static const zkl_credential no_auth = {"digest", NULL}, no_scheme = {NULL, "a:b"};
    static const struct {
        zkl_session_options o;
        const char *named;
    } bad[] = {
#define OPTIONS(...) {.size = sizeof(zkl_session_options), __VA_ARGS__}
        {OPTIONS(.acl = "x"), "acl"},
        {OPTIONS(.acl = "auth::cdrwa"), "credentials"},
        {OPTIONS(.acl = "world:anyone:r,auth:a:w"), "credentials"},
        {OPTIONS(.tick_ms = -1), "tick_ms"},
        {OPTIONS(.tick_ms = 7200), "tick_ms"}, /* no ensemble could renew a grant in time */
        {OPTIONS(.drift_permille = 390), "drift_permille"},
        {OPTIONS(.tick_ms = 6000, .drift_permille = 300), "tick_ms"},
        {OPTIONS(.drift_permille = -1), "drift_permille"},
        {OPTIONS(.drift_permille = 501), "drift_permille"},
        {OPTIONS(.dispatch = 2), "dispatch"},
        {OPTIONS(.credential_count = 1), "credential_count"},
        {OPTIONS(.credentials = &no_auth, .credential_count = 1), "credentials"},
        {OPTIONS(.credentials = &no_scheme, .credential_count = 1), "credentials"},
        {OPTIONS(.log_level = (zkl_log_level)-1), "log_level"},
        {OPTIONS(.log_level = (zkl_log_level)5), "log_level"},
#undef OPTIONS
        {{.size = sizeof(zkl_session_options), .session_timeout_ms = 199}, "session_timeout_ms"},
        {{.size = sizeof(zkl_session_options), .session_timeout_ms = 1000000001},
         "session_timeout_ms"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        refused_options(&bad[i].o, bad[i].named);
}

TEST_CASE(bad_arguments)
{
    zkl_session *s;
    zkl_error why;

    CHECK_INT(zkl_session_open(NULL, "a", NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_open(&s, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_open(&s, "a:x", NULL, &why), ZKL_EINVAL);
    CHECK_STR(why.path, "a:x");
    CHECK_INT(zkl_session_wait(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_session_fd(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_dispatch(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_on_change(NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_id(NULL), 0);
    CHECK_INT(zkl_session_timeout_ms(NULL), ZKL_EINVAL);
    CHECK(zkl_glib_source_new(NULL) == NULL);
    zkl_session_close(NULL);
}

struct heard {
    atomic_int events[ZKL_SESSION_CLOSED + 1];
    atomic_int code; /* of a wait in a callback */
};

static void hear(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct heard *h = data;

    (void)id;
    if (event == ZKL_SESSION_CONNECTED) {
        atomic_store(&h->code, zkl_session_wait(s, 0));
        CHECK_INT(zkl_session_dispatch(s), ZKL_EINVAL);
    }
    atomic_fetch_add(&h->events[event], 1);
}

TEST_CASE(events)
{
    zkl_session *s = fake_session();
    struct heard h = {.code = 0};

    CHECK_INT(zkl_session_wait(s, INT64_MAX - 1), 0);
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID);
    CHECK_INT(zkl_session_timeout_ms(s), FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_session_on_change(s, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_on_change(s, hear, &h), 0);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_HOST);
    CHECK_INT(zkl_session_wait(s, 1), ZKL_EHOST);
    fake_event(STORE_EV_FOREIGN);
    CHECK_INT(zkl_session_wait(s, -7), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    zkl_session_close(s);
    CHECK_INT(atomic_load(&h.code), ZKL_EDEADLK);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_CONNECTED]), 2);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_SUSPENDED]), 1);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_CLOSED]), 1);
}

static void note_code(zkl_grant *grant, const zkl_error *error, void *data)
{
    zkl_grant_release(grant);
    atomic_store((atomic_int *)data, error ? error->code : 1);
}

static void wait_code(atomic_int *code)
{
    while (atomic_load(code) == 0)
        g_usleep(1000);
}

/* Refused credentials end everything, what is asked for later too. */
TEST_CASE(credentials_refused)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    zkl_queue *q;
    atomic_int before = 0, after = 0;

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, note_code, &before, NULL) == 0);
    fake_event(STORE_EV_AUTH);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, note_code, &after, NULL) == 0);
    wait_code(&before);
    wait_code(&after);
    CHECK_INT(before, ZKL_EAUTH);
    CHECK_INT(after, ZKL_EAUTH);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), ZKL_EAUTH);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EAUTH);
    CHECK_INT(zkl_queue_read(&q, s, "/b", NULL, 0), ZKL_EAUTH);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

/* The session is over: the attempt enters again, under a new id, in the next one. */
TEST_CASE(expired)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    struct heard h = {.code = 0};
    atomic_int code = 0;

    REQUIRE(zkl_session_on_change(s, hear, &h) == 0);
    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, note_code, &code, NULL) == 0);
    char *first = fake_created_name("/b", 0);
    fake_event(STORE_EV_EXPIRED);
    CHECK(!fake_is_asked(STORE_CREATE, "/b")); /* before the next one is there */
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    char *second = fake_created_name("/b", 0);
    REQUIRE(first && second);
    CHECK(strcmp(first, second) != 0);
    zkl_session_close(s);
    CHECK_INT(atomic_load(&h.events[ZKL_SESSION_REPLACED]), 1);
    CHECK_INT(code, ZKL_ECLOSED);
    zkl_mutex_free(m);
    g_free(first);
    g_free(second);
}

static void take_line(const zkl_log_record *record, void *data)
{
    if (strstr(record->text, "\"junk\""))
        atomic_fetch_add((atomic_int *)data, 1);
}

/* What is no contender is told about once, to whom wants to hear such. */
TEST_CASE(log_lines)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *m;
    atomic_int lines = 0, code = 0;
    char junk[] = "junk", *names[] = {junk};

    o.log = take_line;
    o.log_data = &lines;
    o.log_level = ZKL_LOG_INFO;
    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &o, NULL) == 0);
    session_store = &store_zk;
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, note_code, &code, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        char *name = fake_created_name("/b", i);
        ANSWER(STORE_CREATE, "/b", .rc = STORE_OK, .path = name, .czxid = 5,
               .ephemeral_owner = FAKE_SESSION_ID);
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 1);
        g_free(name);
    }
    zkl_session_close(s);
    CHECK_INT(lines, 1);
    zkl_mutex_free(m);
}

static int no_thread(struct store **ret, const struct store_config *config,
                     const struct store_sink *sink)
{
    (void)ret, (void)config, (void)sink;
    return -1;
}

TEST_CASE(ended_without_threads)
{
    const struct store_ops ops = {.open = no_thread};
    const zkl_session_claim claim = {.id = 1};

    session_store = &ops;
    CHECK_INT(zkl_session_end("a", NULL, &claim, 1000), ZKL_ENOMEM);
    session_store = &store_zk;
}

struct ending {
    zkl_mutex *mutex;
    bool went_on;
};

/* To be cancelled at the next point where that may be. */
static void *free_canceled(void *data)
{
    struct ending *e = data;

    pthread_cancel(pthread_self());
    zkl_mutex_free(e->mutex);
    e->went_on = true;
    pthread_testcancel();
    return NULL;
}

/* The session's end is no such point, though a descriptor is closed: half of it would be left. */
TEST_CASE(the_last_reference_is_given_up_whole)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct ending e = {.went_on = false};
    pthread_t thread;
    void *result;

    o.dispatch = 1;
    zkl_session *s = fake_open_session("fake:1", &o);
    REQUIRE(zkl_mutex_new(&e.mutex, s, "/b", NULL) == 0);
    zkl_session_close(s);
    while (g_atomic_int_get(&s->refs) > 1)
        g_usleep(1000);
    REQUIRE(pthread_create(&thread, NULL, free_canceled, &e) == 0);
    pthread_join(thread, &result);
    CHECK(e.went_on);
    CHECK(result == PTHREAD_CANCELED);
}
