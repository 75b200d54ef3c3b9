/* Being told of changes of a queue, by a real server: whoever reads when told knows all. */
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

TEST_SUITE(queue_watch, .init = live_init);

/* Counts calls; a reader waits for more of them. */
struct bell {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls, heard;
    zkl_watch *watch;
};

#define BELL_INIT                                                                                  \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static void ring(void *data)
{
    struct bell *b = data;
    pthread_mutex_lock(&b->lock);
    b->calls++;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void hear(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->calls == b->heard)
        pthread_cond_wait(&b->changed, &b->lock);
    b->heard = b->calls;
    pthread_mutex_unlock(&b->lock);
}

static int calls(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    int n = b->calls;
    pthread_mutex_unlock(&b->lock);
    return n;
}

/* How many contend; -1: there is no such path. */
static int count(zkl_session *s, const char *path)
{
    zkl_queue *q;
    int code = zkl_queue_read(&q, s, path, NULL, ZKL_FOREVER);
    if (code == ZKL_ENOENT)
        return -1;
    REQUIRE(code == 0);
    code = (int)zkl_queue_count(q);
    zkl_queue_free(q);
    return code;
}

/* Reads as often as it is told, and no more: what is not told is waited for in vain. */
static void await_count(struct bell *b, zkl_session *s, const char *path, int n)
{
    do
        hear(b);
    while (count(s, path) != n);
}

static void begin(struct bell *b, zkl_session *s, const char *path)
{
    REQUIRE(zkl_queue_watch(&b->watch, s, path, ring, b) == 0);
}

/* From a path that is not there, over holders and waiters, to one that is gone again. */
TEST_CASE(changes)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    begin(&b, live_open(t, t->connect, NULL), t->lock);
    await_count(&b, t->session, t->lock, -1);
    for (int round = 0; round < 3; round++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        await_count(&b, t->session, t->lock, 1);
        struct locker *l = locker_queue(t, n, t->lock, 2);
        await_count(&b, t->session, t->lock, 2);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        await_count(&b, t->session, t->lock, 1);
        CHECK_INT(locker_end(l), 0);
        await_count(&b, t->session, t->lock, 0);
        LIVE_UNTIL(raw_delete(t->admin, t->lock) == ZOK);
        await_count(&b, t->session, t->lock, -1);
    }
    zkl_watch_free(b.watch);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* What happens while nobody can tell is told when somebody can; also in another session. */
TEST_CASE(across_connections)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session *s = live_open(t, proxy_connect(p), NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    begin(&b, s, t->lock);
    await_count(&b, s, t->lock, -1);
    proxy_cut(p);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    proxy_heal(p);
    await_count(&b, s, t->lock, 1);
    int64_t before = zkl_session_id(s);
    proxy_cut(p);
    REQUIRE(raw_expire(t->port, before));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    proxy_heal(p);
    await_count(&b, s, t->lock, 0);
    CHECK(zkl_session_id(s) != before);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0); /* watched in that one too */
    await_count(&b, s, t->lock, 1);
    zkl_watch_free(b.watch);
    zkl_mutex_free(m);
    live_end(t);
    proxy_stop(p);
}

/* Nothing is told behind it, and the server forgets the watch; the session's end is one as well. */
TEST_CASE(ends)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT, c = BELL_INIT;
    zkl_session *s = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    begin(&b, t->session, t->lock);
    begin(&c, s, t->lock);
    hear(&b);
    hear(&c);
    CHECK_INT(live_watches(t), 2);
    zkl_watch_free(b.watch);
    live_close(t, s);
    LIVE_UNTIL(live_watches(t) == 0);
    int before = calls(&b), closed = calls(&c);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(calls(&b), before);
    CHECK_INT(calls(&c), closed);
    zkl_watch_free(c.watch);
    zkl_mutex_free(m);
    live_end(t);
}

/* A watcher that is told of a refusal can read why, and is told when the refusal ends. */
TEST_CASE(no_permission)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT;
    zkl_queue *q;
    struct ACL blind[] = {
        {ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN, {(char *)"world", (char *)"anyone"}}};
    struct ACL all[] = {{ZOO_PERM_ALL, {(char *)"world", (char *)"anyone"}}};
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create_acl(t->admin, t->lock, &(struct ACL_vector){1, blind}) == ZOK);
    begin(&b, t->session, t->lock);
    hear(&b);
    CHECK_INT(zkl_queue_read(&q, t->session, t->lock, NULL, ZKL_FOREVER), ZKL_EACCES);
    REQUIRE(raw_set_acl(t->admin, t->lock, &(struct ACL_vector){1, all}) == ZOK);
    hear(&b);
    CHECK_INT(count(t->session, t->lock), 0);
    CHECK_INT(live_logged(t, "watching the queue"), 1);
    zkl_watch_free(b.watch);
    live_end(t);
}
