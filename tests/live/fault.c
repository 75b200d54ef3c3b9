#include "fault.h"

#include "fixture.h"
#include "fourletter.h"
#include "live.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fault fault;

static GPtrArray *sessions, *mutexes, *rwlocks;

/* Signals are for the threads of the test: the suites look at who gets them. */
bool fault_raw_open(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    fault.direct = raw_open(zk_server_connect(fault.server));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fault.direct != NULL;
}

int fault_start(void)
{
    const struct zk_server_options options = {.tick_ms = FAULT_TICK_MS, .jvm = live_jvm};

    if (!server_or_skip())
        return 0;
    live_shutdown(); /* its client takes signals, and seeds random() */
    fault.server = zk_server_start(&options);
    if (!fault.server)
        return 1;
    fault.port = zk_server_port(fault.server, 0);
    return fault_raw_open() ? 0 : 1;
}

int fault_stop(void)
{
    raw_close(fault.direct);
    zk_server_stop(fault.server);
    memset(&fault, 0, sizeof fault);
    return 0;
}

/* A wait that has given up may have waited for servers. */
static void tell_servers(void)
{
    if (progress_is_late())
        zk_server_tell(fault.server);
}

void fault_begin(void)
{
    static int number;

    if (fault.path) /* the test before was ended half-way: its sessions must not disturb */
        fault_close_all();
    sessions = g_ptr_array_new();
    mutexes = g_ptr_array_new();
    rwlocks = g_ptr_array_new();
    fault.path = g_strdup_printf("/fault-%d/lock", ++number);
    fault.proxy = proxy_start(fault.port);
    REQUIRE(fault.proxy != NULL);
    runner_at_end(tell_servers);
}

static bool is_at_rest(void)
{
    struct fourletter_watches w;

    return fault_children() == 0 && fourletter_wchs(fault.port, &w) && w.watches == 0 &&
           fourletter_mntr(fault.port, "zk_ephemerals_count") == 0;
}

void fault_at_rest(void)
{
    EVENTUALLY(is_at_rest());
}

void fault_close_all(void)
{
    proxy_heal(fault.proxy);
    for (guint i = 0; i < sessions->len; i++)
        zkl_session_close(g_ptr_array_index(sessions, i));
    for (guint i = 0; i < mutexes->len; i++)
        zkl_mutex_free(g_ptr_array_index(mutexes, i));
    for (guint i = 0; i < rwlocks->len; i++)
        zkl_rwlock_free(g_ptr_array_index(rwlocks, i));
    g_ptr_array_free(sessions, TRUE);
    g_ptr_array_free(mutexes, TRUE);
    g_ptr_array_free(rwlocks, TRUE);
    proxy_stop(fault.proxy);
    g_free(fault.path);
    fault.proxy = NULL;
    fault.path = NULL;
}

void fault_end(void)
{
    fault_at_rest();
    fault_close_all();
}

/* ---- sessions ---- */

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data; /* losses are what these tests are for */
}

zkl_session *fault_session_options(const char *connect, const zkl_session_options *options)
{
    zkl_session_options o = *options;
    zkl_session *s;

    if (!o.log && !g_getenv("ZKL_TEST_LOG"))
        o.log = log_nothing;
    REQUIRE(zkl_session_open(&s, connect, &o, NULL) == 0);
    g_ptr_array_add(sessions, s);
    return s;
}

zkl_session *fault_session(const char *connect, int timeout_ms)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = timeout_ms;
    return fault_session_options(connect, &o);
}

zkl_session *fault_direct(int timeout_ms)
{
    zkl_session *s = fault_session(zk_server_connect(fault.server), timeout_ms);

    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    return s;
}

zkl_session *fault_proxied(int timeout_ms)
{
    zkl_session *s = fault_session(proxy_connect(fault.proxy), timeout_ms);

    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    return s;
}

void fault_close(zkl_session *s)
{
    CHECK(g_ptr_array_remove_fast(sessions, s));
    zkl_session_close(s);
}

zkl_mutex *fault_mutex_options(zkl_session *s, const char *path, const zkl_mutex_options *options)
{
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, path, options) == 0);
    g_ptr_array_add(mutexes, m);
    return m;
}

zkl_mutex *fault_mutex(zkl_session *s)
{
    return fault_mutex_options(s, fault.path, NULL);
}

zkl_rwlock *fault_rwlock(zkl_session *s)
{
    zkl_rwlock *l;

    REQUIRE(zkl_rwlock_new(&l, s, fault.path, NULL) == 0);
    g_ptr_array_add(rwlocks, l);
    return l;
}

void fault_mutex_free(zkl_mutex *m)
{
    CHECK(g_ptr_array_remove_fast(mutexes, m));
    zkl_mutex_free(m);
}

bool fault_expire(int64_t session)
{
    return CHECK(raw_expire(fault.port, session));
}

/* ---- looking ---- */

int fault_children(void)
{
    char **names = raw_children(fault.direct, fault.path);
    int count = names ? (int)g_strv_length(names) : 0;

    g_strfreev(names);
    return count;
}

char *fault_waiting_node(const zkl_grant *head)
{
    char **names = raw_children(fault.direct, fault.path), *node = NULL;

    REQUIRE(names && g_strv_length(names) == 2);
    for (int i = 0; i < 2; i++) {
        if (!g_str_has_suffix(zkl_grant_node(head), names[i]))
            node = g_strconcat(fault.path, "/", names[i], NULL);
    }
    g_strfreev(names);
    return node;
}

int fault_count(const char *directory)
{
    GDir *dir = g_dir_open(directory, 0, NULL);
    int count = 0;

    while (dir && g_dir_read_name(dir))
        count++;
    if (dir)
        g_dir_close(dir);
    return count;
}

int64_t fault_boot_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int fault_scaled(int rounds)
{
    const char *scale = g_getenv("ZKL_TEST_SCALE");

    return MAX(1, scale ? rounds * atoi(scale) / 100 : rounds);
}

/* ---- records ---- */

void told_fn(const zkl_grant *grant, zkl_state state, void *told)
{
    struct told *t = told;
    int i = atomic_load(&t->count);

    (void)grant;
    if (i == TOLD_MAX)
        return;
    t->state[i] = state;
    t->at[i] = fault_boot_ns();
    atomic_store(&t->count, i + 1);
}

int told_times(struct told *t, zkl_state state)
{
    int times = 0;

    for (int i = 0, count = atomic_load(&t->count); i < count; i++)
        times += t->state[i] == state;
    return times;
}

int64_t told_at(struct told *t, zkl_state state)
{
    for (int i = 0, count = atomic_load(&t->count); i < count; i++)
        if (t->state[i] == state)
            return t->at[i];
    return INT64_MAX;
}

/* ---- acquisitions ---- */

static void on_done(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct acquisition *a = data;

    a->at = fault_boot_ns();
    a->grant = grant;
    a->code = err ? err->code : 0;
    if (grant)
        zkl_grant_on_change(grant, told_fn, &a->told);
    atomic_fetch_add(&a->done, 1);
}

void acquisition_start_rw(struct acquisition *a, zkl_rwlock *l, bool shared, int64_t timeout_ms)
{
    *a = (struct acquisition){.code = 0};
    REQUIRE((shared ? zkl_rwlock_lock_shared_async : zkl_rwlock_lock_async)(l, timeout_ms, on_done,
                                                                            a, &a->op) == 0);
}

void acquisition_start_permits(struct acquisition *a, zkl_semaphore *m, int permits)
{
    *a = (struct acquisition){.code = 0};
    REQUIRE(zkl_semaphore_acquire_async(m, permits, ZKL_FOREVER, on_done, a, &a->op) == 0);
}

void acquisition_start_run(struct acquisition *a, zkl_once *o)
{
    *a = (struct acquisition){.code = 0};
    REQUIRE(zkl_once_begin_async(o, ZKL_FOREVER, on_done, a, &a->op) == 0);
}

bool acquisition_try_start(struct acquisition *a, zkl_mutex *m, int64_t timeout_ms)
{
    *a = (struct acquisition){.code = 0};
    int code = zkl_mutex_lock_async(m, timeout_ms, on_done, a, &a->op);
    return code != ZKL_ECLOSED && CHECK_INT(code, 0);
}

void acquisition_start(struct acquisition *a, zkl_mutex *m, int64_t timeout_ms)
{
    REQUIRE(acquisition_try_start(a, m, timeout_ms));
}

bool acquisition_granted(struct acquisition *a)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    return CHECK_INT(atomic_load(&a->done), 1) && CHECK_INT(a->code, 0) && CHECK(a->grant != NULL);
}

bool acquisition_failed(struct acquisition *a, int code)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    return CHECK_INT(atomic_load(&a->done), 1) && CHECK_INT(a->code, code) &&
           CHECK(a->grant == NULL);
}

void acquisition_end(struct acquisition *a)
{
    EVENTUALLY(atomic_load(&a->done) > 0);
    CHECK_INT(atomic_load(&a->done), 1);
    if (a->grant) {
        zkl_grant_release(a->grant);
        /* The recorder is on our caller's stack. */
        EVENTUALLY(told_times(&a->told, ZKL_LOST) + told_times(&a->told, ZKL_RELEASED) == 1);
    }
    zkl_op_free(a->op);
    a->grant = NULL;
    a->op = NULL;
}

void acquisition_queue(struct acquisition *a, zkl_mutex *m, int place)
{
    acquisition_start(a, m, ZKL_FOREVER);
    EVENTUALLY(fault_children() == place);
    if (place > 1)
        CHECK_INT(atomic_load(&a->done), 0);
    else
        acquisition_granted(a);
}

/* ---- histories ---- */

struct hold {
    int64_t begin, end;
    uint64_t token;
};

struct history {
    pthread_mutex_t mutex;
    GArray *holds;
};

struct history *history_new(void)
{
    struct history *h = g_new0(struct history, 1);

    pthread_mutex_init(&h->mutex, NULL);
    h->holds = g_array_new(FALSE, FALSE, sizeof(struct hold));
    return h;
}

void history_add(struct history *h, int64_t begin, int64_t end, uint64_t token)
{
    struct hold hold = {begin, end, token};

    pthread_mutex_lock(&h->mutex);
    g_array_append_val(h->holds, hold);
    pthread_mutex_unlock(&h->mutex);
}

int history_count(struct history *h)
{
    pthread_mutex_lock(&h->mutex);
    int count = (int)h->holds->len;
    pthread_mutex_unlock(&h->mutex);
    return count;
}

static gint by_begin(gconstpointer a, gconstpointer b)
{
    int64_t x = ((const struct hold *)a)->begin, y = ((const struct hold *)b)->begin;

    return (x > y) - (x < y);
}

void history_check(struct history *h)
{
    g_array_sort(h->holds, by_begin);
    for (guint i = 1; i < h->holds->len; i++) {
        const struct hold *a = &g_array_index(h->holds, struct hold, i - 1), *b = a + 1;
        CHECK(b->begin >= a->end);
        CHECK(b->token > a->token);
    }
    g_array_free(h->holds, TRUE);
    pthread_mutex_destroy(&h->mutex);
    g_free(h);
}
