/* Threads that call all functions with the same handles, at random. The handles are freed, and
 * sessions closed, while other threads wait in functions that were called with them, and the
 * process forks meanwhile. A call that begins behind that is a fault of the program, and is not
 * played: a thread that has entered counts as inside when its own call has asked the server for
 * something. */
#include "chaos.h"
#include "handles.h"
#include "lib/session/core.h"
#include "progress.h"
#include "proxy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ESTATES = 3, THREADS = 10, MOST_MS = 60 };

/* A session below a path of its own, and all that is made from it. */
struct estate {
    struct handles of;
    struct proxy *proxy;
    char *servers;
    /* guarded by the lock: */
    int users, inside;
    bool dying; /* nobody else enters */
};

static struct estate estates[ESTATES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;

/* This thread's. */
static _Thread_local struct estate *entered; /* NULL: none */
static _Thread_local bool waits, is_inside;

/* ---- a call ---- */

/* Functions that wait have one; but zkl_election_leader(), which waits for a session timeout. */
static int64_t random_limit(void)
{
    waits = true;
    return chaos(4) == 0 ? 0 : 1 + (int64_t)chaos(MOST_MS);
}

static void acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)err, (void)data;
    zkl_grant_release(grant);
}

static void done(const zkl_error *err, void *data)
{
    (void)err, (void)data;
}

static int wait_or_cancel(int code, struct handles *e)
{
    if (code == 0 && chaos(4) == 0)
        zkl_op_cancel(e->op);
    return code ? code : zkl_op_wait(e->op, &e->out.zkl_grant);
}

#define ms random_limit()
#define CALL(function, may, arguments)                                                             \
    static int call_##function(struct handles *e)                                                  \
    {                                                                                              \
        return function arguments;                                                                 \
    }
#define BEGIN CALL
#define WAIT(function, may, arguments)                                                             \
    static int call_##function(struct handles *e)                                                  \
    {                                                                                              \
        return wait_or_cancel(zkl_mutex_lock_async arguments, e);                                  \
    }
#include "every_call.inc"
#undef ms

static const struct {
    const char *name;
    int (*fn)(struct handles *e);
} table[] = {
#define ROW(function, may, arguments) {#function, call_##function},
#define CALL ROW
#define BEGIN ROW
#define WAIT ROW
#include "every_call.inc"
};

static bool enter(struct estate *e)
{
    pthread_mutex_lock(&lock);
    const bool lives = !e->dying;
    e->users += lives;
    pthread_mutex_unlock(&lock);
    if (lives)
        entered = e;
    return lives;
}

static void leave(void)
{
    pthread_mutex_lock(&lock);
    entered->users--;
    entered->inside -= is_inside;
    pthread_mutex_unlock(&lock);
    entered = NULL;
    waits = is_inside = false;
}

/* The handles are shared; what a call makes and writes is the thread's. */
static void call_somehow(struct estate *estate)
{
    const size_t which = chaos(G_N_ELEMENTS(table));
    struct handles mine = estate->of;

    waits = strcmp(table[which].name, "zkl_election_leader") == 0;
    const int code = table[which].fn(&mine);
    leave();
    tally_add(code >= 0 ? &tally.granted : &tally.failed);
    if (code == ZKL_ECHILD)
        runner_fail(__FILE__, __LINE__, "%s: %s", table[which].name, zkl_strerror(code));
    if (chaos(4) == 0)
        zkl_op_cancel(mine.op);
    zkl_op_free(mine.op);
    handles_free_out(&mine);
}

static void *call_on(void *seed)
{
    chaos_seed(GPOINTER_TO_UINT(seed));
    while (!over) {
        struct estate *e = &estates[chaos(ESTATES)];
        if (!enter(e)) {
            g_usleep(500);
            continue;
        }
        tally_add(&tally.asked);
        call_somehow(e);
    }
    return NULL;
}

/* ---- estates ---- */

static const struct store_ops *shipped;

/* With the monitor held: the call has a part in what it was called with from here on. */
static bool note_and_submit(struct store *store, const struct store_request *request, store_done fn,
                            void *context)
{
    if (waits && !is_inside) {
        is_inside = true;
        pthread_mutex_lock(&lock);
        entered->inside++;
        pthread_mutex_unlock(&lock);
    }
    return shipped->submit(store, request, fn, context);
}

static void open_session(struct estate *e)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = CHAOS_TIMEOUT_MS;
    o.log_level = ZKL_LOG_ERROR;
    REQUIRE(zkl_session_open(&e->of.s, e->servers, &o, NULL) == 0);
    REQUIRE(zkl_session_wait(e->of.s, ZKL_FOREVER) == 0);
}

/* What there is not; then everybody may enter. */
static void estate_make(struct estate *e)
{
    if (!e->of.s)
        open_session(e);
    e->of.semaphore_options.numbered = (int)chaos(2);
    handles_make(&e->of);
    REQUIRE(zkl_double_barrier_enter(e->of.inside, ZKL_FOREVER) == 0);
    handles_acquire(&e->of);
    handles_look(&e->of);
    handles_joining(&e->of);
    e->of.fence = chaos(2) ? e->of.grant : NULL;
    pthread_mutex_lock(&lock);
    e->dying = false;
    pthread_mutex_unlock(&lock);
}

/* Those who have entered are inside, or have left; *ret: how many are. */
static bool all_inside(struct estate *e, int *ret)
{
    pthread_mutex_lock(&lock);
    *ret = e->inside;
    const bool all = e->users == e->inside;
    pthread_mutex_unlock(&lock);
    return all;
}

static bool all_left(struct estate *e)
{
    int inside;

    return all_inside(e, &inside) && inside == 0;
}

/* The answers come behind that, or some of them. */
static void estate_free(struct estate *e)
{
    int inside = 0;

    proxy_freeze(e->proxy, chaos(2) ? PROXY_TO_SERVER : PROXY_TO_CLIENT);
    for (int looks = 0; looks < 200 && inside == 0; looks++) {
        g_usleep(100);
        all_inside(e, &inside);
    }
    pthread_mutex_lock(&lock);
    e->dying = true;
    pthread_mutex_unlock(&lock);
    while (!all_inside(e, &inside))
        g_usleep(100);
    if (inside > 0)
        tally_add(&tally.checked);
    if (chaos(3) == 0) {
        proxy_thaw(e->proxy);
        g_clear_pointer(&e->of.s, zkl_session_close);
    }
    handles_free(&e->of);
    proxy_thaw(e->proxy);
    while (!all_left(e))
        g_usleep(500);
    if (chaos(2))
        g_clear_pointer(&e->of.s, zkl_session_close);
    progress_step();
}

/* The child's copies are nobody's. */
static void estate_fork(struct estate *e)
{
    int64_t number;
    int status = -1;
    const pid_t pid = fork();

    if (pid == 0) {
        const int code = zkl_counter_get(e->of.counter, 0, &number);
        handles_free(&e->of);
        zkl_session_close(e->of.s);
        _exit(code != ZKL_ECHILD);
    }
    REQUIRE(pid > 0);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
}

void threads_of_handles(void)
{
    static struct store_ops noting;
    pthread_t threads[THREADS];
    char path[CHAOS_PATH];

    shipped = session_store;
    noting = *shipped;
    noting.submit = note_and_submit;
    session_store = &noting;
    for (int i = 0; i < ESTATES; i++) {
        struct estate *e = &estates[i];
        g_snprintf(path, sizeof path, "/h%d", i);
        REQUIRE(raw_create(admin, path, "", 0, 0, NULL) == ZOK);
        REQUIRE((e->proxy = proxy_start(zk_server_port(server, 0))) != NULL);
        e->servers = g_strconcat(proxy_connect(e->proxy), path, NULL);
        e->of = (struct handles)HANDLES_INIT;
        e->of.servers = e->servers;
        e->of.semaphore_options.limit = 2;
        estate_make(e);
    }
    for (guint i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, call_on,
                               GUINT_TO_POINTER(campaign.seed * 100 + i)) == 0);
    while (chaos_goes_on()) {
        struct estate *e = &estates[chaos(ESTATES)];
        g_usleep(chaos(20000));
        if (chaos(8) == 0)
            estate_fork(e);
        estate_free(e);
        estate_make(e);
    }
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ESTATES; i++) {
        handles_free(&estates[i].of);
        zkl_session_close(estates[i].of.s);
        proxy_stop(estates[i].proxy);
        g_free(estates[i].servers);
    }
    session_store = shipped;
    chaos_expect_nothing_left();
}
