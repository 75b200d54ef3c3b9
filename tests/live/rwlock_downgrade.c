/* A writer becomes a reader on a real server: no gap, one grant, and nothing is left behind. */
#include "fault.h"
#include "fourletter.h"
#include "suites.h"

#include <string.h>

/* A writer that reads as well, with a reader and a writer behind it. */
static struct scene {
    zkl_session *session;
    zkl_rwlock *lock;
    zkl_grant *grant;
    const char *node;
    uint64_t token;
    struct told told;
    struct acquisition reader, writer;
} scene;

static void begin(void)
{
    fault_begin();
    memset(&scene, 0, sizeof scene);
    scene.session = fault_proxied(FAULT_LONG_MS);
    scene.lock = fault_rwlock(scene.session);
    REQUIRE(zkl_rwlock_lock(scene.lock, FAULT_LIMIT_MS, &scene.grant) == 0);
    CHECK_INT(zkl_rwlock_lock_shared(scene.lock, 0, NULL), 0);
    CHECK_INT(zkl_grant_on_change(scene.grant, told_fn, &scene.told), 0);
    scene.node = zkl_grant_node(scene.grant);
    scene.token = zkl_grant_token(scene.grant);
    zkl_session *other = fault_direct(FAULT_LONG_MS);
    acquisition_start_rw(&scene.reader, fault_rwlock(other), true, ZKL_FOREVER);
    EVENTUALLY(fault_children() == 2);
    acquisition_start_rw(&scene.writer, fault_rwlock(other), false, ZKL_FOREVER);
    EVENTUALLY(fault_children() == 3);
}

/* The reader behind comes in, the writer behind that one does not. */
static void check_downgraded(void)
{
    const char *node;

    REQUIRE(acquisition_granted(&scene.reader));
    node = zkl_grant_node(scene.grant);
    CHECK(g_strrstr(node, "-__READ__") != NULL && g_strrstr(scene.node, "-__WRIT__") != NULL);
    CHECK_STR(strrchr(node, '_'), strrchr(scene.node, '_'));
    CHECK_INT(raw_exists(fault.direct, node, NULL), ZOK);
    EVENTUALLY(raw_exists(fault.direct, scene.node, NULL) == ZNONODE);
    CHECK(zkl_grant_token(scene.grant) == scene.token);
    CHECK_INT(told_times(&scene.told, ZKL_LOST) + told_times(&scene.told, ZKL_RELEASED), 0);
    EVENTUALLY(zkl_grant_state(scene.grant) == ZKL_HELD);
    CHECK_INT(atomic_load(&scene.writer.done), 0);
    CHECK_INT(fault_children(), 3);
}

static void end(void)
{
    CHECK_INT(zkl_rwlock_unlock_shared(scene.lock), 0);
    EVENTUALLY(told_times(&scene.told, ZKL_RELEASED) == 1);
    CHECK_INT(atomic_load(&scene.writer.done), 0);
    acquisition_end(&scene.reader);
    REQUIRE(acquisition_granted(&scene.writer));
    CHECK(zkl_grant_token(scene.writer.grant) > scene.token);
    acquisition_end(&scene.writer);
    fault_end();
}

static void both_behind_come_in(void)
{
    REQUIRE(acquisition_granted(&scene.reader));
    acquisition_end(&scene.reader);
    REQUIRE(acquisition_granted(&scene.writer));
    acquisition_end(&scene.writer);
    fault_end();
}

static void others_read(void)
{
    begin();
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    CHECK_INT(zkl_rwlock_lock(scene.lock, 0, NULL), ZKL_EDEADLK);
    check_downgraded();
    end();
}

/* The outcome of each request of it unknown once, done or not. */
static void one_message_lost(void)
{
    static const int ops[] = {PROXY_OP_CREATE2, PROXY_OP_DELETE};

    for (int i = 0; i < 4; i++) {
        begin();
        proxy_reset_stats(fault.proxy);
        if (i & 1)
            proxy_lose_request_to(fault.proxy, ops[i / 2]);
        else
            proxy_lose_reply_to(fault.proxy, ops[i / 2]);
        CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
        CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
        check_downgraded();
        end();
    }
}

/* Each answer is late, so that the next cut comes before some of them. */
static void cut_again_and_again(void)
{
    enum { CUTS = 8 };

    begin();
    proxy_delay_ms(fault.proxy, PROXY_TO_CLIENT, 20);
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    for (int i = 0; i < CUTS; i++) {
        proxy_reset(fault.proxy);
        proxy_reset_stats(fault.proxy);
        EVENTUALLY(proxy_requests(fault.proxy, PROXY_OP_ANY) > 0);
    }
    check_downgraded();
    end();
}

/* Without a connection nothing happens, and unlock() waits for nothing. */
static void cut_meanwhile(void)
{
    begin();
    proxy_cut(fault.proxy);
    EVENTUALLY(told_times(&scene.told, ZKL_SUSPECT) == 1);
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    CHECK_INT(atomic_load(&scene.reader.done), 0);
    CHECK_INT(raw_exists(fault.direct, scene.node, NULL), ZOK);
    proxy_heal(fault.proxy);
    check_downgraded();
    end();
}

/* All levels are undone before anything was asked of the server, or while it is asked. */
static void released_meanwhile(void)
{
    for (int cut = 0; cut < 3; cut++) {
        begin();
        if (cut == 1)
            proxy_cut(fault.proxy);
        else if (cut == 2)
            proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
        CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
        CHECK_INT(zkl_rwlock_unlock_shared(scene.lock), 0);
        proxy_heal(fault.proxy);
        both_behind_come_in();
    }
}

static void lost_meanwhile(void)
{
    begin();
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT); /* what is asked is done, and not answered */
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    EVENTUALLY(fault_children() == 4);
    CHECK_INT(atomic_load(&scene.reader.done), 0);
    EVENTUALLY(told_times(&scene.told, ZKL_LOST) == 1);
    proxy_heal(fault.proxy);
    CHECK_INT(zkl_rwlock_unlock_shared(scene.lock), ZKL_ELOST);
    CHECK_INT(told_times(&scene.told, ZKL_LOST), 1);
    both_behind_come_in();
}

/* Somebody deletes the write node before the read node is there: a loss, and that goes, too. */
static void write_node_deleted_before(void)
{
    begin();
    EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(scene.session), scene.node) == 1);
    proxy_freeze(fault.proxy, PROXY_TO_SERVER);
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    CHECK_INT(raw_delete(fault.direct, scene.node), ZOK);
    EVENTUALLY(told_times(&scene.told, ZKL_LOST) == 1);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_rwlock_unlock_shared(scene.lock), ZKL_ELOST);
    both_behind_come_in();
}

/* Behind it, and before that is known: nobody can tell that it was not before. */
static void write_node_deleted_behind(void)
{
    begin();
    proxy_freeze(fault.proxy, PROXY_TO_SERVER);
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
    proxy_thaw(fault.proxy);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    raw_delete(fault.direct, scene.node);
    EVENTUALLY(told_times(&scene.told, ZKL_LOST) == 1 || zkl_grant_node(scene.grant) != scene.node);
    zkl_rwlock_unlock_shared(scene.lock);
    both_behind_come_in();
}

static void read_node_deleted_later(void)
{
    begin();
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    check_downgraded();
    CHECK_INT(raw_delete(fault.direct, zkl_grant_node(scene.grant)), ZOK);
    EVENTUALLY(told_times(&scene.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_rwlock_unlock_shared(scene.lock), ZKL_ELOST);
    acquisition_end(&scene.reader);
    REQUIRE(acquisition_granted(&scene.writer));
    acquisition_end(&scene.writer);
    fault_end();
}

/* ---- transactions ---- */

static void on_applied(const zkl_error *err, void *applied)
{
    CHECK(err == NULL);
    atomic_fetch_add((atomic_int *)applied, 1);
}

static int set(const char *path, const char *text)
{
    const zkl_change change = {ZKL_CHANGE_SET, -1, path, text, strlen(text)};

    return zkl_grant_multi(scene.grant, &change, 1, 0, FAULT_LIMIT_MS);
}

/* Those under way are fenced by the write node, which stays for them; the next by the read node. */
static void transactions_around_it(void)
{
    static const char path[] = "/rwlock-data";
    const zkl_change change = {ZKL_CHANGE_SET, -1, path, "x", 1};
    struct Stat stat = {0};
    atomic_int applied = 0;

    for (int lose = 0; lose < 3; lose++) {
        begin();
        raw_delete_tree(fault.direct, path);
        CHECK_INT(raw_create(fault.direct, path, "0", 1, 0, NULL), ZOK);
        atomic_store(&applied, 0);
        CHECK_INT(set(path, "y"), 0);
        if (lose == 1)
            proxy_lose_reply_to(fault.proxy, PROXY_OP_MULTI);
        else if (lose == 2)
            proxy_lose_request_to(fault.proxy, PROXY_OP_MULTI);
        for (int i = 0; i < 3; i++)
            CHECK_INT(zkl_grant_multi_async(scene.grant, &change, 1, 0, FAULT_LIMIT_MS, on_applied,
                                            &applied),
                      0);
        CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
        check_downgraded();
        EVENTUALLY(atomic_load(&applied) == 3);
        CHECK_INT(set(path, "z"), 0);
        CHECK_INT(raw_exists(fault.direct, path, &stat), ZOK);
        CHECK_INT(stat.version, 5);
        CHECK_INT(raw_delete(fault.direct, path), ZOK);
        end();
    }
}

/* One that gives the grant back while the downgrade is under way leaves nothing. */
static void given_back_by_a_transaction(void)
{
    begin();
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    CHECK_INT(zkl_rwlock_unlock(scene.lock), 0);
    atomic_int applied = 0;
    CHECK_INT(zkl_grant_multi_async(scene.grant, NULL, 0, ZKL_MULTI_RELEASE, FAULT_LIMIT_MS,
                                    on_applied, &applied),
              0);
    proxy_thaw(fault.proxy);
    EVENTUALLY(atomic_load(&applied) == 1);
    zkl_rwlock_unlock_shared(scene.lock);
    both_behind_come_in();
}

static const struct test_case cases[] = {
    {"others_read", others_read},
    {"one_message_lost", one_message_lost},
    {"cut_again_and_again", cut_again_and_again},
    {"cut_meanwhile", cut_meanwhile},
    {"released_meanwhile", released_meanwhile},
    {"lost_meanwhile", lost_meanwhile},
    {"write_node_deleted_before", write_node_deleted_before},
    {"write_node_deleted_behind", write_node_deleted_behind},
    {"read_node_deleted_later", read_node_deleted_later},
    {"transactions_around_it", transactions_around_it},
    {"given_back_by_a_transaction", given_back_by_a_transaction},
    {0},
};

const struct test_suite rwlock_downgrade_suite = {"rwlock_downgrade", fault_start, fault_stop,
                                                  cases};
