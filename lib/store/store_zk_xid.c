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
 * from ours. That many calls take some hundredths of a second. */
enum { TAKEN = -8, MARGIN = 1 << 20 };

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER; /* who writes runs past them */
static atomic_uint next;                                   /* as far as we know */

/* The threads that held the gate are not there. */
static void xid_forked(void)
{
    pthread_rwlock_init(&gate, NULL);
}

/* libzookeeper was loaded just before, and has used one number for that. */
__attribute__((constructor)) static void xid_begin(void)
{
    next = (unsigned)time(NULL) + 1;
    fork_handle(NULL, NULL, xid_forked);
}

static bool xid_is_near(unsigned number)
{
    return (int32_t)number >= TAKEN - MARGIN && (int32_t)number < 0;
}

/* Uses up a number, and counts as libzookeeper does: after -1 it begins anew. Without a handle it
 * refuses the request, but has numbered it before. */
static void xid_burn(void)
{
    zoo_adelete(NULL, "/", -1, NULL, NULL);
    next = (next == UINT_MAX ? (unsigned)time(NULL) : next) + 1;
}

/* Another thread may have been first. */
static void xid_pass(void)
{
    pthread_rwlock_wrlock(&gate);
    if (xid_is_near(next)) {
        while (xid_is_near(next))
            xid_burn();
        for (int i = 0; i <= MARGIN; i++)
            xid_burn();
    }
    pthread_rwlock_unlock(&gate);
}

void xid_enter(void)
{
    pthread_rwlock_rdlock(&gate);
    if (xid_is_near(next)) {
        pthread_rwlock_unlock(&gate);
        xid_pass();
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
