/* zkl_mutex_lock() and zkl_mutex_unlock(). */
#include <glib.h>

#include "loop.h"
#include "user.h"

struct locker {
    zkl_mutex *mutex;
};

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = g_new0(struct locker, 1);

    user_require(zkl_mutex_new(&l->mutex, user_session(address), path, NULL));
    return l;
}

void locker_acquire(struct locker *l)
{
    user_require(zkl_mutex_lock(l->mutex, ZKL_FOREVER, NULL));
}

void locker_release(struct locker *l)
{
    user_require(zkl_mutex_unlock(l->mutex));
}
