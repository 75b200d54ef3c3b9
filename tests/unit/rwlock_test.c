/* What the calls of a read-write lock ask for, and what they answer to those who may not. */
#include "fake_store.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TEST_SUITE(rwlock);

static zkl_session *s;
static zkl_rwlock *l;
static char made[128]; /* the contender's node */
static char data[64];
static const char *beside; /* another child */
static atomic_int deleted; /* requests for that */

/* The store has what it was asked to create, and what stands beside it. */
static bool answer(const struct store_request *request, struct store_reply *reply)
{
    static char *names[2];

    *reply = (struct store_reply){
        .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5, .names = names};
    if (request->kind == STORE_CREATE) {
        g_snprintf(made, sizeof made, "%s0000000007", request->path);
        g_snprintf(data, sizeof data, "%.*s", request->length, request->data);
        reply->path = made;
    }
    atomic_fetch_add(&deleted, request->kind == STORE_DELETE);
    names[0] = made[0] ? strrchr(made, '/') + 1 : made;
    names[1] = (char *)beside;
    reply->count = request->kind == STORE_LIST ? beside ? 2 : 1 : 0;
    return true;
}

static void begin(const zkl_mutex_options *options)
{
    made[0] = data[0] = '\0';
    deleted = 0;
    beside = NULL;
    s = fake_session();
    fake_answer_at_once(answer);
    REQUIRE(zkl_rwlock_new(&l, s, "/l", options) == 0);
}

static void end(void)
{
    zkl_rwlock_free(l);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

static void check_refused(const char *text)
{
    zkl_error why;

    CHECK_INT(zkl_rwlock_unlock(l), ZKL_EPERM);
    zkl_last_error(&why);
    CHECK_STR(why.text, text);
}

TEST_CASE(bad_rwlock)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    begin(NULL);
    CHECK_INT(zkl_rwlock_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    zkl_rwlock *other;
    CHECK_INT(zkl_rwlock_new(&other, NULL, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_new(&other, s, "a", NULL), ZKL_EINVAL);
    o.name = "\xff";
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT;
    o.parents = (zkl_parents)7;
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    const zkl_mutex_options bad[] = {{.size = 0},
                                     {.size = sizeof bad[0], .peer = ZKL_PEER_KAZOO},
                                     {.size = sizeof bad[0], .retain_ms = 1},
                                     {.size = sizeof bad[0], .fence64 = 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK_INT(zkl_rwlock_new(&other, s, "/a", &bad[i]), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_unlock(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_depth(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_async(l, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared_async(l, 0, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_rwlock_free(NULL);
    end();
}

/* Each call makes the node of its side. */
TEST_CASE(sides)
{
    begin(NULL);
    check_refused("/l: the caller does not hold it");
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
    CHECK(strstr(made, "-__WRIT__0000000007"));
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, NULL), 0);
    CHECK(strstr(made, "-__READ__0000000007"));
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), 0);
    CHECK_INT(zkl_rwlock_depth(l), 2);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_depth(l), 0);
    check_refused("/l: the caller does not hold it");
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0); /* anew, and so it may */
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    end();
}

/* Levels of both sides stand on the writer's grant. All of them are a writer's, and the library
 * asks nothing between the first and the last. */
TEST_CASE(reads_within_a_write)
{
    const zkl_grant *first, *g;

    begin(NULL);
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, &first), 0);
    made[0] = '\0';
    fake_answer_at_once(NULL);
    for (int depth = 2; depth <= 4; depth++) {
        CHECK_INT((depth == 3 ? zkl_rwlock_lock : zkl_rwlock_lock_shared)(l, 0, &g), 0);
        CHECK(g == first);
        CHECK_INT(zkl_rwlock_depth(l), depth);
    }
    for (int depth = 3; depth >= 1; depth--) {
        CHECK_INT(zkl_rwlock_unlock(l), 0);
        CHECK_INT(zkl_rwlock_depth(l), depth);
        CHECK_INT(zkl_rwlock_lock(l, 0, NULL), 0); /* it may write still */
        CHECK_INT(zkl_rwlock_unlock(l), 0);
        CHECK(strstr(zkl_grant_node(first), "-__WRIT__"));
        CHECK_INT(zkl_grant_state(first), ZKL_HELD);
    }
    CHECK(made[0] == '\0' && !fake_is_asked(STORE_CREATE, "/l"));
    CHECK(!fake_is_asked(STORE_DELETE, "/l"));
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK(fake_is_asked(STORE_DELETE, "/l"));
    check_refused("/l: the caller does not hold it");
    end();
}

/* Each level still owes its unlock. */
TEST_CASE(lost_with_levels)
{
    const zkl_grant *grant;

    begin(NULL);
    REQUIRE(zkl_rwlock_lock(l, ZKL_FOREVER, &grant) == 0);
    REQUIRE(zkl_rwlock_lock_shared(l, 0, NULL) == 0);
    REQUIRE(zkl_rwlock_lock_shared(l, 0, NULL) == 0);
    fake_next_session();
    while (zkl_grant_state(grant) != ZKL_LOST)
        g_usleep(1000);
    for (int depth = 3; depth >= 1; depth--) {
        CHECK_INT(zkl_rwlock_depth(l), depth);
        CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_ELOST);
        CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), ZKL_ELOST);
        CHECK_INT(zkl_rwlock_unlock(l), ZKL_ELOST);
    }
    check_refused("/l: the caller does not hold it");
    end();
}

static void *lock_and_end(void *code)
{
    *(int *)code = zkl_rwlock_lock(l, ZKL_FOREVER, NULL);
    return NULL;
}

TEST_CASE(owner_ends)
{
    pthread_t thread;
    int code;

    begin(NULL);
    REQUIRE(pthread_create(&thread, NULL, lock_and_end, &code) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(code, 0);
    while (atomic_load(&deleted) == 0)
        g_usleep(1000);
    end();
}

static zkl_grant *_Atomic granted;
static atomic_int failed;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *user)
{
    (void)user;
    atomic_store(&granted, grant);
    atomic_store(&failed, error ? error->code : 0);
}

/* A caller that waits is told. */
TEST_CASE(freed)
{
    begin(NULL);
    fake_answer_at_once(NULL);
    atomic_store(&failed, 0);
    CHECK_INT(zkl_rwlock_lock_async(l, ZKL_FOREVER, on_acquired, NULL, NULL), 0);
    zkl_rwlock_free(l);
    l = NULL;
    while (atomic_load(&failed) == 0)
        g_usleep(1000);
    CHECK_INT(failed, ZKL_ECLOSED);
    end();
}

/* By a completion, or by a wait. */
TEST_CASE(sides_async)
{
    static int (*const calls[])(zkl_rwlock *, int64_t, zkl_acquired_fn, void *,
                                zkl_op **) = {zkl_rwlock_lock_async, zkl_rwlock_lock_shared_async};
    static const char *const names[] = {"-__WRIT__", "-__READ__"};

    for (int i = 0; i < 2; i++) {
        zkl_grant *waited;
        zkl_op *op;

        begin(NULL);
        atomic_store(&granted, NULL);
        CHECK_INT(calls[i](l, ZKL_FOREVER, on_acquired, NULL, NULL), 0);
        while (!atomic_load(&granted))
            g_usleep(1000);
        CHECK(strstr(zkl_grant_node(granted), names[i]));
        CHECK_INT(zkl_rwlock_depth(l), 0); /* it belongs to no thread */
        zkl_grant_release(granted);
        CHECK_INT(calls[i](l, ZKL_FOREVER, NULL, NULL, &op), 0);
        CHECK_INT(zkl_op_wait(op, &waited), 0);
        CHECK(strstr(zkl_grant_node(waited), names[i]));
        zkl_grant_release(waited);
        zkl_op_free(op);
        end();
    }
}

/* The node has the name; a foreign child is no error. */
TEST_CASE(options)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.name = "who";
    begin(&o);
    beside = "foreign";
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
    CHECK_STR(data, "who");
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    end();
}
