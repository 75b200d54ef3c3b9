#include "store_zk_xid.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

#include "lib/base/fork.h"

/* TAKEN: the first number that means something else. MARGIN: how far libzookeeper's number may be
 * from ours. To use up that many numbers takes some hundredths of a second. */
enum { TAKEN = -8, MARGIN = 1 << 20 };

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER; /* its writer uses up numbers */
static atomic_uint next; /* libzookeeper's next number, as far as we know */

/* Makes a new gate in a child, which does not have the threads that held it. */
static void xid_forked(void)
{
    pthread_rwlock_init(&gate, NULL);
}

/* Begins to count. libzookeeper was loaded just before, and has used one number for that. */
__attribute__((constructor)) static void xid_begin(void)
{
    next = (unsigned)time(NULL) + 1;
    fork_handle(NULL, NULL, xid_forked);
}

static bool xid_is_near(unsigned number)
{
    return (int32_t)number >= TAKEN - MARGIN && (int32_t)number < 0;
}

/* Uses up a number, by a request without a handle: libzookeeper numbers it before it refuses it.
 * Counts as libzookeeper does: after -1 it begins anew. */
static void xid_burn(void)
{
    zoo_adelete(NULL, "/", -1, NULL, NULL);
    next = (next == UINT_MAX ? (unsigned)time(NULL) : next) + 1;
}

void xid_enter(void)
{
    pthread_rwlock_rdlock(&gate);
    if (xid_is_near(next)) {
        /* Uses up the numbers that mean something else, and those near them, unless another thread
         * has. libzookeeper's number may be up to MARGIN lower than ours, so as many more follow.
         */
        pthread_rwlock_unlock(&gate);
        pthread_rwlock_wrlock(&gate);
        const bool near = xid_is_near(next);
        while (xid_is_near(next))
            xid_burn();
        for (int i = 0; near && i <= MARGIN; i++)
            xid_burn();
        pthread_rwlock_unlock(&gate);
        pthread_rwlock_rdlock(&gate);
    }
    next++;
}

void xid_leave(void)
{
    pthread_rwlock_unlock(&gate);
}

void xid_used(void)
{
    next++;
}
