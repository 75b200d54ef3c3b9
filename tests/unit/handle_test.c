/* Handles: which arguments they take, what they ask for, and who owns what is held by them: when
 * its thread ends, when the handle is freed, and when the process forks. */
#include "fake_store.h"
#include "runner.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zkl-glib.h>
#include <zkl-zookeeper.h>

#include "lib/base/lock_owner.h"
#include "lib/contender/contender.h"
#include "lib/lock/handle.h"

TEST_SUITE(handle);

static void release_it(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)error;
    (void)data;
    zkl_grant_release(grant);
}

/* What is wrong is named, and what is not is taken. Numbers are a line of the node's data, and have
 * to fit into it. */
TEST_CASE(semaphore_options)
{
#define OPTIONS(...)                                                                               \
    {                                                                                              \
        .size = sizeof(zkl_semaphore_options), __VA_ARGS__                                         \
    }
    static const struct {
        zkl_semaphore_options o;
        const char *wrong; /* in the text of the error; NULL: nothing */
    } rows[] = {
        {OPTIONS(.limit = 0), NULL},
        {OPTIONS(.numbered = 1, .limit = 1), NULL},
        {OPTIONS(.numbered = -1), "numbered must be"},
        {OPTIONS(.numbered = 2), "numbered must be"},
        {OPTIONS(.limit = -1), "limit must not be negative"},
        {OPTIONS(.name = "\xff"), "name"},
        {OPTIONS(.name = "who\nzkl numbers 0"), NULL},
        {OPTIONS(.name = "who\nzkl numbers 0", .numbered = 1), "name"},
        {OPTIONS(.parents = (zkl_parents)7), "parents"},
        {OPTIONS(.limit = 1, .layout = (zkl_semaphore_layout)-1), "layout is none"},
        {OPTIONS(.limit = 1, .layout = (zkl_semaphore_layout)(ZKL_SEMAPHORE_CURATOR + 1)),
         "layout is none"},
        {OPTIONS(.limit = 1, .layout = ZKL_SEMAPHORE_CURATOR), NULL},
        {OPTIONS(.layout = ZKL_SEMAPHORE_CURATOR), "limit must be given"},
        {OPTIONS(.numbered = 1, .limit = 1, .layout = ZKL_SEMAPHORE_CURATOR), "has no numbers"},
    };
#undef OPTIONS
    zkl_session *s = fake_session();
    zkl_semaphore *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        CHECK_INT(zkl_semaphore_new(&m, s, "/a", &rows[i].o), rows[i].wrong ? ZKL_EINVAL : 0);
        zkl_last_error(&why);
        if (!rows[i].wrong)
            zkl_semaphore_free(m);
        else if (!CHECK(strstr(why.text, rows[i].wrong) != NULL))
            runner_fail(__FILE__, __LINE__, "row %zu: %s", i, why.text);
    }
    zkl_session_close(s);
}

TEST_CASE(semaphore_arguments)
{
    zkl_session *s = fake_session();
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;
    zkl_error why;
    int limit = 3;

    CHECK_INT(zkl_semaphore_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_new(&m, s, "a", NULL), ZKL_EINVAL);
    o.layout = ZKL_SEMAPHORE_CURATOR;
    o.limit = 1;
    REQUIRE(zkl_semaphore_new(&m, s, "/a", &o) == 0);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire_async(m, 1, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_get_limit(m, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_set_limit(m, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_get_limit(m, 0, &limit), ZKL_EINVAL);
    CHECK_INT(limit, 3);
    CHECK_INT(zkl_semaphore_set_limit(m, 1, 0), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "/a: Curator's layout keeps no limit");
    zkl_semaphore_free(m);
    o.layout = ZKL_SEMAPHORE_ZKL;
    REQUIRE(zkl_semaphore_new(&m, s, "/a", &o) == 0);
    CHECK_INT(zkl_semaphore_get_limit(m, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_set_limit(m, 0, 0), ZKL_EINVAL);
    zkl_semaphore_free(m);
    zkl_semaphore_free(NULL);
    zkl_session_close(s);
}

TEST_CASE(semaphore_permits)
{
    static const struct {
        zkl_semaphore_options o;
        int most;
        const char *wrong;
    } rows[] = {
        {{sizeof(zkl_semaphore_options), .limit = 1}, INT_MAX, "/a: permits must be 1 or more"},
        {{sizeof(zkl_semaphore_options), .numbered = 1}, 1000, "/a: permits must be 1 to 1000"},
        {{sizeof(zkl_semaphore_options), .limit = 1, .layout = ZKL_SEMAPHORE_CURATOR},
         64,
         "/a: permits must be 1 to 64 in Curator's layout"},
    };
    zkl_session *s = fake_session();
    zkl_semaphore *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const int wrong[] = {-1, 0, rows[i].most == INT_MAX ? INT_MIN : rows[i].most + 1};

        REQUIRE(zkl_semaphore_new(&m, s, "/a", &rows[i].o) == 0);
        for (size_t k = 0; k < G_N_ELEMENTS(wrong); k++) {
            CHECK_INT(zkl_semaphore_acquire_async(m, wrong[k], 0, release_it, NULL, NULL),
                      ZKL_EINVAL);
            zkl_last_error(&why);
            CHECK_STR(why.text, rows[i].wrong);
            CHECK_STR(why.path, "/a");
        }
        CHECK_INT(zkl_semaphore_acquire_async(m, 1, 0, release_it, NULL, NULL), 0);
        CHECK_INT(zkl_semaphore_acquire_async(m, rows[i].most, 0, release_it, NULL, NULL), 0);
        zkl_semaphore_free(m);
    }
    zkl_session_close(s);
}

TEST_CASE(mutex_options)
{
#define OPTIONS(...)                                                                               \
    {                                                                                              \
        .size = sizeof(zkl_mutex_options), __VA_ARGS__                                             \
    }
    static const struct {
        zkl_mutex_options o;
        const char *wrong; /* in the text of the error; NULL: nothing */
    } rows[] = {
        {OPTIONS(.name = "\xff"), "name"},
        {OPTIONS(.parents = (zkl_parents)7), "parents"},
        {OPTIONS(.peer = (zkl_peer)-1), "peer"},
        {OPTIONS(.peer = (zkl_peer)2), "peer"},
        {OPTIONS(.retain_ms = -1), "retain_ms must be 0 to 86400000"},
        {OPTIONS(.retain_ms = 86400001), "retain_ms must be 0 to 86400000"},
        {OPTIONS(.retain_ms = INT64_MAX), "retain_ms must be 0 to 86400000"},
        {OPTIONS(.retain_ms = 1, .fence64 = -1), "fence64 must be 0 or 1"},
        {OPTIONS(.retain_ms = 1, .fence64 = 2), "fence64 must be 0 or 1"},
        {OPTIONS(.retain_ms = 86400000, .fence64 = 1), NULL},
    };
#undef OPTIONS
    zkl_session *s = fake_session();
    char *longest = g_strnfill(1025, 'x');
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        CHECK_INT(zkl_mutex_new(&m, s, "/a", &rows[i].o), rows[i].wrong ? ZKL_EINVAL : 0);
        zkl_last_error(&why);
        if (!rows[i].wrong)
            zkl_mutex_free(m);
        else if (!CHECK(strstr(why.text, rows[i].wrong) != NULL))
            runner_fail(__FILE__, __LINE__, "row %zu: %s", i, why.text);
    }
    o.name = longest;
    CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), ZKL_EINVAL);
    longest[1024] = '\0';
    CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), 0);
    zkl_mutex_free(m);
    CHECK_INT(zkl_mutex_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(&m, s, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(&m, s, "a", NULL), ZKL_EINVAL);
    zkl_session_close(s);
    g_free(longest);
}

/* Whom the node of a mutex is named for. */
TEST_CASE(peers)
{
    static const struct {
        zkl_peer peer;
        const char *begin, *end;
    } rows[] = {{ZKL_PEER_CURATOR, "/a/_c_", "-lock-"}, {ZKL_PEER_KAZOO, "/a/", "__lock__"}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        zkl_session *s = fake_session();
        zkl_mutex *m;
        o.peer = rows[i].peer;
        REQUIRE(zkl_mutex_new(&m, s, "/a", &o) == 0);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, release_it, NULL, NULL) == 0);
        const char *path = fake_request(STORE_CREATE, "/a/").path;
        CHECK(path && g_str_has_prefix(path, rows[i].begin));
        CHECK(path && g_str_has_suffix(path, rows[i].end));
        CHECK_INT(zkl_mutex_yield(m), 0); /* it retains nothing */
        zkl_mutex_free(m);
        zkl_session_close(s);
    }
}

/* What answers no error: see every_call for the others. */
TEST_CASE(nothing_given)
{
    CHECK_INT(zkl_grant_token(NULL), 0);
    CHECK(zkl_grant_node(NULL) == NULL);
    CHECK_INT(zkl_grant_session_id(NULL), 0);
    CHECK_INT(zkl_grant_remaining_ms(NULL), 0);
    CHECK_INT(zkl_grant_state(NULL), ZKL_LOST);
    zkl_grant_release(NULL);
    zkl_op_cancel(NULL);
    zkl_op_free(NULL);
    CHECK_INT(zkl_session_fd(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_dispatch(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_timeout_ms(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_id(NULL), 0);
    CHECK(zkl_glib_source_new(NULL) == NULL);
    zkl_session_close(NULL);
    zkl_mutex_free(NULL);
    zkl_election_free(NULL);
    CHECK_INT(zkl_queue_count(NULL), 0);
    CHECK(zkl_queue_get(NULL, 0) == NULL);
    zkl_queue_free(NULL);
    zkl_watch_free(NULL);
}

/* Whichever goes first. */
TEST_CASE(source_outlives_its_session)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    GMainContext *context = g_main_context_new();

    o.dispatch = 1;
    zkl_session *s = fake_open_session("fake:1", &o);
    GSource *source = zkl_glib_source_new(s);
    REQUIRE(source != NULL);
    g_source_attach(source, context);
    zkl_session_close(s);
    for (int i = 0; i < 3; i++)
        g_main_context_iteration(context, FALSE);
    CHECK(!g_main_context_pending(context));
    g_source_destroy(source);
    g_source_unref(source);
    g_main_context_unref(context);
}

/* What was made of the options is what the server is asked for. */
TEST_CASE(parents_as_asked)
{
    static const struct {
        zkl_parents parents;
        enum store_mode mode;
    } rows[] = {{ZKL_PARENTS_CONTAINER, STORE_CONTAINER},
                {ZKL_PARENTS_PERSISTENT, STORE_PERSISTENT}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        zkl_session *s = fake_session();
        zkl_mutex *m;
        o.parents = rows[i].parents;
        REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, release_it, NULL, NULL) == 0);
        ANSWER(STORE_CREATE, "/l/", .rc = STORE_NONODE);
        CHECK_STR(fake_request(STORE_CREATE, "/l").path, "/l");
        CHECK_INT(fake_request(STORE_CREATE, "/l").mode, rows[i].mode);
        zkl_mutex_free(m);
        zkl_once_options of_work = ZKL_ONCE_OPTIONS_INIT;
        zkl_once *work;
        of_work.parents = rows[i].parents;
        REQUIRE(zkl_once_new(&work, s, "/o", &of_work) == 0);
        REQUIRE(zkl_once_begin_async(work, ZKL_FOREVER, release_it, NULL, NULL) == 0);
        ANSWER(STORE_SYNC, "/o/record", .rc = STORE_OK);
        ANSWER(STORE_GET, "/o/record", .rc = STORE_NONODE);
        ANSWER(STORE_CREATE, "/o/", .rc = STORE_NONODE);
        CHECK_STR(fake_request(STORE_CREATE, "/o").path, "/o");
        CHECK_INT(fake_request(STORE_CREATE, "/o").mode, rows[i].mode);
        zkl_once_free(work);
        zkl_session_close(s);
    }
}

/* ---- owners of mutexes: who may lock again, and what becomes of their locks ---- */

static uint64_t same_key(void *data)
{
    return *(uint64_t *)data;
}

struct locking {
    zkl_mutex *m;
    int code;
    zkl_error why;
};

static void *lock(void *data)
{
    struct locking *l = data;

    l->code = zkl_mutex_lock(l->m, ZKL_FOREVER, NULL);
    zkl_last_error(&l->why);
    return NULL;
}

/* An owner by key that is acquiring elsewhere would wait for itself; freeing ends its wait. */
TEST_CASE(one_key)
{
    zkl_session *s = fake_session();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    uint64_t key = 7;
    struct locking l;
    pthread_t thread;

    o.name = "one";
    o.key = same_key;
    o.key_data = &key;
    REQUIRE(zkl_mutex_new(&l.m, s, "/b", &o) == 0);
    CHECK_INT(zkl_mutex_lock_async(l.m, 0, NULL, NULL, NULL), ZKL_EINVAL);
    REQUIRE(pthread_create(&thread, NULL, lock, &l) == 0);
    fake_await(STORE_CREATE, "/b");
    CHECK_INT(zkl_mutex_lock(l.m, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_mutex_unlock(l.m), ZKL_EPERM);
    zkl_mutex_free(l.m);
    pthread_join(thread, NULL);
    CHECK_INT(l.code, ZKL_ECLOSED);
    CHECK_STR(l.why.text, "/b: the mutex was freed");
    zkl_session_close(s);
}

/* A handle at /l, where nobody else contends, of owners that are the number of the test's choice.
 */
static uint64_t owner;

static zkl_mutex *mutex_of_owners(zkl_session *s)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;

    o.name = "one";
    o.key = same_key;
    o.key_data = &owner;
    fake_answer_at_once(fake_alone);
    REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
    return m;
}

static zkl_mutex *freed_by_key;

static uint64_t free_by_key(void *data)
{
    zkl_mutex_free(g_steal_pointer(&freed_by_key));
    return same_key(data);
}

static uint64_t end_thread(void *data)
{
    (void)data;
    pthread_exit(NULL);
}

/* The handle, and what it has of the session, still go when it is freed. */
TEST_CASE(key_ends_its_thread)
{
    zkl_session *s = fake_session();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct locking l = {.code = 1};
    const int refs = s->refs;
    pthread_t thread;

    o.key = end_thread;
    REQUIRE(zkl_mutex_new(&l.m, s, "/l", &o) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock, &l) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(l.code, 1);
    zkl_mutex_free(l.m);
    CHECK_INT(s->refs, refs);
    zkl_session_close(s);
}

static int depth_of(zkl_mutex *m)
{
    return zkl_mutex_depth(m);
}

static int lock_unanswered(zkl_mutex *m)
{
    return zkl_mutex_lock(m, 5, NULL);
}

/* While the key is asked for: its owner's hold may go with the handle, and nobody ends a wait that
 * begins then. */
TEST_CASE(key_frees_the_handle)
{
    static const struct {
        int (*fn)(zkl_mutex *m);
        int code;
    } calls[] = {{lock_unanswered, ZKL_ECLOSED}, {zkl_mutex_unlock, ZKL_EPERM}, {depth_of, 0}};
    zkl_session *s = fake_session();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;

    o.key = free_by_key;
    o.key_data = &owner;
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(calls); i++) {
        REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
        fake_answer_at_once(fake_alone);
        if (i % 2)
            CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_depth(m), i % 2);
        fake_answer_at_once(NULL);
        freed_by_key = m;
        CHECK_INT(calls[i / 2].fn(m), calls[i / 2].code);
    }
    zkl_session_close(s);
}

/* An owner that has unlocked is forgotten, and may lock again; so may the one that did last. */
TEST_CASE(owners_by_turns)
{
    static const uint64_t turns[] = {1, 2, 1, 1, 3, 2, 2, 1};
    zkl_session *s = fake_session();
    zkl_mutex *m = mutex_of_owners(s);
    const zkl_grant *g = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(turns); i++) {
        owner = turns[i];
        CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_depth(m), 2);
        CHECK_INT(zkl_grant_state(g), ZKL_HELD);
        owner = 9;
        CHECK_INT(zkl_mutex_depth(m), 0);
        CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
        owner = turns[i];
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_mutex_depth(m), 0);
    }
    zkl_mutex_free(m);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

static bool refuse_creates(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return request->kind == STORE_CREATE && strstr(request->path, "/l/") != NULL;
}

/* Nothing is left of an owner who did not get it, whether it had it before or not. */
TEST_CASE(owner_is_refused)
{
    for (int before = 0; before < 2; before++) {
        zkl_session *s = fake_session();
        zkl_mutex *m = mutex_of_owners(s);
        owner = 1;
        if (before) {
            CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
            CHECK_INT(zkl_mutex_unlock(m), 0);
        }
        for (int i = 0; i < 2; i++) {
            fake_answer_at_once(refuse_creates);
            CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EACCES);
            CHECK_INT(zkl_mutex_depth(m), 0);
            CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
        }
        fake_answer_at_once(fake_alone);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        zkl_mutex_free(m);
        fake_answer_at_once(NULL);
        zkl_session_close(s);
    }
}

static void *ask(void *mutex)
{
    char *name =
        g_strdup_printf(" pid %d thread %" G_GUINT64_FORMAT, (int)getpid(), lock_owner_thread());

    CHECK_INT(zkl_mutex_lock_async(mutex, ZKL_FOREVER, release_it, NULL, NULL), 0);
    const char *data = fake_request(STORE_CREATE, "/l/").data;
    CHECK(data && g_str_has_suffix(data, name));
    ANSWER(STORE_CREATE, "/l/", .rc = STORE_NOAUTH);
    g_free(name);
    return NULL;
}

/* By default a contender has the name of the thread that asks, whoever asked before. */
TEST_CASE(names_of_threads)
{
    zkl_session *s = fake_session();
    pthread_t thread;
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, "/l", NULL) == 0);
    ask(m);
    REQUIRE(pthread_create(&thread, NULL, ask, m) == 0);
    pthread_join(thread, NULL);
    ask(m);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

static struct locking waiter;
static pthread_t freer;
static char *node; /* of the waiter */

static void *free_it(void *data)
{
    (void)data;
    zkl_mutex_free(waiter.m);
    return NULL;
}

/* Until somebody has the handle's lock, which is given up only behind the session's monitor. */
static void wait_locked(zkl_mutex *m)
{
    struct handle *h = (struct handle *)m;

    while (pthread_mutex_trylock(&h->lock) == 0) {
        pthread_mutex_unlock(&h->lock);
        g_usleep(1000);
    }
}

/* The waiter is alone. But before it hears of that, another thread is in zkl_mutex_free(). */
static bool free_and_answer(const struct store_request *request, struct store_reply *reply)
{
    static char *names[1];

    if (request->kind != STORE_LIST)
        return false;
    fake_answer_at_once(NULL);
    if (CHECK(pthread_create(&freer, NULL, free_it, NULL) == 0))
        wait_locked(waiter.m);
    names[0] = strrchr(node, '/') + 1;
    *reply = (struct store_reply){.rc = STORE_OK, .names = names, .count = 1};
    return true;
}

/* Nobody holds a mutex that was freed: what is granted meanwhile is released again. */
TEST_CASE(freed_as_it_is_granted)
{
    zkl_session *s = fake_session();
    pthread_t thread;

    REQUIRE(zkl_mutex_new(&waiter.m, s, "/l", NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock, &waiter) == 0);
    fake_await(STORE_LIST, "/l");
    node = fake_created_name("/l", 7);
    ANSWER(STORE_CREATE, "/l", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_LIST, "/l", .rc = STORE_UNKNOWN);
    fake_answer_at_once(free_and_answer);
    fake_event(STORE_EV_UP);
    pthread_join(thread, NULL);
    pthread_join(freer, NULL);
    CHECK_INT(waiter.code, ZKL_ECLOSED);
    CHECK_STR(waiter.why.text, "/l: the mutex was freed");
    CHECK(fake_is_asked(STORE_DELETE, node));
    g_free(node);
    zkl_session_close(s);
}

/* ---- threads that end ---- */

static atomic_int warnings;

static void count_warning(const zkl_log_record *record, void *data)
{
    (void)data;
    CHECK_STR(record->event, "thread-ended");
    CHECK(g_str_has_suffix(record->path, "/l"));
    atomic_fetch_add(&warnings, 1);
}

/* What a thread leaves: two of its own locks that it holds, one that is a key's, one that it has
 * unlocked, and one that it never had. */
enum { OF_A_KEY, HELD, UNLOCKED, RETAINED, UNTOUCHED, HANDLES };

static void *use(void *handles)
{
    zkl_mutex **m = handles;

    owner = lock_owner_thread();
    for (int i = OF_A_KEY; i <= UNLOCKED; i++)
        CHECK_INT(zkl_mutex_lock(m[i], ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m[UNLOCKED]), 0);
    for (int i = 0; i < HANDLES; i++) {
        CHECK_INT(zkl_mutex_unlock(m[OF_A_KEY]), 0);
        CHECK_INT(zkl_mutex_lock(m[OF_A_KEY], ZKL_FOREVER, NULL), 0);
    }
    CHECK_INT(zkl_mutex_lock(m[RETAINED], ZKL_FOREVER, NULL),
              0); /* last: the store lists its node */
    return NULL;
}

/* What is the thread's goes with it, even where it would be retained; and what is its key's stays,
 * whatever number that is. */
TEST_CASE(thread_ends)
{
    static const char *const paths[HANDLES] = {"/l", "/a/l", "/b/l", "/c/l", "/d/l"};
    zkl_session_options with_log = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex *m[HANDLES];
    pthread_t thread;

    atomic_store(&warnings, 0);
    with_log.log = count_warning;
    zkl_session *s = fake_open_session("fake:1", &with_log);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    for (int i = 0; i < HANDLES; i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        o.retain_ms = i == RETAINED ? 60000 : 0;
        if (i == OF_A_KEY)
            m[i] = mutex_of_owners(s);
        else
            REQUIRE(zkl_mutex_new(&m[i], s, paths[i], &o) == 0);
    }
    REQUIRE(pthread_create(&thread, NULL, use, m) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(zkl_mutex_depth(m[OF_A_KEY]), 1);
    CHECK_INT(contenders_of(s)->drivers.list.length, 1);
    CHECK_INT(zkl_mutex_unlock(m[OF_A_KEY]), 0);
    for (int i = 0; i < HANDLES; i++)
        zkl_mutex_free(m[i]);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
    CHECK_INT(warnings, 2);
}

/* ---- forks ---- */

static int use_in_child(void)
{
    zkl_session *s = fake_session();
    zkl_mutex *m = mutex_of_owners(s);
    const int code = zkl_mutex_lock(m, ZKL_FOREVER, NULL);
    zkl_mutex_free(m);
    return code;
}

static void check_child(pid_t child)
{
    int status = 0;

    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In parent and child, handles of the parent's and their own. When the thread ends that both have,
 * the child leaves alone what it holds in the parent. */
TEST_CASE(handles_behind_a_fork)
{
    if (!runner_starts_threads_in_children())
        return;
    const uint64_t me = lock_owner_thread();
    zkl_session *s = fake_session();
    zkl_mutex *before[] = {mutex_of_owners(s), NULL}, *m;

    owner = 1;
    REQUIRE(zkl_mutex_new(&before[1], s, "/x/l", NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(zkl_mutex_lock(before[i], ZKL_FOREVER, NULL), 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        zkl_mutex_free(before[0]);
        const int code = use_in_child();
        handle_thread_ends(me);
        const struct hold *hold = g_hash_table_lookup(((struct handle *)before[1])->holds, &me);
        _exit(code || !hold || hold->depth != 1);
    }
    check_child(child);
    m = mutex_of_owners(s);
    zkl_mutex_free(m);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(zkl_mutex_unlock(before[i]), 0);
        zkl_mutex_free(before[i]);
    }
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

/* What is posted, in this order; the last twice. */
enum { LOCKED, STOPPED, GO, FORKED, DONE, POSTED };

struct ending {
    zkl_session *s;
    zkl_mutex *m;
    sem_t posted[POSTED];
};

static void *lock_and_end(void *data)
{
    struct ending *e = data;

    CHECK_INT(zkl_mutex_lock(e->m, ZKL_FOREVER, NULL), 0);
    sem_post(&e->posted[LOCKED]);
    sem_wait(&e->posted[GO]);
    handle_thread_ends(lock_owner_thread());
    sem_wait(&e->posted[DONE]);
    return NULL;
}

/* Has the session's monitor until there is a child, which must not be, or would have been. */
static void *stop_session(void *data)
{
    struct ending *e = data;

    session_lock(e->s);
    sem_post(&e->posted[STOPPED]);
    for (int i = 0; i < 200 && sem_trywait(&e->posted[FORKED]) != 0; i++)
        g_usleep(1000);
    session_unlock(e->s);
    sem_wait(&e->posted[DONE]);
    return NULL;
}

static pid_t fork_as_it_ends(struct ending *e, pthread_t threads[2])
{
    REQUIRE(pthread_create(&threads[0], NULL, lock_and_end, e) == 0);
    sem_wait(&e->posted[LOCKED]);
    REQUIRE(pthread_create(&threads[1], NULL, stop_session, e) == 0);
    sem_wait(&e->posted[STOPPED]);
    sem_post(&e->posted[GO]);
    wait_locked(e->m);
    return fork();
}

/* A fork waits for the thread that has the list of all handles, which would be in use for ever in
 * the child. Nothing is logged, nor does any thread begin or end meanwhile: not every sanitizer's
 * memory outlives a fork then. */
TEST_CASE(fork_as_a_thread_ends)
{
    if (!runner_starts_threads_in_children())
        return;
    zkl_session_options quiet = ZKL_SESSION_OPTIONS_INIT;
    struct ending e;
    pthread_t threads[2];

    for (int i = 0; i < POSTED; i++)
        sem_init(&e.posted[i], 0, 0);
    quiet.log_level = ZKL_LOG_ERROR;
    e.s = fake_open_session("fake:1", &quiet);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    fake_answer_at_once(fake_alone);
    REQUIRE(zkl_mutex_new(&e.m, e.s, "/l", NULL) == 0);
    const pid_t child = fork_as_it_ends(&e, threads);
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(use_in_child() != 0);
    sem_post(&e.posted[FORKED]);
    check_child(child);
    for (int i = 0; i < 2; i++)
        sem_post(&e.posted[DONE]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    zkl_mutex_free(e.m);
    fake_answer_at_once(NULL);
    zkl_session_close(e.s);
}
