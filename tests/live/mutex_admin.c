/* An administrator deletes and writes what is not his. */
#include "fourletter.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <fcntl.h>
#include <unistd.h>

TEST_SUITE(mutex_admin, .init = live_init);

static void delete_node(struct live *t, const char *path)
{
    REQUIRE(raw_delete(t->admin, path) == ZOK);
}

/* The holder is told, its unlock says so, the waiter is granted, and the lock goes on working. */
TEST_CASE(holder_deleted)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    delete_node(t, zkl_grant_node(g));
    changes_wait(&changes, ZKL_LOST);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(locker_result(l), 0);
    CHECK(locker_done(l) && (uint64_t)l->token > zkl_grant_token(g));
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_ERROR(ZKL_ELOST, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* Nobody asked to be told: the state says it all the same. */
TEST_CASE(holder_deleted_untold)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    REQUIRE(completion_wait(&c) == 0);
    delete_node(t, zkl_grant_node(c.grant));
    LIVE_UNTIL(zkl_grant_state(c.grant) == ZKL_LOST);
    zkl_grant_release(c.grant);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* In the place of stderr: a pipe that is full. What stderr was. */
static int block_stderr(int *ret_reader)
{
    static const char some[4096];
    int ends[2], usual = dup(STDERR_FILENO);
    REQUIRE(usual >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    while (write(ends[1], some, sizeof some) > 0)
        continue;
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    *ret_reader = ends[0];
    return usual;
}

/* The line about a lost lock finds no room, and nobody waits for that. */
TEST_CASE(told_though_stderr_blocks)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_session *s;
    const zkl_grant *g;
    int reader;
    REQUIRE(zkl_session_open(&s, t->connect, NULL, NULL) == 0);
    zkl_mutex *m = live_mutex(s, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    int usual = block_stderr(&reader);
    delete_node(t, zkl_grant_node(g));
    changes_wait(&changes, ZKL_LOST);
    CHECK(zkl_session_id(s) != 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    zkl_mutex_free(m);
    zkl_session_close(s);
    dup2(usual, STDERR_FILENO);
    close(usual);
    close(reader); /* which lets the line go */
    live_end(t);
}

/* Every level owes its unlock, and lock() is no success before the last of them. */
TEST_CASE(nested_after_loss)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g, *again = NULL;
    for (int i = 0; i < 3; i++)
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    uint64_t token = zkl_grant_token(g);
    delete_node(t, zkl_grant_node(g));
    LIVE_UNTIL(zkl_grant_state(g) == ZKL_LOST);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock(m, 0, &again), ZKL_ELOST);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &again), ZKL_ELOST);
        CHECK_ERROR(ZKL_ELOST, t->lock);
        CHECK_INT(zkl_grant_token(g), token);
        CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    }
    CHECK(again == NULL);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
    CHECK(zkl_grant_token(g) > token);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* It goes back to the tail and is served, and who stood behind it is served before. */
TEST_CASE(waiter_deleted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *a = locker_apart(t, t->session, t->lock, 2);
    struct locker *b = locker_apart(t, t->session, t->lock, 3);
    LIVE_UNTIL(live_watches(t) == 2);
    char **queue = live_queue(t, t->lock);
    delete_node(t, queue[1]);
    LIVE_UNTIL(fourletter_watches_on(t->port, queue[2]) == 1); /* both wait for the holder now */
    session_settle(t, t->session);
    CHECK(!locker_done(a) && !locker_done(b));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(b), 0);
    CHECK_STR(b->node, queue[2]);
    CHECK(!locker_done(a));
    CHECK_INT(locker_end(b), 0);
    CHECK_INT(locker_result(a), 0);
    CHECK(g_strcmp0(a->node, queue[2]) > 0 || g_strcmp0(a->node, queue[1]) != 0);
    CHECK_INT(locker_end(a), 0);
    g_strfreev(queue);
    zkl_mutex_free(m);
    live_end(t);
}

/* The last in line loses its node, and then its predecessor goes: no grant without a node. */
TEST_CASE(last_waiter_deleted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct Stat stat;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 2);
    char **queue = live_queue(t, t->lock);
    delete_node(t, queue[1]);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_strcmp0(l->node, queue[1]) != 0);
    REQUIRE(raw_exists(t->admin, l->node, &stat) == ZOK);
    CHECK_INT(stat.czxid, l->token);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    zkl_mutex_free(m);
    live_end(t);
}

/* A write wakes watches as a delete does, but it ends nothing. */
TEST_CASE(nodes_written)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    struct locker *l = locker_queue(t, n, t->lock, 2);
    char **queue = live_queue(t, t->lock);
    for (int i = 0; i < 5; i++) {
        LIVE_UNTIL(fourletter_watches_on(t->port, queue[0]) == 2); /* both are watching again */
        REQUIRE(raw_set(t->admin, queue[0], "x", 1) == ZOK);
        REQUIRE(raw_set(t->admin, queue[1], "y", 1) == ZOK);
    }
    LIVE_UNTIL(fourletter_watches_on(t->port, queue[0]) == 2);
    session_settle(t, other);
    CHECK(!locker_done(l));
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(changes_calls(&changes), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_STR(l->node, queue[1]);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}
