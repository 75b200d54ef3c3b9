/* zkl_mutex_lock() and zkl_mutex_unlock(); with paths=N, a zkl_multilock at N of them. */
#include <glib.h>
#include <stdlib.h>

#include "common.h"
#include "loop.h"
#include "user.h"

struct locker {
    zkl_mutex *mutex;
    zkl_multilock *all; /* instead */
    zkl_grant *grant;   /* its */
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

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = g_new0(struct locker, 1);
    const int count = atoi(option("paths", "1"));

    if (count > 1)
        open_all(l, user_session(address), path, count);
    else
        user_require(zkl_mutex_new(&l->mutex, user_session(address), path, NULL));
    return l;
}

void locker_acquire(struct locker *l)
{
    user_require(l->all ? zkl_multilock_lock(l->all, ZKL_FOREVER, &l->grant)
                        : zkl_mutex_lock(l->mutex, ZKL_FOREVER, NULL));
}

void locker_release(struct locker *l)
{
    if (l->all)
        zkl_grant_release(l->grant);
    else
        user_require(zkl_mutex_unlock(l->mutex));
}
