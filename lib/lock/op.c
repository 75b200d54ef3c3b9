/* The functions of the interface, op_return_grant(), op_return_op() and op_deliver() take the
 * monitor. All others are called with it held. */
#include "op.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/thread.h"
#include "lib/session/call.h"

struct zkl_op {
    atomic_int refs; /* the user's, ours until the result is told, and that of a thread in
                        zkl_op_wait() */
    /* guarded by the monitor: */
    bool decided;
    bool given; /* fn is called, or a wait has returned the result: too late to cancel */
    /* never changed: */
    zkl_session *session;
    zkl_acquired_fn fn;
    union {
        void *data;  /* for fn */
        sem_t *wake; /* if fn is NULL; guarded by the monitor. Wakes the thread that blocks in
                        op_wait(); NULL: no thread does */
    };
    /* guarded by the monitor: */
    const struct op_ops *ops; /* of .context; NULL: .contender decides */
    union {
        struct contender *contender;
        void *context;
    };                             /* what decides, until it has */
    struct time_limit *time_limit; /* NULL: none */
    struct op_queue *queue;        /* until decided */
    GList link;
    union {
        int64_t began_ns; /* until decided: CLOCK_BOOTTIME */
        zkl_grant *grant; /* once decided; NULL: it has failed */
    };
    zkl_error *error; /* once decided; NULL: there is a grant */
};

struct time_limit {
    struct timer timer;
    int64_t timeout_ms;
};

void op_unref(zkl_op *op)
{
    if (atomic_fetch_sub(&op->refs, 1) != 1)
        return;
    session_unref(op->session);
    g_free(op->time_limit);
    g_free(op->error);
    g_free(op);
}

/* Calls the user's function with the result, as a callback. */
static void op_deliver(void *data)
{
    zkl_op *op = data;

    session_lock(op->session);
    op->given = true;
    if (op->grant)
        grant_own(op->grant);
    session_unlock(op->session);
    op->fn(op->grant, op->error, op->data);
    op_unref(op);
}

void op_count(zkl_session *s, struct stats_waits *waits, int64_t began_ns, int64_t oldest_ns,
              zkl_grant *grant, const zkl_error *error)
{
    const int64_t now = clock_boot();

    stats_wait_end(s, waits, oldest_ns);
    if (grant)
        grant_began(grant, waits->at, now - began_ns, now);
    else
        stats_failed(s, error->code);
}

void op_decide(void *context, zkl_grant *grant, const zkl_error *error)
{
    zkl_op *op = context;
    struct op_queue *q = op->queue;

    g_queue_unlink(&q->ops, &op->link);
    const zkl_op *oldest = g_queue_peek_head(&q->ops);
    op_count(op->session, &q->waits, op->began_ns, oldest ? oldest->began_ns : 0, grant, error);
    if (op->time_limit)
        timers_cancel(&op->time_limit->timer);
    op->queue = NULL;
    op->decided = true;
    op->grant = grant;
    if (error)
        op->error = g_memdup2(error, sizeof *error);
    if (op->fn) {
        callbacks_push(op->session->callbacks, op_deliver, op);
    } else {
        if (op->wake)
            sem_post(op->wake);
        op_unref(op);
    }
}

static void op_on_decided(void *context, struct tenure *tenure, const zkl_error *error)
{
    op_decide(context, tenure ? grant_new_on(tenure) : NULL, error);
}

/* Replaces a result that nobody has seen yet by an error. Gives its grant back, if there is one. */
static void op_discard_result(zkl_op *op, int code, const char *text)
{
    if (!op->error)
        op->error = g_new(zkl_error, 1);
    error_fill(op->error, code, NULL, "%s", text);
    if (!op->grant)
        return;
    op->session->stats.acquisitions_discarded++;
    stats_failed(op->session, code);
    grant_give_back(op->grant, false);
    grant_unref(op->grant);
    op->grant = NULL;
}

void op_abort(zkl_op *op, int code, const char *text)
{
    if (op->given)
        return;
    if (op->decided)
        op_discard_result(op, code, text);
    else if (op->ops)
        op->ops->abort(op->context, code, text);
    else
        contender_abort(op->contender, code, text);
}

/* Ends an operation whose time has passed. The error says what kept it waiting. */
static void op_on_timeout(void *data)
{
    zkl_op *op = data;
    zkl_error why;

    if (!op->session->up)
        session_why_down(op->session, &why);
    else if (op->time_limit->timeout_ms <= 0)
        error_fill(&why, ZKL_EUNREACHABLE, NULL, "the server did not answer");
    else
        error_fill(&why, ZKL_ETIMEDOUT, NULL, "not acquired within %" G_GINT64_FORMAT " ms",
                   op->time_limit->timeout_ms);
    op_abort(op, why.code, why.text);
}

int op_ahead(const zkl_op *op)
{
    return op->decided ? -1 : contender_ahead(op->contender);
}

zkl_op *op_begin(struct op_queue *q, int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    zkl_session *s = q->session;
    zkl_error why;

    if (s->closing) {
        error_set(ZKL_ECLOSED, NULL, "the session was closed");
        return NULL;
    }
    zkl_op *op = g_new0(zkl_op, 1);
    atomic_init(&op->refs, 2);
    op->session = session_ref(s);
    if (timeout_ms != ZKL_FOREVER) {
        op->time_limit = g_new0(struct time_limit, 1);
        op->time_limit->timeout_ms = timeout_ms;
    }
    op->fn = fn;
    if (fn) /* otherwise .wake is in that place */
        op->data = data;
    op->link.data = op;
    op->queue = q;
    g_queue_push_tail_link(&q->ops, &op->link);
    op->began_ns = clock_boot();
    stats_wait_begin(s, &q->waits, op->began_ns);
    if (s->refused) {
        session_why_down(s, &why);
        op_decide(op, NULL, &why);
    } else if (op->time_limit) {
        call_arm(s, &op->time_limit->timer, timeout_ms, op_on_timeout, op);
    }
    return op;
}

void op_limit_try(zkl_op *op, bool limited)
{
    struct timer *timer = &op->time_limit->timer;

    if (!limited)
        timers_cancel(timer);
    else if (!timer->at)
        call_arm(op->session, timer, op->time_limit->timeout_ms, op_on_timeout, op);
}

bool op_is_open(const zkl_op *op)
{
    return op && !op->decided;
}

void op_contend(zkl_op *op, const struct contender_spec *spec)
{
    op->ops = NULL;
    contender_enter(&op->contender, op->session, spec, op_on_decided, op);
}

void op_assign(zkl_op *op, const struct op_ops *ops, void *context)
{
    op->ops = ops;
    op->context = context;
}

zkl_op *op_start(struct op_queue *q, struct contender_spec *spec, int64_t timeout_ms,
                 zkl_acquired_fn fn, void *data)
{
    zkl_op *op = op_begin(q, timeout_ms, fn, data);

    spec->try_only = timeout_ms <= 0;
    if (op_is_open(op))
        op_contend(op, spec);
    return op;
}

/* The thread that decides the operation posts to the semaphore with the monitor held. So that
 * thread makes no more use of the semaphore when this one has the monitor again, and destroys it.
 */
int op_wait(zkl_op *op, zkl_grant **ret)
{
    if (!op->decided) {
        sem_t wake;
        sem_init(&wake, 0, 0);
        op->wake = &wake;
        session_unlock(op->session);
        thread_wait(&wake);
        session_lock(op->session);
        sem_destroy(&wake);
    }
    op->given = true;
    if (op->error)
        return error_keep(op->error);
    *ret = op->grant;
    return 0;
}

/* Waits for the operation. The user owns the grant in *ret, and has to release it. */
static int op_wait_owned(zkl_op *op, zkl_grant **ret)
{
    const int code = op_wait(op, ret);

    if (!code)
        grant_own(*ret);
    return code;
}

int op_return_grant(zkl_op *op, zkl_grant **ret)
{
    if (!op)
        return ZKL_ECLOSED;
    session_lock(op->session);
    const int code = op_wait_owned(op, ret);
    session_unlock(op->session);
    op_unref(op);
    return code;
}

int op_return_op(zkl_op *op, zkl_op **ret)
{
    if (!op)
        return ZKL_ECLOSED;
    if (ret)
        *ret = op;
    else
        zkl_op_free(op);
    return 0;
}

/* ---- all of a handle ---- */

/* Ends the last one first: if the first one ended, the next would take its place and enter. */
void op_queue_abort(struct op_queue *q, int code, const char *text)
{
    while (!g_queue_is_empty(&q->ops))
        op_abort(g_queue_peek_tail(&q->ops), code, text);
}

static void op_queue_on_session_end(void *queue, const zkl_error *why)
{
    op_queue_abort(queue, why->code, why->text);
}

void op_queue_init(struct op_queue *q, zkl_session *s, const char *path)
{
    q->session = s;
    stats_waits_add(s, &q->waits, path);
    callers_add(&contenders_of(s)->callers, &q->callers, op_queue_on_session_end, q);
}

void op_queue_clear(struct op_queue *q)
{
    stats_waits_remove(q->session, &q->waits);
    callers_remove(&q->callers);
}

/* ---- what the user does ---- */

void zkl_op_cancel(zkl_op *op)
{
    if (!op || fork_is_child(op->session->generation))
        return;
    session_lock(op->session);
    op_abort(op, ZKL_ECANCELED, "canceled");
    session_unlock(op->session);
}

static int op_check_wait(const zkl_op *op)
{
    if (op->fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_op_wait: a function gets the result");
    if (op->given)
        return error_set(ZKL_EINVAL, NULL, "zkl_op_wait: the result was given before");
    if (op->wake)
        return error_set(ZKL_EINVAL, NULL, "zkl_op_wait: another thread waits");
    if (!op->decided && callbacks_inside())
        return error_set(ZKL_EDEADLK, NULL, "zkl_op_wait: this would wait inside a callback");
    return 0;
}

int zkl_op_wait(zkl_op *op, zkl_grant **ret)
{
    if (!op || !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_op_wait: %s is NULL", op ? "ret" : "op");
    if (fork_is_child(op->session->generation))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    atomic_fetch_add(&op->refs, 1);
    session_lock(op->session);
    int code = op_check_wait(op);
    if (!code)
        code = op_wait_owned(op, ret);
    session_unlock(op->session);
    op_unref(op);
    return code;
}

/* Returns the contender whose node the user may know; NULL: there is none. */
static const struct contender *op_waiting_contender(const zkl_op *op)
{
    if (op->decided)
        return NULL;
    if (!op->ops)
        return op->contender;
    return op->ops->waiting ? op->ops->waiting(op->context) : NULL;
}

int zkl_op_node(zkl_op *op, char *buf, size_t size)
{
    int code = 0;

    if (!op || !buf)
        return error_set(ZKL_EINVAL, NULL, "zkl_op_node: %s is NULL", op ? "buf" : "op");
    if (fork_is_child(op->session->generation))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    session_lock(op->session);
    const struct contender *c = op_waiting_contender(op);
    char *node = c ? contender_own_node(c) : NULL;
    session_unlock(op->session);
    const char *path = node ? session_path(op->session, node) : NULL;
    if (!path)
        code = error_set(ZKL_ENOENT, NULL, "zkl_op_node: no node is known");
    else if (g_strlcpy(buf, path, size) >= size)
        code = error_set(ZKL_ERANGE, path, "%s: %s", path, zkl_strerror(ZKL_ERANGE));
    g_free(node);
    return code;
}

void zkl_op_free(zkl_op *op)
{
    if (!op || fork_is_child(op->session->generation))
        return;
    if (!op->fn)
        zkl_op_cancel(op);
    op_unref(op);
}
