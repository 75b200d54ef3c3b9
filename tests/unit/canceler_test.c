/* Blocking calls that another thread ends; how deep a thread holds. */
#include "fake_store.h"
#include "suites.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>

static zkl_session *s;
static zkl_mutex *m;
static zkl_rwlock *l;
static zkl_canceler *c;

static void start(int64_t retain_ms)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.retain_ms = retain_ms;
    s = fake_session();
    REQUIRE(zkl_mutex_new(&m, s, "/l", &options) == 0);
    REQUIRE(zkl_canceler_new(&c) == 0);
}

static void stop(void)
{
    zkl_canceler_free(c);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

struct caller {
    pthread_t thread;
    zkl_canceler *canceler;
    zkl_grant *grant;
    zkl_error why;
    int code, depth, unlocked;
};

static void *lock(void *data)
{
    struct caller *caller = data;

    caller->code = zkl_mutex_lock_cancelable(m, ZKL_FOREVER, caller->canceler, &caller->grant);
    zkl_last_error(&caller->why);
    caller->depth = zkl_mutex_depth(m);
    caller->unlocked = zkl_mutex_unlock(m);
    return NULL;
}

static void begin(struct caller *caller, zkl_canceler *canceler)
{
    *caller = (struct caller){.canceler = canceler};
    REQUIRE(pthread_create(&caller->thread, NULL, lock, caller) == 0);
}

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

/* The create and the list behind it: the only one, or behind somebody. Free it. */
static char *answer_entry(bool alone)
{
    wait_asked(STORE_LIST, "/l");
    char *node = fake_created_name("/l", 7);
    char other[] = "_c_other-lock-0000000003", *names[] = {strrchr(node, '/') + 1, other};

    ANSWER(STORE_CREATE, "/l", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/l", .rc = STORE_OK, .names = names, .count = alone ? 1 : 2);
    return node;
}

static void expect_canceled(struct caller *caller)
{
    pthread_join(caller->thread, NULL);
    CHECK_INT(caller->code, ZKL_ECANCELED);
    CHECK_INT(caller->why.code, ZKL_ECANCELED);
    CHECK(strstr(caller->why.text, "canceled") != NULL);
    CHECK(caller->grant == NULL);
    CHECK_INT(caller->depth, 0);
    CHECK_INT(caller->unlocked, ZKL_EPERM);
}

static void while_it_waits(void)
{
    struct caller a;

    start(0);
    begin(&a, c);
    char *node = answer_entry(false);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    zkl_canceler_cancel(c);
    expect_canceled(&a);
    CHECK(fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

/* For a handle that retains, who waits has no operation of its own at the server. */
static void while_it_waits_for_a_turn(void)
{
    struct caller a, b;

    start(60000);
    begin(&b, NULL);
    wait_asked(STORE_LIST, "/l");
    begin(&a, c);
    zkl_canceler_cancel(c);
    expect_canceled(&a);
    g_free(answer_entry(true));
    pthread_join(b.thread, NULL);
    CHECK_INT(b.code, 0);
    begin(&a, c); /* what is retained need not be waited for, but this is no time to begin */
    expect_canceled(&a);
    stop();
}

/* It makes no difference which of both comes first. */
static void before_it_waits(void)
{
    struct caller a;

    start(0);
    zkl_canceler_cancel(c);
    begin(&a, c);
    expect_canceled(&a);
    REQUIRE(zkl_rwlock_new(&l, s, "/l", NULL) == 0);
    CHECK_INT(zkl_rwlock_lock_cancelable(l, ZKL_FOREVER, c, NULL), ZKL_ECANCELED);
    CHECK_INT(zkl_rwlock_lock_shared_cancelable(l, ZKL_FOREVER, c, NULL), ZKL_ECANCELED);
    CHECK_INT(zkl_rwlock_depth(l), 0);
    zkl_rwlock_free(l);
    CHECK(!fake_is_asked(STORE_CREATE, "/l"));
    stop();
}

/* Permits and locks at several paths belong to no owner. */
static zkl_semaphore *permits;
static zkl_multilock *all;

static void start_unowned(void)
{
    static const char *const paths[] = {"/l", "/k"};
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.limit = 1;
    start(0);
    REQUIRE(zkl_semaphore_new(&permits, s, "/l", &options) == 0);
    REQUIRE(zkl_multilock_new(&all, s, paths, G_N_ELEMENTS(paths), NULL) == 0);
}

static void stop_unowned(void)
{
    zkl_semaphore_free(permits);
    zkl_multilock_free(all);
    stop();
}

static void *acquire(void *data)
{
    struct caller *caller = data;

    caller->code =
        zkl_semaphore_acquire_cancelable(permits, 1, ZKL_FOREVER, caller->canceler, &caller->grant);
    zkl_last_error(&caller->why);
    return NULL;
}

static void *lock_all(void *data)
{
    struct caller *caller = data;

    caller->code =
        zkl_multilock_lock_cancelable(all, ZKL_FOREVER, caller->canceler, &caller->grant);
    zkl_last_error(&caller->why);
    return NULL;
}

static void unowned_while_it_waits(void)
{
    static void *(*const calls[])(void *) = {acquire, lock_all};

    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        struct caller a = {.code = 0};

        start_unowned();
        a.canceler = c;
        a.unlocked = ZKL_EPERM; /* there is nothing to unlock */
        REQUIRE(pthread_create(&a.thread, NULL, calls[i], &a) == 0);
        wait_asked(STORE_LIST, "/l");
        zkl_canceler_cancel(c);
        expect_canceled(&a);
        stop_unowned();
    }
}

static void unowned_before_it_waits(void)
{
    zkl_grant *grant = NULL;
    zkl_error why;

    start_unowned();
    zkl_canceler_cancel(c);
    CHECK_INT(zkl_semaphore_acquire_cancelable(permits, 1, ZKL_FOREVER, c, &grant), ZKL_ECANCELED);
    CHECK_INT(zkl_last_error(&why), ZKL_ECANCELED);
    CHECK_STR(why.text, "/l: canceled");
    CHECK_INT(zkl_multilock_lock_cancelable(all, ZKL_FOREVER, c, &grant), ZKL_ECANCELED);
    CHECK_INT(zkl_last_error(&why), ZKL_ECANCELED);
    CHECK_STR(why.text, "canceled");
    CHECK(grant == NULL);
    CHECK(!fake_is_asked(STORE_CREATE, "/l"));
    CHECK_INT(zkl_semaphore_acquire_cancelable(NULL, 1, 0, c, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire_cancelable(permits, 0, 0, c, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_lock_cancelable(all, 0, c, NULL), ZKL_EINVAL);
    stop_unowned();
}

static void *lock_shared(void *data)
{
    struct caller *caller = data;

    caller->code =
        zkl_rwlock_lock_shared_cancelable(l, ZKL_FOREVER, caller->canceler, &caller->grant);
    zkl_last_error(&caller->why);
    caller->depth = zkl_rwlock_depth(l);
    caller->unlocked = zkl_rwlock_unlock(l);
    return NULL;
}

/* Readers, of which each has a node: so it is seen that they wait. */
static void all_who_wait_with_it(void)
{
    struct caller a = {.code = 0}, b = a, other = a;
    struct caller *const callers[] = {&a, &b, &other};

    start(0);
    a.canceler = b.canceler = c;
    REQUIRE(zkl_rwlock_new(&l, s, "/l", NULL) == 0);
    for (size_t i = 0; i < G_N_ELEMENTS(callers); i++)
        REQUIRE(pthread_create(&callers[i]->thread, NULL, lock_shared, callers[i]) == 0);
    while (fake_count(STORE_CREATE, "/l") < 3)
        g_usleep(1000);
    zkl_canceler_cancel(c);
    expect_canceled(&a);
    expect_canceled(&b);
    zkl_session_close(s);
    pthread_join(other.thread, NULL);
    CHECK_INT(other.code, ZKL_ECLOSED);
    zkl_rwlock_free(l);
    zkl_mutex_free(m);
    zkl_canceler_free(c);
}

/* A thread that holds goes deeper, since that is no wait, and keeps what it has. */
static void of_who_holds(void)
{
    struct caller a;
    zkl_grant *grant;

    start(0);
    CHECK_INT(zkl_mutex_depth(m), 0);
    begin(&a, c);
    g_free(answer_entry(true));
    pthread_join(a.thread, NULL);
    CHECK_INT(a.code, 0);
    CHECK_INT(a.depth, 1);
    CHECK_INT(a.unlocked, 0);
    CHECK_INT(zkl_mutex_depth(m), 0);
    CHECK_INT(zkl_mutex_depth(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock_cancelable(NULL, 0, c, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_canceler_new(NULL), ZKL_EINVAL);
    zkl_canceler_cancel(NULL);
    zkl_canceler_free(NULL);
    stop();
}

static void *cancel(void *unused)
{
    (void)unused;
    zkl_canceler_cancel(c);
    return NULL;
}

/* A grant that comes while it is canceled: told as one of both, and then so it is. */
static void at_any_moment(void)
{
    enum { TIMES = 400 };

    for (int i = 0; i < TIMES; i++) {
        struct caller a;
        pthread_t canceling;

        start(i % 2 ? 60000 : 0);
        fake_answer_at_once(fake_alone);
        REQUIRE(pthread_create(&canceling, NULL, cancel, NULL) == 0);
        begin(&a, c);
        pthread_join(canceling, NULL);
        pthread_join(a.thread, NULL);
        CHECK_INT(a.depth, a.code == 0);
        CHECK_INT(a.unlocked, a.code == 0 ? 0 : ZKL_EPERM);
        CHECK(a.code == 0 || a.code == ZKL_ECANCELED);
        CHECK_INT(zkl_mutex_depth(m), 0);
        stop();
        fake_answer_at_once(NULL);
    }
}

static void depth(void)
{
    start(0);
    fake_answer_at_once(fake_alone);
    zkl_canceler_cancel(c);
    for (int level = 1; level <= 3; level++) {
        CHECK_INT(zkl_mutex_lock_cancelable(m, ZKL_FOREVER, level > 1 ? c : NULL, NULL), 0);
        CHECK_INT(zkl_mutex_depth(m), level);
    }
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_depth(m), 2);
    fake_event(STORE_EV_EXPIRED); /* the levels are still to be undone */
    CHECK_INT(zkl_mutex_depth(m), 2);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_depth(m), 0);
    fake_answer_at_once(NULL);
    stop();
}

static const struct test_case cases[] = {
    {"while_it_waits", while_it_waits},
    {"while_it_waits_for_a_turn", while_it_waits_for_a_turn},
    {"before_it_waits", before_it_waits},
    {"unowned_while_it_waits", unowned_while_it_waits},
    {"unowned_before_it_waits", unowned_before_it_waits},
    {"all_who_wait_with_it", all_who_wait_with_it},
    {"of_who_holds", of_who_holds},
    {"at_any_moment", at_any_moment},
    {"depth", depth},
    {NULL, NULL},
};

const struct test_suite canceler_suite = {.name = "canceler", .cases = cases};
