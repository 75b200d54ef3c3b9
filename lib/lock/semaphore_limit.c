/* The limit as an administrator reads and sets it: recipes/limit.h decides. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/session/driven.h"
#include "recipes/limit.h"
#include "semaphore_handle.h"

struct limit_op {
    struct driven driven;
    struct limit_call machine;
};

static struct limit_op *limit_op_of(struct driver *d)
{
    return (struct limit_op *)driven_of(d);
}

static void limit_op_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    limit_step(&limit_op_of(d)->machine, ev, out);
}

static char *limit_op_data(struct driver *d, unsigned node, int *ret_length)
{
    char *text = g_strdup_printf("%d", limit_op_of(d)->machine.wanted);

    (void)node;
    *ret_length = (int)strlen(text);
    return text;
}

/* A connection that is missing is no matter of this path. */
static void limit_op_stopped(struct call *c)
{
    const zkl_error why = c->error;

    if (why.code == ZKL_EUNREACHABLE || why.code == ZKL_EHOST)
        call_end_as(c, &why);
    else
        call_end(c, why.code, why.text);
}

static void limit_op_tell(struct driver *d, const struct machine_action *a)
{
    struct call *c = &driven_of(d)->call;

    if (a->verdict == LIMIT_STOPPED)
        limit_op_stopped(c);
    else if (a->verdict == LIMIT_ODD)
        call_end(c, ZKL_ELAYOUT, "its data are no limit of a semaphore");
    else
        call_end(c, a->verdict == LIMIT_DONE ? 0 : call_error(a->rc), NULL);
}

static const struct driver_ops limit_driver = {.step = limit_op_step,
                                               .path = driven_path,
                                               .data = limit_op_data,
                                               .tell = limit_op_tell,
                                               .ref = driven_ref,
                                               .unref = driven_unref};

static int limit_op_check(const zkl_semaphore *m)
{
    const int code = semaphore_check_blocking(m);

    if (!code && m->curator)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: Curator's layout keeps no limit",
                         semaphore_path(m));
    return code;
}

static int limit_op_run(zkl_semaphore *m, int32_t wanted, int64_t timeout_ms, int *ret)
{
    struct limit_op *x = g_new0(struct limit_op, 1);
    struct call *call = &x->driven.call;

    x->machine.wanted = wanted;
    call_init(call, &driven_call_ops, m->session, g_strdup(m->path), NULL, NULL);
    driver_init(&x->driven.driver, &limit_driver, m->session, STORE_CONTAINER);
    call_ref(call); /* for what was read; nobody else has it yet */
    const int code = call_run(call, timeout_ms);
    if (!code && ret)
        *ret = x->machine.limit;
    call_free(call);
    return code;
}

int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret)
{
    const int code = limit_op_check(m);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_get_limit: ret is NULL");
    return limit_op_run(m, 0, timeout_ms, ret);
}

int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms)
{
    const int code = limit_op_check(m);

    if (code)
        return code;
    if (limit < 1)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: the limit must be 1 or more",
                         semaphore_path(m));
    return limit_op_run(m, limit, timeout_ms, NULL);
}
