/* Structs of options: which sizes are taken, and what zeros in them mean. */
#include "fake_store.h"
#include "lib/session/core.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(options);

enum { BYTES = 8192 };

/* Each answers the code of a call with options that are there from the first byte on. */
static int open_session(zkl_session *unused, const void *options)
{
    zkl_session *s = NULL;

    (void)unused;
    int code = zkl_session_open(&s, "127.0.0.1:1", options, NULL);
    zkl_session_close(s);
    return code;
}

static int new_mutex(zkl_session *s, const void *options)
{
    zkl_mutex *m = NULL;
    int code = zkl_mutex_new(&m, s, "/a", options);

    zkl_mutex_free(m);
    return code;
}

static int new_election(zkl_session *s, const void *options)
{
    zkl_election *e = NULL;
    int code = zkl_election_new(&e, s, "/a", "c", options);

    zkl_election_free(e);
    return code;
}

/* It looks at the path next, and asks no server. */
static int read_queue(zkl_session *s, const void *options)
{
    zkl_queue *q = NULL;
    zkl_error why = {.code = 0};
    int code = zkl_queue_read(&q, s, "no path", options, 0);

    zkl_last_error(&why);
    return strcmp(why.path, "no path") == 0 ? 0 : code;
}

static const zkl_session_options session_init = ZKL_SESSION_OPTIONS_INIT;
static const zkl_mutex_options mutex_init = ZKL_MUTEX_OPTIONS_INIT;
static const zkl_election_options election_init = ZKL_ELECTION_OPTIONS_INIT;
static const zkl_queue_options queue_init = ZKL_QUEUE_OPTIONS_INIT;

static const struct kind {
    const void *init;
    size_t size;
    int (*call)(zkl_session *s, const void *options);
} kinds[] = {
    {&session_init, sizeof session_init, open_session},
    {&mutex_init, sizeof mutex_init, new_mutex},
    {&election_init, sizeof election_init, new_election},
    {&queue_init, sizeof queue_init, read_queue},
};

/* The options as they would be with that size, and a byte set somewhere. */
static int call(zkl_session *s, const struct kind *k, size_t size, size_t set)
{
    char *options = g_malloc0(BYTES);

    memcpy(options, k->init, k->size);
    memcpy(options, &size, sizeof size);
    if (set > 0)
        options[set] = 1;
    int code = k->call(s, options);
    g_free(options);
    return code;
}

TEST_CASE(sizes)
{
    zkl_session *s = fake_session();

    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const struct kind *k = &kinds[i];
        CHECK_INT(k->call(s, NULL), 0);
        CHECK_INT(call(s, k, k->size, 0), 0);
        for (size_t size = 0; size < k->size; size++)
            CHECK_INT(call(s, k, size, 0), ZKL_EINVAL);
        CHECK_INT(zkl_last_error(NULL), ZKL_EINVAL);
        CHECK_INT(call(s, k, k->size + 1, 0), 0);
        CHECK_INT(call(s, k, k->size + 64, 0), 0);
        CHECK_INT(call(s, k, k->size, k->size), 0); /* that is not the struct's any more */
        CHECK_INT(call(s, k, k->size + 1, k->size), ZKL_EINVAL);
        CHECK_INT(call(s, k, k->size + 64, k->size + 63), ZKL_EINVAL);
        CHECK_INT(call(s, k, BYTES, 0), ZKL_EINVAL);
        CHECK_INT(call(s, k, SIZE_MAX, 0), ZKL_EINVAL);
    }
    zkl_session_close(s);
}

/* A struct of which only size is set says the same as its macro. */
#define CHECK_MACRO(type, init, ...)                                                               \
    do {                                                                                           \
        static const zkl_##type macro = init, zeros = {.size = sizeof zeros, __VA_ARGS__};         \
        CHECK(memcmp(&macro, &zeros, sizeof zeros) == 0);                                          \
    } while (0)

TEST_CASE(macros)
{
    CHECK_MACRO(barrier_options, ZKL_BARRIER_OPTIONS_INIT);
    CHECK_MACRO(election_options, ZKL_ELECTION_OPTIONS_INIT);
    CHECK_MACRO(member_options, ZKL_MEMBER_OPTIONS_INIT);
    CHECK_MACRO(mutex_options, ZKL_MUTEX_OPTIONS_INIT);
    CHECK_MACRO(queue_options, ZKL_QUEUE_OPTIONS_INIT);
    CHECK_MACRO(semaphore_options, ZKL_SEMAPHORE_OPTIONS_INIT);
    CHECK_MACRO(session_options, ZKL_SESSION_OPTIONS_INIT, .log_level = ZKL_LOG_WARN);
}

TEST_CASE(version)
{
    char *numbers =
        g_strdup_printf("%d.%d.%d", ZKL_VERSION_MAJOR, ZKL_VERSION_MINOR, ZKL_VERSION_PATCH);

    CHECK_STR(zkl_version(), ZKL_VERSION);
    CHECK_STR(zkl_version(), numbers);
    g_free(numbers);
}

TEST_CASE(status_size)
{
    zkl_session *s = fake_session();
    zkl_election_status status[2] = {{.size = sizeof status}};
    zkl_election *e;

    REQUIRE(zkl_election_new(&e, s, "/a", "c", NULL) == 0);
    for (size_t size = 0; size < sizeof *status; size++) {
        status->size = size;
        CHECK_INT(zkl_election_get_status(e, status), ZKL_EINVAL);
    }
    status->size = sizeof status;
    CHECK_INT(zkl_election_get_status(e, status), 0);
    CHECK_INT(status->size, sizeof *status);
    zkl_election_free(e);
    zkl_session_close(s);
}

static void count_warning(const zkl_log_record *record, void *data)
{
    if (record->level == ZKL_LOG_WARN)
        atomic_fetch_add((atomic_int *)data, 1);
}

/* Clocks are still taken to differ, and warnings to be of interest. */
TEST_CASE(zeros)
{
    atomic_int warnings = 0;
    zkl_session_options o = {.size = sizeof o, .log = count_warning, .log_data = &warnings};
    zkl_session *s;

    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &o, NULL) == 0);
    session_store = &store_zk;
    CHECK_INT(zkl_session_timeout_ms(s), 10000);
    CHECK_INT(s->proofs.drift_permille, 100);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    fake_event(STORE_EV_EXPIRED);
    zkl_session_close(s);
    CHECK_INT(atomic_load(&warnings), 1);
}
