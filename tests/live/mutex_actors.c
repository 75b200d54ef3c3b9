#include "mutex_actors.h"

#include "live.h"

/* ---- locker ---- */

static void *run_locker(void *data)
{
    struct locker *l = data;
    const zkl_grant *grant = NULL;
    int code = zkl_mutex_lock(l->mutex, l->timeout_ms, &grant);
    pthread_mutex_lock(&l->lock);
    l->code = code;
    if (code == 0) {
        l->grant = grant;
        l->token = (int64_t)zkl_grant_token(grant);
        g_strlcpy(l->node, zkl_grant_node(grant), sizeof(l->node));
    } else {
        zkl_last_error(&l->error);
    }
    l->done = true;
    pthread_cond_broadcast(&l->changed);
    while (!l->told)
        pthread_cond_wait(&l->changed, &l->lock);
    bool unlock = l->code == 0 && l->mutex;
    pthread_mutex_unlock(&l->lock);
    if (unlock)
        l->unlock_code = zkl_mutex_unlock(l->mutex);
    return NULL;
}

struct locker *locker_start(zkl_mutex *m, int64_t timeout_ms)
{
    struct locker *l = g_new0(struct locker, 1);
    l->mutex = m;
    l->timeout_ms = timeout_ms;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    REQUIRE(pthread_create(&l->thread, NULL, run_locker, l) == 0);
    return l;
}

bool locker_done(struct locker *l)
{
    pthread_mutex_lock(&l->lock);
    bool done = l->done;
    pthread_mutex_unlock(&l->lock);
    return done;
}

int locker_result(struct locker *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->done)
        pthread_cond_wait(&l->changed, &l->lock);
    int code = l->code;
    pthread_mutex_unlock(&l->lock);
    return code;
}

static int join(struct locker *l, bool unlock)
{
    locker_result(l);
    pthread_mutex_lock(&l->lock);
    l->told = true;
    if (!unlock)
        l->mutex = NULL;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    int code = l->unlock_code;
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    g_free(l);
    return code;
}

int locker_end(struct locker *l)
{
    return join(l, true);
}

int locker_abandon(struct locker *l)
{
    return join(l, false);
}

struct locker *locker_queue(struct live *t, zkl_mutex *m, const char *path, int n)
{
    struct locker *l = locker_start(m, ZKL_FOREVER);
    LIVE_UNTIL(live_contenders(t, path) == n);
    return l;
}

struct locker *locker_apart(struct live *t, zkl_session *s, const char *path, int n)
{
    return locker_queue(t, live_mutex(s, path), path, n);
}

/* ---- completion ---- */

void completion_take(zkl_grant *grant, const zkl_error *error, void *completion)
{
    struct completion *c = completion;
    CHECK((grant != NULL) != (error != NULL));
    pthread_mutex_lock(&c->lock);
    c->calls++;
    c->grant = grant;
    c->thread = pthread_self();
    if (error)
        c->error = *error;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

int completion_wait(struct completion *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->calls == 0)
        pthread_cond_wait(&c->changed, &c->lock);
    int code = c->error.code;
    pthread_mutex_unlock(&c->lock);
    return code;
}

int completion_calls(struct completion *c)
{
    pthread_mutex_lock(&c->lock);
    int calls = c->calls;
    pthread_mutex_unlock(&c->lock);
    return calls;
}

/* ---- changes ---- */

void changes_take(const zkl_grant *grant, zkl_state state, void *changes)
{
    struct changes *c = changes;
    CHECK(zkl_grant_token(grant) != 0);
    pthread_mutex_lock(&c->lock);
    c->calls++;
    c->seen[state]++;
    c->last = state;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void changes_wait(struct changes *c, zkl_state state)
{
    pthread_mutex_lock(&c->lock);
    while (c->seen[state] == 0)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

int changes_seen(struct changes *c, zkl_state state)
{
    pthread_mutex_lock(&c->lock);
    int seen = c->seen[state];
    pthread_mutex_unlock(&c->lock);
    return seen;
}

int changes_calls(struct changes *c)
{
    pthread_mutex_lock(&c->lock);
    int calls = c->calls;
    pthread_mutex_unlock(&c->lock);
    return calls;
}

/* ---- gate ---- */

void gate_pass(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->entered = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

void gate_wait_entered(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->entered)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

/* ---- session ---- */

static zkl_mutex *mutex_beside(const struct live *t, zkl_session *s, const char *name)
{
    char *path = g_strdup_printf("%s/%s", t->path, name);
    zkl_mutex *m = live_mutex(s, path);
    g_free(path);
    return m;
}

/* Its requests queue behind those before, and answers decide in their order. */
void session_settle(struct live *t, zkl_session *s)
{
    zkl_mutex *m = mutex_beside(t, s, "settle");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

static void stay(zkl_grant *grant, const zkl_error *error, void *gate)
{
    CHECK(error == NULL);
    gate_pass(gate);
    zkl_grant_release(grant);
}

void session_block(struct live *t, zkl_session *s, struct gate *g)
{
    zkl_mutex *m = mutex_beside(t, s, "block");
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, stay, g, NULL) == 0);
    gate_wait_entered(g);
}
