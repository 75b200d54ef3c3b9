/* Fenced transactions on a real server: applied once and only under the lock; and the daemon's own
 * calls on the session's handle. */
#include "fault.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>
#include <zkl-zookeeper.h>

static char *data_path; /* of what the transactions change */

static int start(void)
{
    data_path = g_strdup("/fence-data");
    return fault_start();
}

static int stop(void)
{
    g_clear_pointer(&data_path, g_free);
    return fault_stop();
}

TEST_SUITE(fence, .init = start, .done = stop);

static void begin(void)
{
    fault_begin();
    raw_delete_tree(fault.direct, data_path);
    CHECK_INT(raw_create(fault.direct, data_path, "0", 1, 0, NULL), ZOK);
}

/* The data's version counts how often it was set. */
static int data_version(void)
{
    struct Stat stat = {0};

    CHECK_INT(raw_exists(fault.direct, data_path, &stat), ZOK);
    return stat.version;
}

static void check_data(const char *wanted, int version)
{
    char *found = raw_get(fault.direct, data_path, NULL);

    CHECK_STR(found, wanted);
    free(found);
    CHECK_INT(data_version(), version);
}

static int set_data(const zkl_grant *grant, const char *text, unsigned flags)
{
    const zkl_change set = {ZKL_CHANGE_SET, -1, data_path, text, strlen(text)};

    return zkl_grant_multi(grant, &set, 1, flags, ZKL_FOREVER);
}

static const zkl_grant *hold(zkl_mutex *m)
{
    const zkl_grant *grant = NULL;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    return grant;
}

static void check_error(int code, const char *path)
{
    zkl_error error;

    CHECK_INT(zkl_last_error(&error), code);
    CHECK_STR(error.path, path);
}

/* Each kind of change; and all or none. */
TEST_CASE(all_or_none)
{
    begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    char *child = g_strconcat(data_path, "/child", NULL);
    const zkl_change good[] = {{ZKL_CHANGE_CHECK, 0, data_path, NULL, 0},
                               {ZKL_CHANGE_SET, 0, data_path, "a\0b", 3},
                               {ZKL_CHANGE_CREATE, 0, child, NULL, 0}};
    const zkl_change exists[] = {{ZKL_CHANGE_SET, 1, data_path, "x", 1},
                                 {ZKL_CHANGE_CREATE, 0, child, "y", 1}};
    const zkl_change version = {ZKL_CHANGE_SET, 7, data_path, "x", 1},
                     not_empty = {ZKL_CHANGE_DELETE, -1, data_path, NULL, 0},
                     missing = {ZKL_CHANGE_CHECK, -1, "/fence-missing", NULL, 0},
                     last = {ZKL_CHANGE_DELETE, 0, child, NULL, 0};

    const zkl_grant *grant = hold(m);
    CHECK_INT(zkl_grant_multi(grant, good, 3, 0, ZKL_FOREVER), 0);
    check_data("a", 1);
    CHECK_INT(zkl_grant_multi(grant, exists, 2, 0, ZKL_FOREVER), ZKL_EEXIST);
    check_error(ZKL_EEXIST, child);
    CHECK_INT(zkl_grant_multi(grant, &version, 1, 0, ZKL_FOREVER), ZKL_EVERSION);
    CHECK_INT(zkl_grant_multi(grant, &not_empty, 1, 0, ZKL_FOREVER), ZKL_ENOTEMPTY);
    CHECK_INT(zkl_grant_multi(grant, &missing, 1, 0, ZKL_FOREVER), ZKL_ENOENT);
    check_error(ZKL_ENOENT, "/fence-missing");
    check_data("a", 1);
    CHECK_INT(zkl_grant_multi(grant, &last, 1, 0, ZKL_FOREVER), 0);
    CHECK_INT(raw_exists(fault.direct, child, NULL), ZNONODE);
    CHECK_INT(zkl_grant_multi(grant, NULL, 0, 0, ZKL_FOREVER), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
    g_free(child);
}

/* The waiter behind is woken by each transaction, and stays where it is. */
TEST_CASE(waiter_stays)
{
    struct acquisition a, b;

    begin();
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    for (int i = 0; i < 20; i++)
        CHECK_INT(set_data(a.grant, "x", 0), 0);
    CHECK_INT(atomic_load(&b.done), 0);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    acquisition_end(&a);
    CHECK(acquisition_granted(&b));
    acquisition_end(&b);
    check_data("x", 20);
    fault_end();
}

/* Sent while the lock was held, and held up by the network until it was another's. */
TEST_CASE(too_late)
{
    struct acquisition a, b;

    begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(30000)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(30000)), 2);
    proxy_freeze(fault.proxy, PROXY_TO_SERVER);
    CHECK_INT(raw_delete(fault.direct, zkl_grant_node(a.grant)), ZOK);
    CHECK(acquisition_granted(&b));
    CHECK_INT(set_data(b.grant, "new", 0), 0);
    CHECK_INT(zkl_grant_state(b.grant), ZKL_HELD);
    g_usleep(1); /* the thaw may come before or after the request: both must be refused */
    proxy_thaw(fault.proxy);
    CHECK_INT(set_data(a.grant, "old", 0), ZKL_ELOST);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    check_data("new", 1);
    acquisition_end(&a);
    acquisition_end(&b);
    fault_end();
}

struct late {
    atomic_int calls;
    int code;
};

static void on_late(const zkl_error *error, void *data)
{
    struct late *late = data;

    late->code = error ? error->code : 0;
    atomic_fetch_add(&late->calls, 1);
}

/* The request itself is under way when the lock goes to another. */
TEST_CASE(overtaken)
{
    struct acquisition a, b;
    struct late late = {.calls = 0};
    const zkl_change set = {ZKL_CHANGE_SET, -1, data_path, "old", 3};

    begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(30000)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(30000)), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    CHECK_INT(zkl_grant_multi_async(a.grant, &set, 1, 0, ZKL_FOREVER, on_late, &late), 0);
    CHECK_INT(raw_delete(fault.direct, zkl_grant_node(a.grant)), ZOK);
    CHECK(acquisition_granted(&b));
    CHECK_INT(set_data(b.grant, "new", 0), 0);
    CHECK_INT(atomic_load(&late.calls), 0);
    proxy_thaw(fault.proxy);
    EVENTUALLY(atomic_load(&late.calls) == 1);
    CHECK_INT(late.code, ZKL_ELOST);
    check_data("new", 1);
    acquisition_end(&a);
    acquisition_end(&b);
    fault_end();
}

/* The connection breaks with the request or with its answer: applied once all the same. */
TEST_CASE(lost_messages)
{
    begin();
    zkl_mutex *m = fault_mutex(fault_proxied(30000));
    const zkl_grant *grant = hold(m);
    for (int i = 0; i < 6; i++) {
        proxy_reset_stats(fault.proxy);
        if (i % 2)
            proxy_lose_request_to(fault.proxy, PROXY_OP_MULTI);
        else
            proxy_lose_reply_to(fault.proxy, PROXY_OP_MULTI);
        CHECK_INT(set_data(grant, "x", 0), 0);
        CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
        check_data("x", i + 1);
    }
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
}

TEST_CASE(given_back)
{
    struct acquisition b;

    begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    const zkl_grant *grant = hold(m);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    CHECK_INT(set_data(grant, "done", ZKL_MULTI_RELEASE), 0);
    CHECK_INT(zkl_grant_state(grant), ZKL_RELEASED);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(grant), NULL), ZNONODE);
    CHECK(acquisition_granted(&b));
    check_data("done", 1);
    CHECK_INT(set_data(grant, "again", 0), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELOST); /* until each level is undone */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    acquisition_end(&b);
    hold(m);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
}

/* The lock goes on to the next whatever became of the transaction. */
TEST_CASE(given_back_in_doubt)
{
    struct acquisition a, b, c;

    begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(30000)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(30000)), 2);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_MULTI);
    CHECK_INT(set_data(a.grant, "x", ZKL_MULTI_RELEASE), ZKL_EUNKNOWN);
    CHECK(acquisition_granted(&b));
    check_data("x", 1);
    acquisition_queue(&c, fault_mutex(fault_direct(30000)), 2);
    const zkl_change wrong = {ZKL_CHANGE_SET, 9, data_path, "y", 1};
    CHECK_INT(zkl_grant_multi(b.grant, &wrong, 1, ZKL_MULTI_RELEASE, ZKL_FOREVER), ZKL_EVERSION);
    CHECK(acquisition_granted(&c));
    check_data("x", 1);
    CHECK_INT(told_times(&a.told, ZKL_LOST) + told_times(&b.told, ZKL_LOST), 0);
    CHECK_INT(told_times(&a.told, ZKL_RELEASED), 1);
    acquisition_end(&a);
    acquisition_end(&b);
    acquisition_end(&c);
    fault_end();
}

enum { THREADS = 4 };

struct counter {
    zkl_mutex *mutex;
    int rounds;
    atomic_int *applied;
    struct raw *reader;
};

/* Reads under the lock, and writes what follows: without a lock, or with a transaction applied
 * twice, the last number is not the number of transactions. */
static void *count(void *data)
{
    struct counter *c = data;

    for (int i = 0; i < c->rounds; i++) {
        char text[16];
        const zkl_grant *grant = hold(c->mutex);
        raw_sync(c->reader, data_path);
        char *before = raw_get(c->reader, data_path, NULL);
        g_snprintf(text, sizeof text, "%d", atoi(before ? before : "0") + 1);
        free(before);
        if (CHECK_INT(set_data(grant, text, 0), 0))
            atomic_fetch_add(c->applied, 1);
        CHECK_INT(zkl_mutex_unlock(c->mutex), 0);
    }
    return NULL;
}

TEST_CASE(counted_through_cuts)
{
    const int rounds = fault_scaled(40);
    atomic_int applied = 0;
    struct counter counters[THREADS];
    pthread_t threads[THREADS];
    char text[16];

    begin();
    for (int i = 0; i < THREADS; i++) {
        zkl_session *s = i % 2 ? fault_direct(30000) : fault_proxied(30000);
        counters[i] = (struct counter){fault_mutex(s), rounds, &applied,
                                       raw_open(zk_server_connect(fault.server))};
        REQUIRE(counters[i].reader != NULL);
        REQUIRE(pthread_create(&threads[i], NULL, count, &counters[i]) == 0);
    }
    for (int next = 5; next < THREADS * rounds; next += 10) {
        EVENTUALLY(atomic_load(&applied) >= next);
        proxy_reset(fault.proxy);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        raw_close(counters[i].reader);
    }
    g_snprintf(text, sizeof text, "%d", THREADS * rounds);
    check_data(text, THREADS * rounds);
    fault_end();
}

/* As large as a server takes, and no larger. */
TEST_CASE(large)
{
    char *text = g_strnfill(990000, 'x'), *more = g_strnfill(1000000, 'x');

    begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    const zkl_grant *grant = hold(m);
    CHECK_INT(set_data(grant, text, 0), 0);
    CHECK_INT(set_data(grant, more, 0), ZKL_ELIMIT);
    CHECK_INT(data_version(), 1);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
    g_free(text);
    g_free(more);
}

/* What we add to the user's changes counts too: too much is refused by us, never by the server,
 * which would drop the connection. */
TEST_CASE(many_small)
{
    enum { MOST = 20000 };
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    char *chroot = g_strdup_printf("%s/%0120d", data_path, 0);
    char *connect = g_strconcat(zk_server_connect(fault.server), chroot, NULL);
    zkl_change *changes = g_new0(zkl_change, MOST);
    int code = ZKL_ELIMIT;

    begin();
    CHECK_INT(raw_create(fault.direct, chroot, NULL, -1, 0, NULL), ZOK);
    options.session_timeout_ms = FAULT_LONG_MS;
    options.acl = "world:anyone:cdrwa,digest:operator:aaaaaaaaaaaaaaaaaaaaaaaaaaa=:r,ip:10.0.0.1:r";
    zkl_session *s = fault_session_options(connect, &options);
    zkl_mutex *m = fault_mutex(s);
    const zkl_grant *grant = hold(m);
    for (size_t i = 0; i < MOST; i++)
        changes[i] = (zkl_change){ZKL_CHANGE_CREATE, 0, "/a/b", NULL, 0};
    for (size_t count = MOST; code == ZKL_ELIMIT; count -= count / 20)
        code = zkl_grant_multi(grant, changes, count, 0, ZKL_FOREVER);
    CHECK_INT(code, ZKL_ENOENT);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_close(s);
    fault_end();
    g_free(changes);
    g_free(connect);
    g_free(chroot);
}

TEST_CASE(below_chroot)
{
    begin();
    char *connect = g_strconcat(zk_server_connect(fault.server), data_path, NULL);
    const zkl_change create = {ZKL_CHANGE_CREATE, 0, "/made", "x", 1};
    zkl_session *s = fault_session(connect, FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    const zkl_grant *grant = hold(m);
    CHECK_INT(zkl_grant_multi(grant, &create, 1, 0, ZKL_FOREVER), 0);
    CHECK_INT(raw_exists(fault.direct, "/fence-data/made", NULL), ZOK);
    CHECK_INT(zkl_grant_multi(grant, &create, 1, 0, ZKL_FOREVER), ZKL_EEXIST);
    check_error(ZKL_EEXIST, "/made");
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_close(s);
    fault_end();
    g_free(connect);
}

/* ---- the daemon's own calls ---- */

struct call {
    zkl_grant *grant;
    const char *path;
    int check, code, results[2];
};

static void set_fenced(zhandle_t *zh, void *data)
{
    struct call *c = data;
    zoo_op_t ops[2];
    zoo_op_result_t results[2] = {{0}};

    c->check = zkl_grant_check_op(c->grant, ops, 1);
    zoo_set_op_init(&ops[1], c->path, "x", 1, -1, NULL);
    c->code = zoo_multi(zh, 2, ops, results);
    for (int i = 0; i < 2; i++)
        c->results[i] = results[i].err;
}

TEST_CASE(own_transaction)
{
    struct acquisition a;
    struct call c = {.path = "/fence-own"};

    fault_begin();
    raw_delete_tree(fault.direct, c.path);
    CHECK_INT(raw_create(fault.direct, c.path, NULL, -1, 0, NULL), ZOK);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(acquisition_granted(&a));
    c.grant = a.grant;
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.check, 1);
    CHECK_INT(c.code, ZOK);
    CHECK_INT(raw_delete(fault.direct, zkl_grant_node(a.grant)), ZOK);
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.code, ZNONODE);
    CHECK_INT(c.results[0], ZNONODE);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.check, ZKL_ELOST);
    CHECK_INT(c.code, ZNONODE);
    struct Stat stat;
    CHECK_INT(raw_exists(fault.direct, c.path, &stat), ZOK);
    CHECK_INT(stat.version, 1);
    acquisition_end(&a);
    fault_end();
}

static void count_call(zhandle_t *zh, void *data)
{
    CHECK_INT(zoo_exists(zh, "/", 0, NULL), ZOK);
    ++*(int *)data;
}

struct busy {
    atomic_bool begun, go_on, closed;
    zkl_session *session;
    int code;
};

static void use_late(zhandle_t *zh, void *data)
{
    struct busy *b = data;

    atomic_store(&b->begun, true);
    while (!atomic_load(&b->go_on))
        g_usleep(1000);
    /* A handle that was closed meanwhile is freed: a sanitizer would tell. */
    b->code = zoo_exists(zh, "/", 0, NULL);
}

static void *call(void *data)
{
    struct busy *b = data;

    CHECK_INT(zkl_session_call(b->session, use_late, b), 0);
    return NULL;
}

static void *close_session(void *data)
{
    struct busy *b = data;

    fault_close(b->session);
    atomic_store(&b->closed, true);
    return NULL;
}

TEST_CASE(close_waits_for_calls)
{
    struct busy b = {.begun = false};
    pthread_t caller, closer;

    fault_begin();
    b.session = fault_direct(FAULT_LONG_MS);
    REQUIRE(pthread_create(&caller, NULL, call, &b) == 0);
    EVENTUALLY(atomic_load(&b.begun));
    REQUIRE(pthread_create(&closer, NULL, close_session, &b) == 0);
    EVENTUALLY(zkl_session_wait(b.session, 0) == ZKL_ECLOSED);
    CHECK(!atomic_load(&b.closed));
    atomic_store(&b.go_on, true);
    pthread_join(caller, NULL);
    pthread_join(closer, NULL);
    CHECK_INT(b.code, ZOK);
    fault_end();
}

static void call_until_canceled(zhandle_t *zh, void *data)
{
    struct busy *b = data;

    (void)zh;
    atomic_store(&b->begun, true);
    while (!atomic_load(&b->go_on))
        g_usleep(1000); /* a point of cancellation, as the library's own calls have them */
}

static void *call_canceled(void *data)
{
    struct busy *b = data;

    CHECK_INT(zkl_session_call(b->session, call_until_canceled, b), 0);
    pthread_testcancel();
    return NULL;
}

/* The handle comes back all the same: else the session would live as long as the process. */
TEST_CASE(canceled_in_a_call)
{
    struct busy b = {.begun = false};
    struct acquisition a;
    pthread_t caller;
    void *result;

    fault_begin();
    b.session = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(b.session), 1);
    REQUIRE(pthread_create(&caller, NULL, call_canceled, &b) == 0);
    EVENTUALLY(atomic_load(&b.begun));
    pthread_cancel(caller);
    g_usleep(20000); /* the longer, the surer is it seen that it does not end before it may */
    atomic_store(&b.go_on, true);
    pthread_join(caller, &result);
    CHECK(result == PTHREAD_CANCELED);
    fault_close(b.session);
    EVENTUALLY(fault_children() == 0);
    acquisition_end(&a);
    fault_end();
}

static void end_thread_in_a_call(zhandle_t *zh, void *data)
{
    (void)data;
    CHECK_INT(zoo_exists(zh, "/", 0, NULL), ZOK);
    pthread_exit(NULL);
}

static void *call_and_end(void *session)
{
    zkl_session_call(session, end_thread_in_a_call, NULL);
    CHECK(false);
    return session;
}

/* Likewise. */
TEST_CASE(thread_ends_in_a_call)
{
    struct acquisition a;
    pthread_t caller;
    void *result;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    REQUIRE(pthread_create(&caller, NULL, call_and_end, s) == 0);
    pthread_join(caller, &result);
    CHECK(!result);
    fault_close(s);
    EVENTUALLY(fault_children() == 0);
    acquisition_end(&a);
    fault_end();
}

struct own_watch {
    const char *node;
    atomic_int gone;
};

static void on_own(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        atomic_fetch_add(&((struct own_watch *)context)->gone, 1);
}

static void watch_own(zhandle_t *zh, void *data)
{
    struct own_watch *w = data;
    char nothing[1];
    int length = sizeof nothing;

    CHECK_INT(zoo_wget(zh, w->node, on_own, w, nothing, &length, NULL), ZOK);
}

/* Where the library needs its own no more. */
TEST_CASE(own_watch_stays)
{
    struct acquisition a, waiter;
    struct own_watch w = {.gone = 0};
    int calls = 0;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    w.node = zkl_grant_node(a.grant);
    CHECK_INT(zkl_session_call(s, watch_own, &w), 0);
    proxy_reset_stats(fault.proxy);
    acquisition_queue(&waiter, fault_mutex(s), 2);
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_DATA, 1, UNTIL_LATE));
    zkl_op_cancel(waiter.op);
    CHECK(acquisition_failed(&waiter, ZKL_ECANCELED));
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(zkl_session_call(s, count_call, &calls), 0); /* behind what the library has asked */
    CHECK_INT(raw_delete(fault.direct, w.node), ZOK);
    EVENTUALLY(atomic_load(&w.gone) == 1);
    acquisition_end(&waiter);
    acquisition_end(&a);
    fault_end();
}
