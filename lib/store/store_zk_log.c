/* libzookeeper's log function has no context, so each store has a function of its own, as long as
 * there are any left.
 *
 * libzookeeper has no setting for the pauses between its attempts to connect. It takes no other
 * servers without harm from another thread, or while it is connected. But it calls its log function
 * at each failure, and each time when it has tried all servers. It calls it in the thread that
 * connects, which does nothing else until the function returns. So the store pauses there, and
 * gives libzookeeper other servers there.
 *
 * A line may come in any thread, even with the monitor held: then it is only logged. Only lines of
 * zookeeper_interest() and handle_socket_error_msg(), which that one thread calls, lead to more.
 * Those take the monitor, and call zoo_set_servers() without it (docs/design/servers.md). */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fork.h"
#include "lib/base/layout.h"
#include "lib/base/log.h"
#include "recipes/back_off.h"
#include "store_zk.h"

/* ---- what is done between attempts to connect ---- */

/* Pauses before libzookeeper tries all servers again. After this pause it waits by itself for a
 * sixtieth of its timeout. Newer servers end the pause. */
static void zk_log_pause(struct store *store)
{
    const struct store_sink *sink = &store->sink;
    uint32_t chance;

    pthread_mutex_lock(sink->monitor);
    const int64_t left_ns = sink->left ? sink->left(sink->context) : 0;
    const int timeout_ms = store->zh ? zoo_recv_timeout(store->zh) : store->timeout_ms;
    layout_random(&chance, sizeof chance);
    const int64_t ms =
        back_off_round(store->rounds, store->servers, left_ns / CLOCK_MS, timeout_ms, chance) -
        timeout_ms / 60;
    const struct timespec until = clock_after_ms(ms);
    store->rounds++;
    while (ms > 0 && !store->newer && store_zk_is_down(store) && store_zk_wait(store, &until))
        continue;
    pthread_mutex_unlock(sink->monitor);
}

/* Whether libzookeeper takes other servers without harm now. If it is connected, or has found that
 * the session has expired, it would end the connection, as after a failure, and forget its state.
 * Then it would not tell us of that state. */
static bool zk_log_takes_servers(zhandle_t *zh)
{
    const int state = zoo_state(zh);

    return state >= 0 && state != ZOO_CONNECTED_STATE && state != ZOO_READONLY_STATE;
}

/* Gives libzookeeper newer servers after one has failed. When it has tried all, it must not get
 * them: later versions (3.9.4) have the list locked there. */
static void zk_log_give_newer(struct store *store)
{
    pthread_mutex_lock(store->sink.monitor);
    zhandle_t *zh = store->zh; /* closing it waits for this thread */
    char *newer = zh && zk_log_takes_servers(zh) ? g_steal_pointer(&store->newer) : NULL;
    if (newer)
        store->servers = names_count(newer);
    pthread_mutex_unlock(store->sink.monitor);
    if (newer)
        zoo_set_servers(zh, newer);
    g_free(newer);
}

/* ---- the function of each store ---- */

enum { STORES = 256 };

static struct store *_Atomic stores[STORES];

/* Finds out whether a line is about an attempt to connect. Such lines are of little interest: an
 * outage is told by other means. */
static enum library_line zk_log_kind(const char *line)
{
    static const char *const functions[] = {"@handle_socket_error_msg@", "@zookeeper_interest@",
                                            "@check_events@", "@resolve_hosts@"};

    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (strstr(line, functions[i]))
            return strstr(line, " zk retcode=") ? LIBRARY_FAILED : LIBRARY_CONNECTS;
    }
    return LIBRARY_LINE;
}

/* A line of libzookeeper's level INFO is about its own work: to users of ours it is a detail. */
static zkl_log_level zk_log_level(const char *line)
{
    return strstr(line, ":ZOO_ERROR@")  ? ZKL_LOG_ERROR
           : strstr(line, ":ZOO_WARN@") ? ZKL_LOG_WARN
                                        : ZKL_LOG_DEBUG;
}

static void zk_log_on_line(unsigned slot, const char *line)
{
    const enum library_line kind = zk_log_kind(line);
    struct store *store = atomic_load(&stores[slot]);

    if (!store)
        return; /* a child uses its parent's handle */
    log_library(store->log, kind == LIBRARY_LINE ? zk_log_level(line) : ZKL_LOG_DEBUG, kind, line);
    /* zookeeper_interest() writes this when all servers were tried. libzookeeper's thread has no
     * socket there, and holds one lock at most, so it may wait. */
    if (strstr(line, "@zookeeper_interest@") && strstr(line, ": Delaying connection"))
        zk_log_pause(store);
    else if (kind == LIBRARY_FAILED)
        zk_log_give_newer(store);
}

/* clang-format off */
#define ROW(X, r)                                                                                  \
    X(r##0) X(r##1) X(r##2) X(r##3) X(r##4) X(r##5) X(r##6) X(r##7)                                \
    X(r##8) X(r##9) X(r##a) X(r##b) X(r##c) X(r##d) X(r##e) X(r##f)
#define SLOTS(X)                                                                                   \
    ROW(X, 0x0) ROW(X, 0x1) ROW(X, 0x2) ROW(X, 0x3) ROW(X, 0x4) ROW(X, 0x5) ROW(X, 0x6)            \
    ROW(X, 0x7) ROW(X, 0x8) ROW(X, 0x9) ROW(X, 0xa) ROW(X, 0xb) ROW(X, 0xc) ROW(X, 0xd)            \
    ROW(X, 0xe) ROW(X, 0xf)
/* clang-format on */
#define FUNCTION(n)                                                                                \
    static void zk_log_on_line_##n(const char *line)                                               \
    {                                                                                              \
        zk_log_on_line(n, line);                                                                   \
    }
#define NAME(n) zk_log_on_line_##n,

SLOTS(FUNCTION)

static void zk_log_ignore(const char *line)
{
    (void)line;
}

/* Forgets the parent's stores, in a child. */
static void zk_log_forget_stores(void)
{
    for (size_t i = 0; i < STORES; i++)
        atomic_store(&stores[i], NULL);
}

static void zk_log_forget_in_children(void)
{
    fork_handle(NULL, NULL, zk_log_forget_stores);
}

log_callback_fn store_zk_log(struct store *store)
{
    static const log_callback_fn functions[] = {SLOTS(NAME)};
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    G_STATIC_ASSERT(G_N_ELEMENTS(functions) == STORES);
    pthread_once(&once, zk_log_forget_in_children);
    for (size_t i = 0; i < STORES; i++) {
        struct store *none = NULL;
        if (atomic_load(&stores[i]) == store ||
            atomic_compare_exchange_strong(&stores[i], &none, store))
            return functions[i];
    }
    return zk_log_ignore;
}

void store_zk_end_log(const struct store *store)
{
    for (size_t i = 0; i < STORES; i++) {
        if (atomic_load(&stores[i]) == store)
            atomic_store(&stores[i], NULL);
    }
}
