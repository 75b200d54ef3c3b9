/* Over the store that answers what the test says: no server, no libzookeeper. */
#include "play.h"
#include "unit/fake_store.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct store_ops spared_ops; /* the fake store starts a thread of its own at close */

static atomic_int closes; /* sessions that the server was told to end */

static void spared_close(struct store *store)
{
    atomic_fetch_add(&closes, 1);
    fault_spare(true);
    fake_ops.close(store);
    fault_spare(false);
}

static zkl_session *open_fake(int dispatch)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.dispatch = dispatch;
    spared_ops = fake_ops;
    spared_ops.close = spared_close;
    session_store = &spared_ops;
    zkl_session *s = play_open("fake:1", &o);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    return s;
}

static void answer_delete(const char *path)
{
    PLAY_AWAIT(fake_is_asked(STORE_DELETE, path));
    EXPECT(fake_answer(STORE_DELETE, path, (struct store_reply){.rc = STORE_OK}));
}

/* Lets the contender in whose create is asked; its node's path, for g_free(). */
static char *let_in(void)
{
    PLAY_AWAIT(fake_is_asked(STORE_CREATE, "/l"));
    char *node = fake_created_name("/l", 0);
    char *name = strrchr(node, '/') + 1;
    EXPECT(fake_answer(
        STORE_CREATE, "/l",
        (struct store_reply){
            .rc = STORE_OK, .path = node, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID}));
    PLAY_AWAIT(fake_is_asked(STORE_LIST, "/l"));
    EXPECT(fake_answer(STORE_LIST, "/l",
                       (struct store_reply){.rc = STORE_OK, .names = &name, .count = 1}));
    return node;
}

static void open_close(void)
{
    zkl_session_close(open_fake(0));
}

static bool is_readable(struct pollfd *fd, int timeout)
{
    fault_spare(true);
    const bool is = poll(fd, 1, timeout) == 1;
    fault_spare(false);
    return is;
}

/* Callbacks in the caller's own loop; waits for them as such a loop does. A read of the descriptor
 * that failed is made again. */
static void dispatch_until(zkl_session *s, atomic_int *told)
{
    struct pollfd fd = {zkl_session_fd(s), POLLIN, 0};

    while (atomic_load(told) == 0) {
        is_readable(&fd, -1);
        EXPECT(zkl_session_dispatch(s) == 0);
    }
    PLAY_AWAIT(zkl_session_dispatch(s) == 0 && !is_readable(&fd, 0));
}

static void dispatch(void)
{
    zkl_session *s = open_fake(1);
    zkl_mutex *m;
    struct outcome got = {.calls = 0};
    struct states states = {.told = {0}};

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, ZKL_FOREVER, outcome_take, &got, NULL) == 0);
    char *node = let_in();
    dispatch_until(s, &got.calls);
    EXPECT(got.grant && got.error.code == 0);
    EXPECT(zkl_grant_on_change(got.grant, states_take, &states) == 0);
    fake_event(STORE_EV_DOWN);
    dispatch_until(s, &states.told[ZKL_SUSPECT]);
    zkl_session_close(s);
    EXPECT(atomic_load(&states.told[ZKL_LOST]) == 1);
    zkl_grant_release(got.grant);
    zkl_mutex_free(m);
    g_free(node);
}

static void lock_async(void)
{
    zkl_session *s = open_fake(0);
    zkl_mutex *m;
    struct outcome got = {.calls = 0};
    struct states states = {.told = {0}};

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, 60000, outcome_take, &got, NULL) == 0);
    char *node = let_in();
    PLAY_AWAIT(atomic_load(&got.calls));
    EXPECT(got.grant && zkl_grant_state(got.grant) == ZKL_HELD);
    EXPECT(zkl_grant_on_change(got.grant, states_take, &states) == 0);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    zkl_grant_release(got.grant);
    PLAY_AWAIT(atomic_load(&states.told[ZKL_RELEASED]));
    answer_delete(node);
    zkl_session_close(s);
    EXPECT(atomic_load(&got.calls) == 1 && atomic_load(&states.told[ZKL_SUSPECT]) == 1);
    EXPECT(atomic_load(&states.told[ZKL_RELEASED]) == 1);
    zkl_mutex_free(m);
    g_free(node);
}

static void count(void *calls)
{
    atomic_fetch_add((atomic_int *)calls, 1);
}

/* The path is not there, then it is. */
static void watch(void)
{
    zkl_session *s = open_fake(1);
    zkl_watch *w;
    atomic_int calls = 0;

    EXPECT(zkl_queue_watch(&w, s, "/l", count, &calls) == 0);
    EXPECT(fake_answer(STORE_SYNC, "/l", (struct store_reply){.rc = STORE_OK}));
    EXPECT(fake_answer(STORE_LIST, "/l", (struct store_reply){.rc = STORE_NONODE}));
    EXPECT(fake_answer(STORE_STAT, "/l", (struct store_reply){.rc = STORE_NONODE}));
    dispatch_until(s, &calls);
    fake_fire("/l", STORE_FIRED_CREATED);
    PLAY_AWAIT(fake_is_asked(STORE_LIST, "/l")); /* when it has rested */
    EXPECT(fake_answer(STORE_LIST, "/l", (struct store_reply){.rc = STORE_OK}));
    atomic_store(&calls, 0);
    dispatch_until(s, &calls);
    zkl_watch_free(w);
    zkl_session_close(s);
}

static void *answer_one(void *unused)
{
    (void)unused;
    return let_in();
}

/* A thread that ends while it holds: what it held is released. */
static void *lock_and_end(void *mutex)
{
    pthread_t other;
    void *node;
    const zkl_grant *g;

    fault_spare(true);
    EXPECT(pthread_create(&other, NULL, answer_one, NULL) == 0);
    fault_spare(false);
    EXPECT(zkl_mutex_lock(mutex, ZKL_FOREVER, &g) == 0);
    pthread_join(other, &node);
    EXPECT(zkl_mutex_lock(mutex, 0, NULL) == 0);
    EXPECT(zkl_mutex_unlock(mutex) == 0);
    return node;
}

static void owner_ends(void)
{
    zkl_session *s = open_fake(0);
    zkl_mutex *m;
    void *node;

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    play_thread(lock_and_end, m, &node);
    answer_delete(node);
    EXPECT(zkl_mutex_unlock(m) == ZKL_EPERM);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(node);
}

/* The time passes: told by the timers' thread. */
static void timeout(void)
{
    zkl_session *s = open_fake(0);
    zkl_mutex *m;
    struct outcome got = {.calls = 0};

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, 20, outcome_take, &got, NULL) == 0);
    PLAY_AWAIT(atomic_load(&got.calls));
    EXPECT(got.error.code == ZKL_ETIMEDOUT && !got.grant);
    EXPECT(zkl_mutex_lock(m, 10, NULL) == ZKL_ETIMEDOUT);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

struct closing {
    zkl_session *session;
    atomic_int calls;
};

static void close_it(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct closing *c = data;

    EXPECT(grant && !error);
    zkl_session_close(c->session);
    EXPECT(zkl_grant_state(grant) == ZKL_LOST);
    zkl_grant_release(grant);
    atomic_fetch_add(&c->calls, 1);
}

/* It finishes in the background. When the thread for that is refused, the server is told all the
 * same, but the session's own two threads stay, with a timer's descriptor. */
static void close_inside(void)
{
    zkl_session *s = open_fake(0);
    zkl_mutex *m;
    struct closing c = {.session = s};

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, ZKL_FOREVER, close_it, &c, NULL) == 0);
    char *node = let_in();
    PLAY_AWAIT(atomic_load(&c.calls));
    PLAY_AWAIT(atomic_load(&closes) == 1);
    EXPECT(zkl_mutex_lock(m, 0, NULL) == ZKL_ECLOSED);
    zkl_mutex_free(m);
    if (fault_is(CALL_pthread_create, 3))
        play_stays(2, 1);
    g_free(node);
}

/* ThreadSanitizer lets no child of a process with threads have threads; AddressSanitizer's
 * allocator may stay locked in it. */
static void open_own(void)
{
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
    zkl_session *s;

    fault_end();
    session_store = &store_zk;
    EXPECT(zkl_session_open(&s, "127.0.0.1:1", NULL, NULL) == 0);
    EXPECT(zkl_session_wait(s, ZKL_FOREVER) == 0);
    zkl_session_close(s);
#endif
}

/* The number of the first thing that is not as it should be. */
static int be_child(zkl_mutex *m, zkl_grant *g, uint64_t token)
{
    if (zkl_mutex_lock(m, ZKL_FOREVER, NULL) != ZKL_ECHILD)
        return 1;
    if (zkl_grant_state(g) != ZKL_LOST || zkl_grant_remaining_ms(g) != 0)
        return 2;
    if (zkl_grant_token(g) != token)
        return 3;
    zkl_grant_release(g);
    zkl_mutex_free(m);
    open_own();
    return 0;
}

static void forked(void)
{
    zkl_session *s = open_fake(0);
    zkl_mutex *m;
    struct outcome got = {.calls = 0};
    int status;

    EXPECT(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    EXPECT(zkl_mutex_lock_async(m, ZKL_FOREVER, outcome_take, &got, NULL) == 0);
    char *node = let_in();
    PLAY_AWAIT(atomic_load(&got.calls));
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0)
        _exit(be_child(m, got.grant, zkl_grant_token(got.grant)));
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    EXPECT(zkl_grant_state(got.grant) == ZKL_HELD);
    zkl_grant_release(got.grant);
    answer_delete(node);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(node);
}

const struct play plays_fake[] = {
    {"open_close", open_close}, {"dispatch", dispatch}, {"lock_async", lock_async},
    {"owner_ends", owner_ends}, {"timeout", timeout},   {"close_inside", close_inside},
    {"forked", forked},         {"watch", watch},       {NULL, NULL},
};
