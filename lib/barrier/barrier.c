/* Barriers: closed while their node exists. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/session/driver.h"
#include "recipes/barrier.h"
#include "spec.h"

struct zkl_barrier {
    struct barrier_spec spec;
    GQueue calls; /* of struct barrier_op: guarded by the monitor */
};

struct barrier_op {
    struct driven driven;
    zkl_barrier *of; /* NULL once it has ended */
    GList link;
    struct barrier_call machine;
};

static struct barrier_op *barrier_op_of(struct driver *d)
{
    return (struct barrier_op *)driven_of(d);
}

static void barrier_op_step(struct driver *d, const struct machine_event *ev,
                            struct machine_actions *out)
{
    barrier_call_step(&barrier_op_of(d)->machine, ev, out);
}

static char *barrier_op_data(struct driver *d, unsigned node, int *ret_length)
{
    const char *name = barrier_op_of(d)->of->spec.name;

    (void)node;
    *ret_length = (int)strlen(name);
    return g_strdup(name);
}

static void barrier_op_tell(struct driver *d, const struct machine_action *a)
{
    struct barrier_op *op = barrier_op_of(d);
    struct call *call = &op->driven.call;

    g_queue_unlink(&op->of->calls, &op->link);
    op->of = NULL;
    if (a->verdict == BARRIER_CALL_STOPPED)
        call_end_as(call, &call->error);
    else
        call_end(call, a->verdict == BARRIER_CALL_DONE ? 0 : call_error(a->rc), NULL);
}

static const struct driver_ops barrier_driver = {.step = barrier_op_step,
                                                 .path = driven_path,
                                                 .data = barrier_op_data,
                                                 .tell = barrier_op_tell,
                                                 .ref = driven_ref,
                                                 .unref = driven_unref};

/* ---- the handle ---- */

int zkl_barrier_new(zkl_barrier **ret, zkl_session *s, const char *path,
                    const zkl_barrier_options *options)
{
    zkl_barrier *b;

    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_barrier_new: ret is NULL");
    b = g_new0(zkl_barrier, 1);
    int code = barrier_spec_take(&b->spec, "zkl_barrier_new", s, path, options);
    if (code)
        g_free(b);
    else
        *ret = b;
    return code;
}

void zkl_barrier_free(zkl_barrier *b)
{
    zkl_session *s;
    zkl_error why;

    if (!b || fork_is_child(b->spec.session->generation))
        return;
    s = b->spec.session;
    error_fill(&why, ZKL_ECLOSED, session_path(s, b->spec.path), "the barrier was freed");
    session_lock(s);
    while (!g_queue_is_empty(&b->calls))
        driven_stop(b->calls.head->data, &why);
    session_unlock(s);
    barrier_spec_clear(&b->spec);
    g_free(b);
}

/* ---- calls ---- */

static int barrier_op_enter(struct call *call)
{
    struct barrier_op *op = (struct barrier_op *)call;

    if (call->fn && call->session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    g_queue_push_tail_link(&op->of->calls, &op->link);
    return 0;
}

static const struct call_ops barrier_call_ops = {.waits = true,
                                                 .enter = barrier_op_enter,
                                                 .begin = driven_begin,
                                                 .stop = driven_stop,
                                                 .replaced = driven_replaced,
                                                 .free = driven_free};

/* fn NULL: blocks. */
static int barrier_run(zkl_barrier *b, const char *doing, enum barrier_goal goal,
                       int64_t timeout_ms, zkl_done_fn fn, void *data)
{
    const int code = barrier_spec_check(b ? &b->spec : NULL, doing, fn == NULL);

    if (code)
        return code;
    struct barrier_op *op = g_new0(struct barrier_op, 1);
    op->of = b;
    op->link.data = op;
    op->machine.goal = goal;
    call_init(&op->driven.call, &barrier_call_ops, b->spec.session, g_strdup(b->spec.path), fn,
              data);
    driver_init(&op->driven.driver, &barrier_driver, b->spec.session, b->spec.parents);
    return call_run(&op->driven.call, timeout_ms);
}

int zkl_barrier_set(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_set", BARRIER_SET, timeout_ms, NULL, NULL);
}

int zkl_barrier_remove(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_remove", BARRIER_REMOVE, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_wait", BARRIER_WAIT, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait_async(zkl_barrier *b, int64_t timeout_ms, zkl_done_fn fn, void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_barrier_wait_async: fn is NULL");
    return barrier_run(b, "zkl_barrier_wait_async", BARRIER_WAIT, timeout_ms, fn, data);
}
