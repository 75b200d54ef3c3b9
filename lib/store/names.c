#include "names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fork.h"
#include "lib/base/thread.h"
#include "recipes/back_off.h"

enum { AGAIN_MS = 1000, FAILED_MAX_MS = 4000, NAMES_MAX = 1000 };

struct name {
    GArray *addresses; /* of struct address */
    int64_t next_at;   /* CLOCK_BOOTTIME ns: it is not resolved again before */
    int64_t pause_ms;  /* before the next try; 0: the last one has not failed */
    bool asking;       /* a thread resolves it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over; /* signalled when a look-up is over */
static unsigned
    under_way; /* how many threads resolve a name, or are between names_begin() and names_end() */
static GHashTable *names; /* of struct name, by "host:port" */

/* ---- no fork during a look-up ---- */

int names_fork_ms = 50; /* __check_pf() has its lock for some system calls */

static _Thread_local int cancel_state; /* of the thread that forks */

/* Waits for the look-ups, and takes the lock. The thread cannot be cancelled until after_fork(): it
 * would keep the lock. */
static void before_fork(void)
{
    const struct timespec until = clock_after_ms(names_fork_ms);

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&lock);
    while (under_way > 0 && pthread_cond_timedwait(&over, &lock, &until) != ETIMEDOUT)
        continue;
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
    pthread_setcancelstate(cancel_state, &cancel_state);
}

/* Forgets the look-ups of the parent's other threads, which a child does not have. */
static void after_fork_in_child(void)
{
    GHashTableIter all;
    void *name;

    under_way = 0;
    thread_cond_init(&over);
    if (names)
        g_hash_table_iter_init(&all, names);
    while (names && g_hash_table_iter_next(&all, NULL, &name))
        ((struct name *)name)->asking = false;
    after_fork();
}

static void names_install(void)
{
    thread_cond_init(&over);
    fork_handle(before_fork, after_fork, after_fork_in_child);
}

static void lock_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, names_install);
    pthread_mutex_lock(&lock);
}

void names_begin(void)
{
    lock_names();
    under_way++;
    pthread_mutex_unlock(&lock);
}

void names_end(void)
{
    pthread_mutex_lock(&lock);
    under_way--;
    pthread_cond_broadcast(&over);
    pthread_mutex_unlock(&lock);
}

/* ---- names ---- */

/* Returns the addresses of host, none if it cannot be resolved. With AI_NUMERICHOST in flags it
 * asks nobody, and takes no lock of the C library's. */
static GArray *resolve_host(const char *host, const char *port, int flags)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct address));
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list = NULL;

    if (getaddrinfo(host, port, &hints, &list) == 0) {
        for (const struct addrinfo *a = list; a; a = a->ai_next) {
            struct address address = {.length = a->ai_addrlen};
            memcpy(&address.bytes, a->ai_addr, a->ai_addrlen);
            g_array_append_val(found, address);
        }
        freeaddrinfo(list);
    }
    return found;
}

static void free_name(void *data)
{
    struct name *name = data;

    g_array_unref(name->addresses);
    g_free(name);
}

/* Finds or makes a name's entry. When there are very many, all are forgotten first. The caller
 * holds the lock. */
static struct name *names_name_of(const char *host_port)
{
    if (!names)
        names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_name);
    struct name *name = g_hash_table_lookup(names, host_port);
    if (name)
        return name;
    if (g_hash_table_size(names) >= NAMES_MAX)
        g_hash_table_remove_all(names);
    name = g_new0(struct name, 1);
    name->addresses = g_array_new(FALSE, FALSE, sizeof(struct address));
    g_hash_table_insert(names, g_strdup(host_port), name);
    return name;
}

static bool names_is_due(const struct name *name)
{
    return clock_now().boot >= name->next_at;
}

/* Resolves a name, unless it was just done. If another thread resolves it, this one waits for that
 * only if no address is known. The entry is found again after each wait, because another thread may
 * have removed all entries. */
static GArray *names_resolve(const char *host_port, const char *host, const char *port)
{
    lock_names();
    struct name *name = names_name_of(host_port);
    while (name->asking && names_is_due(name) && name->addresses->len == 0) {
        pthread_cond_wait(&over, &lock);
        name = names_name_of(host_port);
    }
    if (!name->asking && names_is_due(name)) {
        name->asking = true;
        under_way++;
        pthread_mutex_unlock(&lock);
        GArray *found = resolve_host(host, port, 0);
        pthread_mutex_lock(&lock);
        name = names_name_of(host_port);
        name->asking = false;
        name->pause_ms = found->len > 0 ? 0 : MIN(back_off_next(name->pause_ms), FAILED_MAX_MS);
        name->next_at = clock_now().boot + (found->len > 0 ? AGAIN_MS : name->pause_ms) * CLOCK_MS;
        if (found->len > 0) {
            g_array_unref(name->addresses);
            name->addresses = g_array_ref(found);
        }
        g_array_unref(found);
        under_way--;
        pthread_cond_broadcast(&over);
    }
    GArray *known = g_array_new(FALSE, FALSE, sizeof(struct address));
    if (name->addresses->len > 0)
        g_array_append_vals(known, name->addresses->data, name->addresses->len);
    pthread_mutex_unlock(&lock);
    return known;
}

GArray *names_find(const char *host_port)
{
    const char *colon = strrchr(host_port, ':');
    char *host = g_strndup(host_port, (gsize)(colon - host_port));
    struct in_addr ignored;
    const bool numeric = strchr(host, ':') || inet_pton(AF_INET, host, &ignored) == 1;
    GArray *found = numeric ? resolve_host(host, colon + 1, AI_NUMERICHOST)
                            : names_resolve(host_port, host, colon + 1);

    g_free(host);
    return found;
}

void names_append(GString *list, const struct address *address)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getnameinfo((const struct sockaddr *)&address->bytes, address->length, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        g_string_append_printf(list, "%s%s:%s", list->len ? "," : "", host, port);
}

unsigned names_count(const char *list)
{
    unsigned count = 1;

    for (const char *at = list; (at = strchr(at, ',')); at++)
        count++;
    return count;
}
