/* libzookeeper's log function has no context, so each store has a function of its own, as long as
 * there are any. It is also the one place where libzookeeper's thread calls us between attempts to
 * connect. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/fork.h"
#include "lib/base/log.h"
#include "store_zk.h"

enum { STORES = 256 };

static struct store *_Atomic stores[STORES];

/* What the library says of each attempt to connect: an outage is told by other means. */
static enum library_line kind_of(const char *line)
{
    static const char *const functions[] = {"@handle_socket_error_msg@", "@zookeeper_interest@",
                                            "@check_events@", "@resolve_hosts@"};

    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (strstr(line, functions[i]))
            return strstr(line, " zk retcode=") ? LIBRARY_FAILED : LIBRARY_CONNECTS;
    }
    return LIBRARY_LINE;
}

static zkl_log_level level_of(const char *line)
{
    return strstr(line, ":ZOO_ERROR@")  ? ZKL_LOG_ERROR
           : strstr(line, ":ZOO_WARN@") ? ZKL_LOG_WARN
           : strstr(line, ":ZOO_INFO@") ? ZKL_LOG_INFO
                                        : ZKL_LOG_DEBUG;
}

/* In zookeeper_interest(), where the library's thread has no socket, and holds one lock at most. */
static bool has_tried_all(const char *line)
{
    return strstr(line, "@zookeeper_interest@") && strstr(line, ": Delaying connection");
}

static void on_line(unsigned slot, const char *line)
{
    const enum library_line kind = kind_of(line);
    struct store *store = atomic_load(&stores[slot]);

    if (!store)
        return; /* a child uses its parent's handle */
    log_library(store->log, kind == LIBRARY_LINE ? level_of(line) : ZKL_LOG_DEBUG, kind, line);
    if (has_tried_all(line))
        store_zk_tried_all(store);
    else if (kind == LIBRARY_FAILED)
        store_zk_failed(store);
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
    static void on_line_##n(const char *line)                                                      \
    {                                                                                              \
        on_line(n, line);                                                                          \
    }
#define NAME(n) on_line_##n,

SLOTS(FUNCTION)

static void ignore(const char *line)
{
    (void)line;
}

/* The parent's stores are nobody's. */
static void forget_stores(void)
{
    for (size_t i = 0; i < STORES; i++)
        atomic_store(&stores[i], NULL);
}

static void forget_in_children(void)
{
    fork_handle(NULL, NULL, forget_stores);
}

log_callback_fn store_zk_log(struct store *store)
{
    static const log_callback_fn functions[] = {SLOTS(NAME)};
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    G_STATIC_ASSERT(G_N_ELEMENTS(functions) == STORES);
    pthread_once(&once, forget_in_children);
    for (size_t i = 0; i < STORES; i++) {
        struct store *none = NULL;
        if (atomic_load(&stores[i]) == store ||
            atomic_compare_exchange_strong(&stores[i], &none, store))
            return functions[i];
    }
    return ignore;
}

void store_zk_end_log(const struct store *store)
{
    for (size_t i = 0; i < STORES; i++) {
        if (atomic_load(&stores[i]) == store)
            atomic_store(&stores[i], NULL);
    }
}
