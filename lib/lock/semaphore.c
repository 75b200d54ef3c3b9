/* Semaphores: permits, and the limit as an administrator reads and sets it (recipes/limit.h
 * decides).
 */
#include <glib.h>
#include <limits.h>
#include <string.h>

#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/contender/contender.h"
#include "lib/session/driven.h"
#include "op.h"
#include "recipes/limit.h"
#include "recipes/multi_lock.h"

struct zkl_semaphore {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path;    /* GRefString, with chroot */
    char *payload; /* GRefString */
    zkl_parents parents;
    bool numbered;
    bool curator; /* in Curator's layout */
    /* guarded by the monitor: */
    struct permit_limit *limit; /* an rc_box */
    struct op_queue waiters;
};

/* So many numbers fit into a node's data, whatever they are. */
enum { NUMBERED_MAX = 1000 };

/* As the user sees it. */
static const char *semaphore_path(const zkl_semaphore *m)
{
    return session_path(m->session, m->path);
}

static void semaphore_unref(zkl_semaphore *m)
{
    if (!g_atomic_int_dec_and_test(&m->refs))
        return;
    session_lock(m->session); /* contenders share these */
    op_queue_clear(&m->waiters);
    g_rc_box_release(m->limit);
    g_ref_string_release(m->path);
    g_ref_string_release(m->payload);
    session_unlock(m->session);
    session_unref(m->session);
    g_free(m);
}

/* 0, or the error that every entry point returns first, already made the thread's last. */
static int semaphore_check(const zkl_semaphore *m)
{
    if (!m)
        return error_set(ZKL_EINVAL, NULL, "the semaphore is NULL");
    return session_check(m->session);
}

/* The same of a blocking one. */
static int semaphore_check_blocking(const zkl_semaphore *m)
{
    const int code = semaphore_check(m);

    if (!code && callbacks_inside())
        return error_set(ZKL_EDEADLK, semaphore_path(m), "%s: this would wait inside a callback",
                         semaphore_path(m));
    return code;
}

/* ---- new ---- */

static const char *semaphore_check_options(const zkl_semaphore_options *o)
{
    const char *wrong = options_check(o->name, o->parents);

    if (wrong)
        return wrong;
    if (o->numbered & ~1)
        return "numbered must be 0 or 1";
    if (o->numbered && o->name && strchr(o->name, '\n'))
        return "name has a line break, and the numbers are a line behind it";
    if (o->limit < 0)
        return "limit must not be negative";
    if ((unsigned)o->layout > ZKL_SEMAPHORE_CURATOR)
        return "layout is none of zkl_semaphore_layout";
    if (o->layout == ZKL_SEMAPHORE_CURATOR && o->limit == 0)
        return "Curator's layout keeps no limit: limit must be given";
    if (o->layout == ZKL_SEMAPHORE_CURATOR && o->numbered)
        return "Curator's layout has no numbers";
    return NULL;
}

static zkl_semaphore *semaphore_new(zkl_session *s, const char *path,
                                    const zkl_semaphore_options *o)
{
    zkl_semaphore *m = g_new0(zkl_semaphore, 1);

    m->refs = 1;
    m->session = session_ref(s);
    m->path = path_full(s->chroot, path);
    m->payload = handle_new_payload(o->name, 0);
    m->parents = o->parents;
    m->numbered = o->numbered;
    m->curator = o->layout == ZKL_SEMAPHORE_CURATOR;
    m->limit = g_rc_box_new0(struct permit_limit);
    m->limit->initial = o->limit;
    session_lock(s);
    op_queue_init(&m->waiters, s);
    session_unlock(s);
    return m;
}

int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                      const zkl_semaphore_options *options)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    const char *wrong = options_take(&o, sizeof o, options);
    int code = handle_check_new("zkl_semaphore_new", ret, s, path,
                                wrong ? wrong : semaphore_check_options(&o));

    if (code)
        return code;
    *ret = semaphore_new(s, path, &o);
    return 0;
}

void zkl_semaphore_free(zkl_semaphore *m)
{
    if (!m || fork_is_child(m->session->generation))
        return;
    session_lock(m->session);
    op_queue_abort(&m->waiters, ZKL_ECLOSED, "the semaphore was freed");
    session_unlock(m->session);
    semaphore_unref(m);
}

/* ---- acquiring ---- */

static zkl_op *semaphore_start(zkl_semaphore *m, int permits, int64_t timeout_ms,
                               zkl_acquired_fn fn, void *data)
{
    struct contender_spec spec = {.directory = m->path,
                                  .payload = m->payload,
                                  .parents = m->parents,
                                  .rule = RULE_LEASE,
                                  .rank = m->numbered ? -permits : permits,
                                  .numbered = m->numbered,
                                  .limit = m->curator ? NULL : m->limit,
                                  .leases = m->curator ? m->limit->initial : 0};

    session_lock(m->session);
    zkl_op *op = op_start(&m->waiters, &spec, timeout_ms, fn, data);
    session_unlock(m->session);
    return op;
}

static int semaphore_check_permits(const zkl_semaphore *m, int permits)
{
    const int most = m->curator ? MULTI_LOCK_PATHS : m->numbered ? NUMBERED_MAX : INT_MAX;

    if (permits > 0 && permits <= most)
        return 0;
    return error_set(ZKL_EINVAL, semaphore_path(m), "%s: permits must be 1%s", semaphore_path(m),
                     most == MULTI_LOCK_PATHS ? " to 64 in Curator's layout"
                     : most == INT_MAX        ? " or more"
                                              : " to 1000");
}

int zkl_semaphore_acquire(zkl_semaphore *m, int permits, int64_t timeout_ms, zkl_grant **ret)
{
    int code = semaphore_check_blocking(m);

    if (!code)
        code = semaphore_check_permits(m, permits);
    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire: ret is NULL");
    g_atomic_int_inc(&m->refs);
    code = op_end_call(semaphore_start(m, permits, timeout_ms, NULL, NULL), ret);
    semaphore_unref(m);
    return code;
}

int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                zkl_acquired_fn fn, void *data, zkl_op **ret)
{
    int code = semaphore_check(m);

    if (!code)
        code = semaphore_check_permits(m, permits);
    if (code)
        return code;
    if (!fn && !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire_async: fn and ret are NULL");
    return op_end_async(semaphore_start(m, permits, timeout_ms, fn, data), ret);
}

/* ---- the limit ---- */

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
