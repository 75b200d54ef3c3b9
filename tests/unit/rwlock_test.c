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

static void sides_cancelable(void)
{
    zkl_canceler *canceler;

    begin(NULL);
    REQUIRE(zkl_canceler_new(&canceler) == 0);
    CHECK_INT(zkl_rwlock_lock_cancelable(l, ZKL_FOREVER, canceler, NULL), 0);
    CHECK(strstr(made, "-__WRIT__"));
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock_shared_cancelable(l, ZKL_FOREVER, canceler, NULL), 0);
    CHECK(strstr(made, "-__READ__"));
    CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
    end();
    zkl_canceler_free(canceler);
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

/* ---- a writer becomes a reader ---- */

enum { MADE, UNKNOWN, GONE, TOOK };

static int turn_of_events;
static atomic_int reads_of_reader, reads_of_writer; /* but those that leave a watch */
static char write_node[128];
static zkl_grant *grant;

/* Reads alone: the write node is there or not, the read node is whenever it is looked for. */
static bool answer_reads(const struct store_request *request, struct store_reply *reply)
{
    const bool of_writer = strstr(request->path, "-__WRIT__") != NULL;

    *reply = (struct store_reply){.rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5};
    if (of_writer && turn_of_events == GONE)
        reply->rc = STORE_NONODE;
    if (of_writer && turn_of_events == TOOK)
        reply->ephemeral_owner = FAKE_SESSION_ID + 1;
    if (request->kind == STORE_GET && !request->watch)
        atomic_fetch_add(of_writer ? &reads_of_writer : &reads_of_reader, 1);
    return request->kind == STORE_GET || request->kind == STORE_STAT;
}

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

/* Holds on both sides, gives the writer's back, and is asked to create the read node. */
static char *begin_down(int events)
{
    zkl_rwlock_options o = ZKL_RWLOCK_OPTIONS_INIT;

    o.name = "who";
    turn_of_events = events;
    reads_of_reader = reads_of_writer = 0;
    begin(&o);
    REQUIRE(zkl_rwlock_lock(l, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_rwlock_lock_shared(l, 0, &grant) == 0);
    g_strlcpy(write_node, zkl_grant_node(grant), sizeof write_node);
    fake_answer_at_once(answer_reads);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    wait_asked(STORE_CREATE, "/l");
    const struct store_request asked = fake_request(STORE_CREATE, "/l");
    CHECK_INT(asked.mode, STORE_EPHEMERAL);
    CHECK_INT(asked.length, 3);
    CHECK(memcmp(asked.data, "who", 3) == 0);
    return g_strdup(asked.path);
}

static void becomes_a_reader(void)
{
    static const int events[] = {MADE, UNKNOWN};

    for (int i = 0; i < 2; i++) {
        char *path = begin_down(events[i]);
        CHECK(g_str_has_suffix(path, "-__READ__0000000007"));
        ANSWER(STORE_CREATE, "/l", .rc = events[i] == MADE ? STORE_OK : STORE_UNKNOWN, .path = path,
               .ephemeral_owner = FAKE_SESSION_ID);
        wait_asked(STORE_DELETE, write_node);
        CHECK_STR(zkl_grant_node(grant), path);
        CHECK_INT(reads_of_reader, events[i] == UNKNOWN);
        CHECK_INT(reads_of_writer, 1);
        CHECK_INT(zkl_grant_token(grant), 5);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        CHECK(!fake_is_asked(STORE_DELETE, path));
        ANSWER(STORE_DELETE, write_node, .rc = STORE_OK);
        CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
        wait_asked(STORE_DELETE, path);
        end();
        g_free(path);
    }
}

/* Without the write node it cannot be told who came in between. */
static void write_node_was_gone(void)
{
    static const int events[] = {GONE, TOOK};

    for (int i = 0; i < 2; i++) {
        char *path = begin_down(events[i]);
        ANSWER(STORE_CREATE, "/l", .rc = STORE_OK, .path = path,
               .ephemeral_owner = FAKE_SESSION_ID);
        wait_asked(STORE_DELETE, path);
        CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
        CHECK_STR(zkl_grant_node(grant), write_node);
        CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_ELOST);
        end();
        g_free(path);
    }
}

static const struct test_case cases[] = {
    {"bad_rwlock", bad_rwlock},
    {"sides", sides},
    {"sides_cancelable", sides_cancelable},
    {"sides_async", sides_async},
    {"options", options},
    {"becomes_a_reader", becomes_a_reader},
    {"write_node_was_gone", write_node_was_gone},
    {NULL, NULL},
};

const struct test_suite rwlock_suite = {"rwlock", NULL, NULL, cases};
