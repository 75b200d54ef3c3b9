#include <limits.h>
#include <string.h>

#include "canceler.h"
#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "op.h"
#include "recipes/multi_lock.h"
#include "semaphore_handle.h"

/* So many numbers fit into a node's data, whatever they are. */
enum { NUMBERED_MAX = 1000 };

const char *semaphore_path(const zkl_semaphore *m)
{
    return session_path(m->session, m->path);
}

static void semaphore_unref(zkl_semaphore *m)
{
    if (!g_atomic_int_dec_and_test(&m->refs))
        return;
    session_lock(m->session); /* contenders share these */
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

int semaphore_check_blocking(const zkl_semaphore *m)
{
    const int code = semaphore_check(m);

    if (!code && callbacks_inside())
        return error_set(ZKL_EDEADLK, semaphore_path(m), "%s: this would wait inside a callback",
                         semaphore_path(m));
    return code;
}

/* ---- new ---- */

static const char *check_options(const zkl_semaphore_options *o)
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
    return m;
}

int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                      const zkl_semaphore_options *options)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    const char *wrong = options_take(&o, sizeof o, options);
    int code =
        handle_check_new("zkl_semaphore_new", ret, s, path, wrong ? wrong : check_options(&o));

    if (code)
        return code;
    *ret = semaphore_new(s, path, &o);
    return 0;
}

void zkl_semaphore_free(zkl_semaphore *m)
{
    if (!m || fork_is_child(m->session->generation))
        return;
    op_abort_all(m->session, &m->waiters, ZKL_ECLOSED, "the semaphore was freed");
    semaphore_unref(m);
}

/* ---- acquiring ---- */

static zkl_op *start(zkl_semaphore *m, int permits, int64_t timeout_ms, zkl_acquired_fn fn,
                     void *data)
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
    zkl_op *op = op_start(m->session, &spec, timeout_ms, fn, data, &m->waiters);
    session_unlock(m->session);
    return op;
}

static int check_permits(const zkl_semaphore *m, int permits)
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
    return zkl_semaphore_acquire_cancelable(m, permits, timeout_ms, NULL, ret);
}

int zkl_semaphore_acquire_cancelable(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                     zkl_canceler *canceler, zkl_grant **ret)
{
    int code = semaphore_check_blocking(m);

    if (!code)
        code = check_permits(m, permits);
    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire: ret is NULL");
    if ((code = canceler_check(canceler, semaphore_path(m))))
        return code;
    g_atomic_int_inc(&m->refs);
    code = canceler_end_call(canceler, start(m, permits, timeout_ms, NULL, NULL), ret);
    semaphore_unref(m);
    return code;
}

int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                zkl_acquired_fn fn, void *data, zkl_op **ret)
{
    int code = semaphore_check(m);

    if (!code)
        code = check_permits(m, permits);
    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire_async: fn is NULL");
    return op_end_async(start(m, permits, timeout_ms, fn, data), ret);
}
