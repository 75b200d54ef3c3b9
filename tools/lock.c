/* zkl lock: runs a command under the grant of a mutex, a read-write lock, a semaphore, or a lock at
 * several paths. */
#include "connect.h"
#include "contenders.h"
#include "run.h"

struct lock {
    struct lock_options options;
    /* The kind of lock that is sought; the other three are NULL: */
    zkl_mutex *mutex;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_multilock *all; /* the lock at several paths */
    zkl_op *op;
    char *name; /* with host and process; NULL: the library makes one */
};

static int lock_open(void *self, zkl_session *session)
{
    struct lock *l = self;
    const struct hold_options *hold = &l->options.hold;
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_semaphore_options of_semaphore = ZKL_SEMAPHORE_OPTIONS_INIT;

    l->name = identity_text(l->options.name);
    options.name = of_semaphore.name = l->name;
    options.parents = of_semaphore.parents = l->options.parents;
    options.peer = l->options.peer;
    if (l->options.slots > 0) {
        of_semaphore.limit = l->options.slots;
        of_semaphore.numbered = 1;
        return zkl_semaphore_new(&l->semaphore, session, hold->path, &of_semaphore);
    }
    if (hold->others) {
        const guint count = 1 + g_strv_length(hold->others);
        g_autofree const char **paths = g_new(const char *, count);

        paths[0] = hold->path;
        for (guint i = 1; i < count; i++)
            paths[i] = hold->others[i - 1];
        return zkl_multilock_new(&l->all, session, paths, count, &options);
    }
    return l->options.shared || l->options.exclusive
               ? zkl_rwlock_new(&l->rwlock, session, hold->path, &options)
               : zkl_mutex_new(&l->mutex, session, hold->path, &options);
}

static int lock_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct lock *l = self;

    if (l->all)
        return zkl_multilock_lock_async(l->all, timeout_ms, attempt_end, attempt, &l->op);
    if (l->mutex)
        return zkl_mutex_lock_async(l->mutex, timeout_ms, attempt_end, attempt, &l->op);
    if (l->semaphore)
        return zkl_semaphore_acquire_async(l->semaphore, 1, timeout_ms, attempt_end, attempt,
                                           &l->op);
    return (l->options.shared ? zkl_rwlock_lock_shared_async : zkl_rwlock_lock_async)(
        l->rwlock, timeout_ms, attempt_end, attempt, &l->op);
}

static int lock_node(void *self, char *buf, size_t size)
{
    const struct lock *l = self;

    return zkl_op_node(l->op, buf, size);
}

static void lock_give_up(void *self)
{
    const struct lock *l = self;

    zkl_op_cancel(l->op);
}

static void lock_close(void *self)
{
    struct lock *l = self;

    zkl_op_free(l->op);
    zkl_mutex_free(l->mutex);
    zkl_rwlock_free(l->rwlock);
    zkl_semaphore_free(l->semaphore);
    zkl_multilock_free(l->all);
    g_free(l->name);
}

static const struct acquire_ops lock_ops = {.open = lock_open,
                                            .seek = lock_seek,
                                            .node = lock_node,
                                            .give_up = lock_give_up,
                                            .close = lock_close};

int verb_lock(struct settings *settings, int argc, char **argv)
{
    struct lock lock = {.op = NULL};
    struct events events;
    struct run run = {.settings = settings,
                      .options = &lock.options,
                      .events = &events,
                      .ops = &lock_ops,
                      .self = &lock};
    int status = lock_options_parse(&lock.options, settings, argc, argv);

    if (status == GO_ON)
        status = connect_begin(settings, &events);
    if (status == GO_ON)
        status = run_under_cgroup(&run);
    lock_options_free(&lock.options);
    return status;
}
