/* A canceler's lock is held for its own few words alone, never with another lock: so a thread that
 * waits or cancels may hold whatever it likes. A thread that cancels takes a reference to each
 * operation under the lock, and cancels the operations after it; one that has ended by then takes
 * no notice. */
#include "canceler.h"

#include <pthread.h>

#include "lib/base/error.h"
#include "lib/base/fork.h"
#include "op.h"

struct zkl_canceler {
    pthread_mutex_t lock;
    unsigned generation;
    bool canceled;
    GQueue ops; /* of zkl_op: waited for */
};

int zkl_canceler_new(zkl_canceler **ret)
{
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_canceler_new: ret is NULL");
    fork_watch();
    zkl_canceler *c = g_new0(zkl_canceler, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->generation = fork_generation;
    *ret = c;
    return 0;
}

void zkl_canceler_free(zkl_canceler *c)
{
    if (!c || fork_is_child(c->generation))
        return;
    pthread_mutex_destroy(&c->lock);
    g_free(c);
}

static void cancel_one(void *data, void *unused)
{
    zkl_op *op = data;

    (void)unused;
    zkl_op_cancel(op);
    zkl_op_free(op);
}

void zkl_canceler_cancel(zkl_canceler *c)
{
    GQueue ops = G_QUEUE_INIT;

    if (!c || fork_is_child(c->generation))
        return;
    pthread_mutex_lock(&c->lock);
    c->canceled = true;
    for (const GList *l = c->ops.head; l; l = l->next)
        g_queue_push_tail(&ops, op_ref(l->data));
    pthread_mutex_unlock(&c->lock);
    g_queue_foreach(&ops, cancel_one, NULL);
    g_queue_clear(&ops);
}

int canceler_check(zkl_canceler *c, const char *path)
{
    if (!c)
        return 0;
    pthread_mutex_lock(&c->lock);
    const bool canceled = c->canceled;
    pthread_mutex_unlock(&c->lock);
    return canceled
               ? error_set(ZKL_ECANCELED, path, "%s%scanceled", path ? path : "", path ? ": " : "")
               : 0;
}

/* A thread that cancels from here on finds the operation; one that has canceled before is noticed
 * here. */
static void canceler_enter(zkl_canceler *c, zkl_op *op, GList *link)
{
    pthread_mutex_lock(&c->lock);
    g_queue_push_tail_link(&c->ops, link);
    const bool canceled = c->canceled;
    pthread_mutex_unlock(&c->lock);
    if (canceled)
        zkl_op_cancel(op);
}

static void canceler_leave(zkl_canceler *c, GList *link)
{
    pthread_mutex_lock(&c->lock);
    g_queue_unlink(&c->ops, link);
    pthread_mutex_unlock(&c->lock);
}

int canceler_wait(zkl_canceler *c, zkl_op *op, zkl_grant **ret)
{
    GList link = {.data = op};
    int code;

    if (!c)
        return op_wait(op, ret);
    canceler_enter(c, op, &link);
    code = op_wait(op, ret);
    canceler_leave(c, &link);
    return code;
}

int canceler_end_call(zkl_canceler *c, zkl_op *op, zkl_grant **ret)
{
    const int code = op ? canceler_wait(c, op, ret) : ZKL_ECLOSED;

    zkl_op_free(op);
    return code;
}
