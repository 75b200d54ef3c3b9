/* What the calls of a read-write lock ask for, and what they answer to those who may not. */
#include "fake_store.h"
#include "suites.h"

#include <stdatomic.h>
#include <string.h>

static zkl_session *s;
static zkl_rwlock *l;
static char made[128]; /* the contender's node */
static char data[64];
static const char *beside; /* another child */

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
    names[0] = made[0] ? strrchr(made, '/') + 1 : made;
    names[1] = (char *)beside;
    reply->count = request->kind == STORE_LIST ? beside ? 2 : 1 : 0;
    return true;
}

static void begin(const zkl_rwlock_options *options)
{
    made[0] = data[0] = '\0';
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

static void bad_rwlock(void)
{
    zkl_rwlock_options o = ZKL_RWLOCK_OPTIONS_INIT;
    int shared = 3;

    begin(NULL);
    CHECK_INT(zkl_rwlock_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    zkl_rwlock *other;
    CHECK_INT(zkl_rwlock_new(&other, NULL, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_new(&other, s, "a", NULL), ZKL_EINVAL);
    o.name = "\xff";
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_rwlock_options)ZKL_RWLOCK_OPTIONS_INIT;
    o.parents = (zkl_parents)7;
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_rwlock_options)ZKL_RWLOCK_OPTIONS_INIT;
    o.strict = 2;
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_rwlock_options){.size = 0};
    CHECK_INT(zkl_rwlock_new(&other, s, "/a", &o), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_unlock(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_unlock_shared(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_depth(NULL, &shared), ZKL_EINVAL);
    CHECK_INT(shared, 3);
    CHECK_INT(zkl_rwlock_lock_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_async(l, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_rwlock_lock_shared_async(l, 0, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_rwlock_free(NULL);
    end();
}

/* Each call makes the node of its side, and undoes levels of its side alone. */
static void sides(void)
{
    int shared;

    begin(NULL);
    CHECK_INT(zkl_rwlock_unlock(l), ZKL_EPERM);
    CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_EPERM);
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
    CHECK(strstr(made, "-__WRIT__0000000007"));
    CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_EPERM);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, NULL), 0);
    CHECK(strstr(made, "-__READ__0000000007"));
    CHECK_INT(zkl_rwlock_unlock(l), ZKL_EPERM);
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), 0);
    CHECK_INT(zkl_rwlock_depth(l, &shared), 2);
    CHECK_INT(shared, 2);
    CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
    CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
    CHECK_INT(zkl_rwlock_depth(l, &shared), 0);
    CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_EPERM);
    end();
}

static zkl_grant *_Atomic granted;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *user)
{
    (void)error;
    (void)user;
    atomic_store(&granted, grant);
}

static void sides_async(void)
{
    static int (*const calls[])(zkl_rwlock *, int64_t, zkl_acquired_fn, void *,
                                zkl_op **) = {zkl_rwlock_lock_async, zkl_rwlock_lock_shared_async};
    static const char *const names[] = {"-__WRIT__", "-__READ__"};

    for (int i = 0; i < 2; i++) {
        begin(NULL);
        atomic_store(&granted, NULL);
        CHECK_INT(calls[i](l, ZKL_FOREVER, on_acquired, NULL, NULL), 0);
        while (!atomic_load(&granted))
            g_usleep(1000);
        CHECK(strstr(zkl_grant_node(granted), names[i]));
        CHECK_INT(zkl_rwlock_depth(l, NULL), 0); /* it belongs to no thread */
        zkl_grant_release(granted);
        end();
    }
}

/* The node has the name; a foreign child is an error to one that is strict, and only to it. */
static void options(void)
{
    for (int strict = 0; strict < 2; strict++) {
        zkl_rwlock_options o = ZKL_RWLOCK_OPTIONS_INIT;
        o.name = "who";
        o.strict = strict;
        begin(&o);
        beside = "foreign";
        CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), strict ? ZKL_ELAYOUT : 0);
        CHECK_STR(data, "who");
        CHECK_INT(zkl_rwlock_unlock(l), strict ? ZKL_EPERM : 0);
        end();
    }
}

static const struct test_case cases[] = {
    {"bad_rwlock", bad_rwlock}, {"sides", sides}, {"sides_async", sides_async},
    {"options", options},       {NULL, NULL},
};

const struct test_suite rwlock_suite = {"rwlock", NULL, NULL, cases};
