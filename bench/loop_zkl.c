/* The lock of the loop is a zkl_mutex; with paths=N, a zkl_multilock at N paths; with shared=1, a
 * zkl_rwlock, for its readers; with permits=N, a permit of a zkl_semaphore that has N. */
#include <glib.h>
#include <stdlib.h>

#include "common.h"
#include "loop.h"
#include "user.h"

struct locker {
    zkl_mutex *mutex;
    /* Instead: */
    zkl_multilock *all;
    zkl_rwlock *readers;
    zkl_semaphore *semaphore;
    zkl_grant *grant; /* of all, or of the semaphore */
};

/* The first path is as given, the others have a number behind it. */
static void open_all(struct locker *l, zkl_session *s, const char *path, int count)
{
    char **paths = g_new0(char *, (size_t)count + 1);

    for (int i = 0; i < count; i++)
        paths[i] = i == 0 ? g_strdup(path) : g_strdup_printf("%s-%d", path, i);
    user_require(zkl_multilock_new(&l->all, s, (const char *const *)paths, (size_t)count, NULL));
    g_strfreev(paths);
}

static void open_semaphore(struct locker *l, zkl_session *s, const char *path, int permits)
{
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.limit = permits;
    user_require(zkl_semaphore_new(&l->semaphore, s, path, &options));
}

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = g_new0(struct locker, 1);
    zkl_session *s = user_session(address);
    const int count = atoi(option("paths", "1")), permits = atoi(option("permits", "0"));

    if (count > 1)
        open_all(l, s, path, count);
    else if (permits > 0)
        open_semaphore(l, s, path, permits);
    else if (option_number("shared", 0))
        user_require(zkl_rwlock_new(&l->readers, s, path, NULL));
    else
        user_require(zkl_mutex_new(&l->mutex, s, path, NULL));
    return l;
}

void locker_acquire(struct locker *l)
{
    if (l->all)
        user_require(zkl_multilock_lock(l->all, ZKL_FOREVER, &l->grant));
    else if (l->semaphore)
        user_require(zkl_semaphore_acquire(l->semaphore, 1, ZKL_FOREVER, &l->grant));
    else if (l->readers)
        user_require(zkl_rwlock_lock_shared(l->readers, ZKL_FOREVER, NULL));
    else
        user_require(zkl_mutex_lock(l->mutex, ZKL_FOREVER, NULL));
}

void locker_release(struct locker *l)
{
    if (l->readers)
        user_require(zkl_rwlock_unlock(l->readers));
    else if (l->mutex)
        user_require(zkl_mutex_unlock(l->mutex));
    else
        zkl_grant_release(l->grant);
}
