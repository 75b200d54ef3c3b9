/* What waiting costs those who do not wait. */
#include "hazard.h"

#include "fourletter.h"

#include <pthread.h>

enum { WAITERS = 12 };

static uint64_t events(void)
{
    struct proxy_stats stats;

    proxy_get_stats(fault.proxy, &stats);
    return stats.events;
}

/* ---- herd ---- */

static atomic_int woken;

static void look_again(zhandle_t *zh, int type, int state, const char *path, void *data)
{
    (void)zh, (void)state, (void)path, (void)data;
    if (type == ZOO_CHILD_EVENT)
        atomic_fetch_add(&woken, 1);
}

static void herd_usual(void)
{
    char held[RAW_PATH_SIZE], node[RAW_PATH_SIZE];
    struct raw *waiter[WAITERS];

    fault_begin();
    atomic_store(&woken, 0);
    struct raw *a = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, held);
    for (int i = 0; i < WAITERS; i++) {
        waiter[i] = usual_open(proxy_connect(fault.proxy), FAULT_LONG_MS);
        usual_enter(waiter[i], node);
    }
    for (int i = 0; i < WAITERS; i++) {
        struct String_vector names;
        CHECK_INT(zoo_wget_children(raw_handle(waiter[i]), fault.path, look_again, NULL, &names),
                  ZOK);
        deallocate_String_vector(&names);
    }
    CHECK_INT(atomic_load(&woken), 0);
    proxy_reset_stats(fault.proxy);
    CHECK_INT(raw_delete(a, held), ZOK);
    EVENTUALLY(atomic_load(&woken) == WAITERS);
    tell("all %d waiters watch the directory: one release woke %d, each of which lists the whole "
         "queue again; with n waiters in turn it is n(n+1)/2 wake-ups.",
         WAITERS, atomic_load(&woken));
    for (int i = 0; i < WAITERS; i++)
        raw_close(waiter[i]);
    raw_close(a);
    fault_end();
}

static void herd_zkl(void)
{
    struct acquisition a, waiter[WAITERS];

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    for (int i = 0; i < WAITERS; i++)
        acquisition_queue(&waiter[i], fault_mutex(fault_proxied(FAULT_LONG_MS)), i + 2);
    struct fourletter_watches w;
    EVENTUALLY(fourletter_wchs(fault.port, &w) && w.watches >= WAITERS);
    proxy_reset_stats(fault.proxy);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&waiter[0]));
    uint64_t first = events();
    CHECK_INT(first, 1);
    for (int i = 0; i < WAITERS; i++) {
        REQUIRE(acquisition_granted(&waiter[i]));
        acquisition_end(&waiter[i]);
    }
    fault_at_rest();
    /* A holder may hear of its own delete, if it has held long enough to watch its node. */
    CHECK(events() <= 2 * WAITERS);
    tell("each watches the one before it: one release woke %d of %d waiters, and to serve them all "
         "took %d watch events.",
         (int)first, WAITERS, (int)events());
    fault_end();
}

/* ---- polling ---- */

enum { POLLS = 60, POLL_MS = 10 };

struct poller {
    struct raw *raw;
    char *path;
    int polls;
};

static void *poll_lock(void *data)
{
    struct poller *p = data;

    while (p->polls < POLLS && raw_create(p->raw, p->path, NULL, -1, ZOO_EPHEMERAL, NULL) != ZOK) {
        p->polls++;
        g_usleep(POLL_MS * 1000);
    }
    return NULL;
}

/* Both waits at the same time, so that both counts are of the same span. */
static struct {
    int usual, zkl;
} counted;

static void count_both(struct poller *p)
{
    struct acquisition holder, waiter;
    pthread_t thread;

    struct proxy *proxy = proxy_start(fault.port);
    REQUIRE(proxy != NULL);
    acquisition_queue(&holder, fault_mutex(fault_direct(10000)), 1);
    zkl_session *s = fault_session(proxy_connect(proxy), 10000);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    acquisition_queue(&waiter, fault_mutex(s), 2);
    EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(s), zkl_grant_node(holder.grant)) ==
               1);
    proxy_reset_stats(proxy);
    proxy_reset_stats(fault.proxy);
    REQUIRE(pthread_create(&thread, NULL, poll_lock, p) == 0);
    pthread_join(thread, NULL);
    counted.usual = (int)proxy_requests(fault.proxy, PROXY_OP_ANY);
    counted.zkl = (int)proxy_requests(proxy, PROXY_OP_ANY);
    CHECK_INT(atomic_load(&waiter.done), 0);
    acquisition_end(&holder);
    REQUIRE(acquisition_granted(&waiter));
    acquisition_end(&waiter);
    fault_at_rest();
    proxy_stop(proxy);
}

static void polling_usual(void)
{
    fault_begin();
    struct poller p = {.raw = usual_open(proxy_connect(fault.proxy), FAULT_LONG_MS)};
    struct raw *a = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *late = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    p.path = g_strdup_printf("%s-polled", fault.path);
    CHECK_INT(raw_create(a, p.path, NULL, -1, 0, NULL), ZOK);
    count_both(&p);
    CHECK(counted.usual >= POLLS);
    /* The poller sleeps. The holder releases, and somebody comes by. */
    CHECK_INT(raw_delete(a, p.path), ZOK);
    CHECK_INT(raw_create(late, p.path, NULL, -1, ZOO_EPHEMERAL, NULL), ZOK);
    CHECK_INT(raw_create(p.raw, p.path, NULL, -1, ZOO_EPHEMERAL, NULL), ZNODEEXISTS);
    tell("one waiter that tries every %d ms made %d requests while it waited; when the lock came "
         "free it slept, and one that had just come by got in before it.",
         POLL_MS, counted.usual);
    raw_close(p.raw);
    raw_close(a);
    raw_close(late);
    g_free(p.path);
    fault_end();
}

static void polling_zkl(void)
{
    CHECK(counted.zkl * 3 < counted.usual);
    tell("one waiter made %d requests in the same span, which are proofs of its session and serve "
         "all who wait in it; it is told of its turn, and its place in the queue is kept.",
         counted.zkl);
}

const struct hazard hazards_waiting[] = {
    {"herd", "a herd is woken at each release", herd_usual, herd_zkl,
     "queue.one_is_woken counter.counts mutex.watches"},
    {"polling", "waiting is polling with sleep", polling_usual, polling_zkl,
     "queue.one_is_woken fault_deadline.cold_is_quiet proofs.cost_and_remaining_time"},
    {.name = NULL},
};
