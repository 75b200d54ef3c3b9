/* Threads that share a few mutexes of two sessions, some of which retain: locked, tried, canceled,
 * unlocked too rarely, and freed. One of the sessions calls back by zkl_session_dispatch(); both
 * are closed at times with everything under way. */
#include "chaos.h"
#include "lib/session/core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SESSIONS = 2, MUTEXES = 8, THREADS = 10, PATHS = 4, LIVES = 200 };

static struct place places[PATHS];

/* Guarded by the lock; users keep it. */
static struct handle {
    zkl_mutex *mutex;
    struct place *place;
    int session, users;
    bool dying;
} handles[MUTEXES];

static struct {
    zkl_session *session;
    int users;
    bool dying;
} sessions[SESSIONS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;

static bool grab(struct handle *h)
{
    pthread_mutex_lock(&lock);
    const bool lives = h->mutex && !h->dying;
    h->users += lives;
    pthread_mutex_unlock(&lock);
    return lives;
}

static void drop_user(int *users)
{
    pthread_mutex_lock(&lock);
    --*users;
    pthread_mutex_unlock(&lock);
}

/* Nobody uses it anew: the last one comes to its end. */
static void wait_unused(const int *users)
{
    for (bool used = true; used; g_usleep(500)) {
        pthread_mutex_lock(&lock);
        used = *users > 0;
        pthread_mutex_unlock(&lock);
    }
}

/* ---- callbacks ---- */

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)data;
    if (state == ZKL_LOST)
        tally_add(&tally.lost);
    if (state < ZKL_LOST && zkl_grant_token(grant) % 8 == 3)
        zkl_grant_on_change(grant, on_change, NULL);
}

static void on_word(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)state, (void)data;
    (void)zkl_grant_remaining_ms(grant);
}

static const int written[] = {ZKL_ELOST, ZKL_EPERM, ZKL_EUNKNOWN, ZKL_EBUSY, ZKL_ELIMIT, 0};

static void on_written(const zkl_error *err, void *unused)
{
    (void)unused;
    chaos_expect(err ? err->code : 0, "a transaction", written);
}

static void listen_to(const zkl_grant *grant, unsigned to)
{
    if (to & 1)
        zkl_grant_on_change(grant, on_change, NULL);
    if (to & 2)
        zkl_grant_on_wanted(grant, on_word, NULL);
    if (to & 4)
        zkl_grant_on_revoke(grant, on_word, NULL);
}

struct call {
    struct handle *handle;
    struct hold hold;
    unsigned does;
};

/* What may be done in a callback is: the lock is tried once more, and given up. */
static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    static const int others[] = {ZKL_EBUSY, 0}, inside[] = {ZKL_EBUSY, ZKL_EDEADLK, ZKL_ELOST, 0};
    struct call *c = data;
    const zkl_change change = {.kind = ZKL_CHANGE_CHECK, .path = "/t", .version = -1};

    chaos_expect(err ? err->code : 0, "an acquisition", others);
    tally_add(grant ? &tally.granted : &tally.failed);
    if (grant) {
        c->hold.grant = grant;
        place_take(c->handle->place, &c->hold);
        listen_to(grant, c->does);
        place_leave(c->handle->place, &c->hold);
        if (c->does & 8)
            zkl_grant_multi_async(grant, &change, 1, c->does & 16 ? ZKL_MULTI_RELEASE : 0, 1000,
                                  on_written, NULL);
        if ((c->does & 32) && grab(c->handle)) {
            const int code = zkl_mutex_lock(c->handle->mutex, 0, NULL);
            chaos_expect(code, "a try in a callback", inside);
            if (code == 0)
                zkl_mutex_unlock(c->handle->mutex);
            drop_user(&c->handle->users);
        }
        zkl_grant_release(grant);
    }
    drop_user(&c->handle->users);
    g_free(c);
}

/* ---- a thread ---- */

static int lock_somehow(struct handle *h, const zkl_grant **ret)
{
    const int64_t limit_ms = chaos(3) == 0 ? 0 : chaos(2) ? chaos(60) : 300;

    return zkl_mutex_lock(h->mutex, limit_ms, ret);
}

/* Once or twice. */
static void use(struct handle *h, const zkl_grant *grant)
{
    const zkl_change change = {.kind = ZKL_CHANGE_CHECK, .path = "/t", .version = -1};

    listen_to(grant, chaos(8));
    if (chaos(6) == 0)
        chaos_expect(zkl_grant_multi(grant, &change, 1, 0, chaos(2) ? 0 : 20), "a transaction",
                     written);
    if (chaos(3) == 0 && zkl_mutex_lock(h->mutex, 0, NULL) == 0)
        zkl_mutex_unlock(h->mutex);
    if (chaos(2))
        g_usleep(chaos(2000));
}

/* False: the thread is to end with what it holds, which is then released for it. */
static bool visit_handle(struct handle *h)
{
    static const int others[] = {ZKL_EBUSY, ZKL_ELOST, 0}, ended[] = {ZKL_ELOST, ZKL_EPERM, 0};
    struct hold hold = {.units = 1, .spoilt = place_spoilt(h->place)};
    const int code = lock_somehow(h, &hold.grant);

    chaos_expect(code, "a lock", others);
    tally_add(code == 0 ? &tally.granted : &tally.failed);
    if (code != 0)
        return true;
    place_take(h->place, &hold);
    use(h, hold.grant);
    place_leave(h->place, &hold);
    if (chaos(40) == 0)
        return false;
    chaos_expect(zkl_mutex_unlock(h->mutex), "an unlock", ended);
    return true;
}

/* The completion uses the handle, too. */
static void call_handle(struct handle *h)
{
    struct call *c = g_new0(struct call, 1);
    char node[CHAOS_PATH];
    zkl_op *op;

    *c = (struct call){h, {.units = 1, .spoilt = place_spoilt(h->place)}, chaos(64)};
    if (!grab(h)) {
        g_free(c);
        return;
    }
    if (zkl_mutex_lock_async(h->mutex, chaos(2) ? chaos(100) : 2000, on_acquired, c, &op) != 0) {
        drop_user(&h->users);
        g_free(c);
        return;
    }
    if (chaos(3) == 0)
        zkl_op_cancel(op);
    (void)zkl_op_node(op, node, sizeof node);
    zkl_op_free(op);
}

static void wait_for_handle(struct handle *h)
{
    static const int others[] = {ZKL_EBUSY, ZKL_ECANCELED, 0};
    struct hold hold = {.units = 1, .spoilt = place_spoilt(h->place)};
    zkl_grant *grant;
    zkl_op *op;

    if (zkl_mutex_lock_async(h->mutex, chaos(2) ? chaos(100) : 2000, NULL, NULL, &op) != 0)
        return;
    if (chaos(3) == 0)
        zkl_op_cancel(op);
    if (chaos(4) != 0) {
        const int code = zkl_op_wait(op, &grant);
        chaos_expect(code, "a wait", others);
        tally_add(code ? &tally.failed : &tally.granted);
        if (code == 0) {
            hold.grant = grant;
            place_take(h->place, &hold);
            listen_to(grant, chaos(8));
            place_leave(h->place, &hold);
            zkl_grant_release(grant);
        }
    }
    zkl_op_free(op);
}

static void *live_once(void *seed)
{
    bool goes_on = true;

    chaos_seed(GPOINTER_TO_UINT(seed));
    for (int n = 0; goes_on && !over && n < LIVES; n++) {
        struct handle *h = &handles[chaos(MUTEXES)];
        const unsigned what = chaos(10);

        if (!grab(h)) {
            g_usleep(500);
            continue;
        }
        tally_add(&tally.asked);
        if (what < 6)
            goes_on = visit_handle(h);
        else if (what == 6)
            call_handle(h);
        else if (what == 7)
            wait_for_handle(h);
        else if (what == 8)
            zkl_mutex_yield(h->mutex);
        else
            (void)zkl_mutex_depth(h->mutex);
        drop_user(&h->users);
    }
    return NULL;
}

/* One thread after the other. */
static void *live(void *seed)
{
    for (guint n = 1; !over; n++) {
        pthread_t t;
        REQUIRE(pthread_create(&t, NULL, live_once,
                               GUINT_TO_POINTER(GPOINTER_TO_UINT(seed) * 7919 + n)) == 0);
        pthread_join(t, NULL);
    }
    return NULL;
}

static void *dispatch(void *unused)
{
    (void)unused;
    while (!over) {
        pthread_mutex_lock(&lock);
        zkl_session *s = sessions[1].dying ? NULL : sessions[1].session;
        sessions[1].users += s != NULL;
        pthread_mutex_unlock(&lock);
        if (s) {
            zkl_session_dispatch(s);
            drop_user(&sessions[1].users);
        }
        g_usleep(300);
    }
    return NULL;
}

/* ---- handles ---- */

static void make_session(int at)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;

    o.session_timeout_ms = CHAOS_TIMEOUT_MS;
    o.log_level = ZKL_LOG_ERROR;
    o.dispatch = at == 1;
    REQUIRE(zkl_session_open(&s, zk_server_connect(server), &o, NULL) == 0);
    session_set_warm_ms(s, chaos(2) ? 50 : 60000);
    pthread_mutex_lock(&lock);
    sessions[at].session = s;
    sessions[at].dying = false;
    pthread_mutex_unlock(&lock);
}

static void make_handle(struct handle *h)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    const int at = (int)chaos(PATHS);
    zkl_mutex *m;
    char path[CHAOS_PATH];

    h->session = (int)chaos(SESSIONS);
    g_snprintf(path, sizeof path, "/t/%d", at);
    if (chaos(2)) {
        o.retain_ms = 1 + (int)chaos(400);
        o.fence64 = chaos(4) == 0;
    }
    REQUIRE(zkl_mutex_new(&m, sessions[h->session].session, path, &o) == 0);
    pthread_mutex_lock(&lock);
    h->place = &places[at];
    h->mutex = m;
    h->dying = false;
    pthread_mutex_unlock(&lock);
}

static void free_handle(struct handle *h)
{
    pthread_mutex_lock(&lock);
    h->dying = true;
    pthread_mutex_unlock(&lock);
    wait_unused(&h->users);
    zkl_mutex_free(h->mutex);
    pthread_mutex_lock(&lock);
    h->mutex = NULL;
    pthread_mutex_unlock(&lock);
}

/* With everything under way; its handles are freed behind that. */
static void close_session(int at)
{
    pthread_mutex_lock(&lock);
    sessions[at].dying = true;
    pthread_mutex_unlock(&lock);
    wait_unused(&sessions[at].users);
    zkl_session_close(sessions[at].session);
    for (int i = 0; i < MUTEXES; i++)
        if (handles[i].mutex && handles[i].session == at)
            free_handle(&handles[i]);
}

static void close_and_open(int at)
{
    close_session(at);
    make_session(at);
    for (int i = 0; i < MUTEXES; i++)
        if (!handles[i].mutex)
            make_handle(&handles[i]);
}

/* ---- administrators ---- */

static void expire_shared(void)
{
    const int64_t id = zkl_session_id(sessions[chaos(SESSIONS)].session);

    for (int i = 0; i < PATHS; i++)
        place_spoil(&places[i], true);
    if (id != 0)
        raw_expire(zk_server_port(server, 0), id);
    for (int i = 0; i < PATHS; i++)
        place_spoil(&places[i], false);
}

/* The first in line is asked to give way, or broken. */
static void meddle(void)
{
    static const int others[] = {ZKL_ENOENT, ZKL_EBUSY, ZKL_EVERSION, 0};
    const int at = (int)chaos(PATHS);
    zkl_queue *q, *asked = NULL;
    char path[CHAOS_PATH];

    g_snprintf(path, sizeof path, "/t/%d", at);
    const int code = zkl_queue_read(&q, sessions[0].session, path, NULL, 500);
    chaos_expect(code, "a look", others);
    if (code != 0)
        return;
    const zkl_contender *first = zkl_queue_count(q) > 0 ? zkl_queue_get(q, 0) : NULL;
    if (first && chaos(3) == 0) {
        place_spoil(&places[at], true);
        const int broken =
            zkl_queue_break(sessions[0].session, path, first->node, first->token, 500);
        chaos_expect(broken, "a break", others);
        if (broken != ZKL_ETIMEDOUT && broken != ZKL_EUNREACHABLE) /* then it may come late */
            place_spoil(&places[at], false);
    } else if (first) {
        chaos_expect(zkl_queue_revoke(&asked, sessions[0].session, path, first->node, 500),
                     "a revocation", others);
    }
    zkl_queue_free(asked);
    zkl_queue_free(q);
}

static void do_to_threads(void)
{
    const unsigned what = chaos(40);
    struct handle *h = &handles[chaos(MUTEXES)];

    if (what < 12) {
        free_handle(h);
        make_handle(h);
    } else if (what < 20) {
        meddle();
    } else if (what == 20) {
        expire_shared();
    } else if (what == 21) {
        close_and_open((int)chaos(SESSIONS));
    }
}

void threads_of_mutexes(void)
{
    pthread_t threads[THREADS], dispatcher;

    for (int i = 0; i < PATHS; i++)
        places[i] = (struct place){.capacity = 1, .rises = true};
    for (int i = 0; i < SESSIONS; i++)
        make_session(i);
    for (int i = 0; i < MUTEXES; i++)
        make_handle(&handles[i]);
    for (guint i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, live,
                               GUINT_TO_POINTER(campaign.seed * 100 + i)) == 0);
    REQUIRE(pthread_create(&dispatcher, NULL, dispatch, NULL) == 0);
    while (chaos_goes_on()) {
        g_usleep(30000 + chaos(60000));
        do_to_threads();
    }
    for (int i = 0; i < MUTEXES; i++)
        free_handle(&handles[i]);
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(dispatcher, NULL);
    chaos_expect_nothing_left();
    for (int i = 0; i < SESSIONS; i++)
        zkl_session_close(sessions[i].session);
}
