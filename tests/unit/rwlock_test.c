/* What the calls of a read-write lock ask for, and what they answer to those who may not. */
#include "fake_store.h"
#include "suites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static zkl_session *s;
static zkl_rwlock *l;
static char made[128]; /* the contender's node */
static char data[64];
static const char *beside; /* another child */
static bool odd;           /* the node's name is none that we would give */
static atomic_int deleted; /* requests for that */

/* The store has what it was asked to create, and what stands beside it. */
static bool answer(const struct store_request *request, struct store_reply *reply)
{
    static char *names[2];

    *reply = (struct store_reply){
        .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5, .names = names};
    if (request->kind == STORE_CREATE) {
        char **parts = g_strsplit(request->path, "-__", 2);
        g_snprintf(made, sizeof made, "%s%s-__%s0000000007", parts[0], odd ? "-odd" : "", parts[1]);
        g_strfreev(parts);
        g_snprintf(data, sizeof data, "%.*s", request->length, request->data);
        reply->path = made;
    }
    atomic_fetch_add(&deleted, request->kind == STORE_DELETE);
    names[0] = made[0] ? strrchr(made, '/') + 1 : made;
    names[1] = (char *)beside;
    reply->count = request->kind == STORE_LIST ? beside ? 2 : 1 : 0;
    return true;
}

static void begin(const zkl_rwlock_options *options)
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

static void check_refused(int (*unlock)(zkl_rwlock *l), const char *text)
{
    zkl_error why;

    CHECK_INT(unlock(l), ZKL_EPERM);
    zkl_last_error(&why);
    CHECK_STR(why.text, text);
}

static void check_levels(int levels, int of_readers)
{
    int shared = -1;

    CHECK_INT(zkl_rwlock_depth(l, &shared), levels);
    CHECK_INT(shared, of_readers);
}

/* Levels of both sides, undone in any order: each side has its own, and says so. */
static void levels_of_sides(void)
{
    begin(NULL);
    check_levels(0, 0);
    check_refused(zkl_rwlock_unlock, "/l: the caller does not hold it");
    for (int writers = 1; writers <= 2; writers++) {
        CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
        check_levels(writers, 0);
        check_refused(zkl_rwlock_unlock_shared, "/l: the caller does not hold it as a reader");
    }
    for (int readers = 1; readers <= 2; readers++) {
        CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, NULL), 0);
        check_levels(2 + readers, readers);
    }
    for (int readers = 1; readers >= 0; readers--) {
        CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
        check_levels(2 + readers, readers);
    }
    for (int writers = 1; writers >= 0; writers--) {
        CHECK_INT(zkl_rwlock_unlock(l), 0);
        check_levels(writers, 0);
    }
    check_refused(zkl_rwlock_unlock_shared, "/l: the caller does not hold it");
    CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, NULL), 0);
    check_refused(zkl_rwlock_unlock, "/l: the caller does not hold it as a writer");
    CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
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

static void *lock_and_end(void *code)
{
    *(int *)code = zkl_rwlock_lock(l, ZKL_FOREVER, NULL);
    return NULL;
}

static void owner_ends(void)
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

/* Who waits is told. */
static void freed(void)
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

/* The node has the name; a foreign child is no error. */
static void options(void)
{
    zkl_rwlock_options o = ZKL_RWLOCK_OPTIONS_INIT;

    o.name = "who";
    begin(&o);
    beside = "foreign";
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
    CHECK_STR(data, "who");
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    end();
}

/* ---- a writer becomes a reader ---- */

enum { MADE, UNKNOWN, GONE, TOOK, CHANGED };

static int turn_of_events;
static atomic_int reads_of_reader, reads_of_writer; /* but those that leave a watch */
static atomic_int watches_of_writer, applied;
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
    atomic_fetch_add(&watches_of_writer, of_writer && request->watch);
    if (request->kind == STORE_GET && !request->watch)
        atomic_fetch_add(of_writer ? &reads_of_writer : &reads_of_reader, 1);
    return request->kind == STORE_GET || request->kind == STORE_STAT;
}

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

static void on_applied(const zkl_error *error, void *user)
{
    (void)user;
    atomic_store(&applied, error ? error->code : 0);
}

static void change_something(void)
{
    const zkl_change change = {ZKL_CHANGE_CREATE, 0, "/x", "1", 1};

    atomic_store(&applied, 1);
    CHECK_INT(zkl_grant_multi_async(grant, &change, 1, 0, ZKL_FOREVER, on_applied, NULL), 0);
}

/* Holds on both sides, gives the writer's back, and is asked to create the read node. */
static char *begin_down(int events)
{
    zkl_rwlock_options o = ZKL_RWLOCK_OPTIONS_INIT;

    o.name = "who";
    turn_of_events = events;
    reads_of_reader = reads_of_writer = watches_of_writer = 0;
    begin(&o);
    REQUIRE(zkl_rwlock_lock(l, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_rwlock_lock_shared(l, 0, &grant) == 0);
    g_strlcpy(write_node, zkl_grant_node(grant), sizeof write_node);
    fake_answer_at_once(answer_reads);
    if (events == CHANGED)
        change_something();
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    wait_asked(STORE_CREATE, "/l");
    const struct store_request asked = fake_request(STORE_CREATE, "/l");
    CHECK_INT(asked.mode, STORE_EPHEMERAL);
    CHECK_INT(asked.length, 3);
    CHECK(memcmp(asked.data, "who", 3) == 0);
    return g_strdup(asked.path);
}

/* As long as one level is a writer's, or there is nothing left to become a reader. */
static void stays_a_writer(void)
{
    begin(NULL);
    turn_of_events = MADE;
    for (int i = 0; i < 2; i++)
        REQUIRE(zkl_rwlock_lock(l, ZKL_FOREVER, &grant) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(zkl_rwlock_lock_shared(l, 0, NULL) == 0);
    fake_answer_at_once(answer_reads);
    CHECK_INT(zkl_rwlock_unlock_shared(l), 0);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK(!fake_is_asked(STORE_CREATE, "/l"));
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    fake_next_session();
    while (zkl_grant_state(grant) != ZKL_LOST)
        g_usleep(1000);
    CHECK_INT(zkl_rwlock_unlock(l), ZKL_ELOST);
    CHECK(!fake_is_asked(STORE_CREATE, "/l"));
    CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_ELOST);
    end();
}

static void becomes_a_reader(void)
{
    static const int events[] = {MADE, UNKNOWN, MADE};

    for (int i = 0; i < 3; i++) {
        odd = i == 2;
        char *path = begin_down(events[i]);
        CHECK_INT(strstr(write_node, "-odd-") != NULL, odd);
        CHECK(strstr(path, "-odd-") == NULL);
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
    odd = false;
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

/* It waits for the end of a transaction, and there is nothing left to move then. */
static void lost_before_it_moves(void)
{
    char *path = begin_down(CHANGED);

    ANSWER(STORE_CREATE, "/l", .rc = STORE_OK, .path = path, .ephemeral_owner = FAKE_SESSION_ID);
    while (atomic_load(&reads_of_writer) == 0 || atomic_load(&watches_of_writer) == 0)
        g_usleep(1000);
    fake_watch(write_node, true);
    CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
    ANSWER(STORE_MULTI, "/l", .rc = STORE_NONODE);
    while (atomic_load(&applied) == 1)
        g_usleep(1000);
    CHECK_INT(applied, ZKL_ELOST);
    CHECK_STR(zkl_grant_node(grant), write_node);
    CHECK_INT(zkl_rwlock_unlock_shared(l), ZKL_ELOST);
    end();
    g_free(path);
}

static const struct test_case cases[] = {
    {"bad_rwlock", bad_rwlock},
    {"sides", sides},
    {"levels_of_sides", levels_of_sides},
    {"sides_cancelable", sides_cancelable},
    {"owner_ends", owner_ends},
    {"freed", freed},
    {"sides_async", sides_async},
    {"options", options},
    {"stays_a_writer", stays_a_writer},
    {"becomes_a_reader", becomes_a_reader},
    {"write_node_was_gone", write_node_was_gone},
    {"lost_before_it_moves", lost_before_it_moves},
    {NULL, NULL},
};

const struct test_suite rwlock_suite = {"rwlock", NULL, NULL, cases};
