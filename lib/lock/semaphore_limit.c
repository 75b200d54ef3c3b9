/* The limit as an administrator reads and sets it: one exchange with the server, which the caller
 * waits for. */
#include <semaphore.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/thread.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/request.h"
#include "recipes/limit.h"
#include "semaphore_handle.h"

/* Guarded by the monitor, but the semaphore. */
struct exchange {
    int refs;             /* the caller's, and that of a request under way */
    zkl_session *session; /* which outlives it */
    char *path;           /* GRefString */
    int32_t limit;        /* to be set, 0: none; or what was read */
    bool set, over;
    zkl_error error;
    struct timer timer;
    sem_t done;
};

static void exchange_unref(struct exchange *x)
{
    if (--x->refs > 0)
        return;
    sem_destroy(&x->done);
    g_ref_string_release(x->path);
    g_free(x);
}

static void end(struct exchange *x)
{
    if (x->over)
        return;
    x->over = true;
    timers_cancel(&x->timer);
    sem_post(&x->done);
}

static void fail(struct exchange *x, int code, const char *text)
{
    const char *path = session_path(x->session, x->path);

    if (!x->over)
        error_fill(&x->error, code, path, "%s: %s", path, text);
    end(x);
}

static void fail_store(struct exchange *x, enum store_rc rc)
{
    const int code = rc == STORE_NONODE ? ZKL_ENOENT : rc == STORE_NOAUTH ? ZKL_EACCES : ZKL_EPROTO;

    if (!x->over)
        denial_fill(x->session, &x->error, code, session_path(x->session, x->path));
    end(x);
}

static void ask(struct exchange *x, enum store_kind kind, int32_t version);

/* The session went: the next one is asked, if there is one. */
static bool is_gone(struct exchange *x, enum store_rc rc)
{
    const zkl_session *s = x->session;

    if (rc != STORE_GONE)
        return false;
    if (s->closing)
        fail(x, ZKL_ECLOSED, "the session was closed");
    else if (s->refused)
        fail(x, ZKL_EAUTH, zkl_strerror(ZKL_EAUTH));
    else
        ask(x, STORE_GET, 0);
    return true;
}

static void on_set(struct request *r, const struct store_reply *reply)
{
    struct exchange *x = r->context;

    if (reply->rc == STORE_OK)
        end(x);
    else if (reply->rc == STORE_BADVERSION && !x->over)
        ask(x, STORE_GET, 0);
    else if (!is_gone(x, reply->rc))
        fail_store(x, reply->rc);
    exchange_unref(x);
}

/* A set whose answer was lost may have been done: then this shows what was set. */
static void take(struct exchange *x, const struct store_reply *reply)
{
    const int32_t limit = limit_read(reply->data, (size_t)reply->length);

    if (limit == 0 && (reply->length > 0 || !x->set)) {
        fail(x, ZKL_ELAYOUT, "its data are no limit of a semaphore");
    } else if (x->set && limit != x->limit) {
        ask(x, STORE_SET, reply->version);
    } else {
        x->limit = limit;
        end(x);
    }
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct exchange *x = r->context;

    if (reply->rc == STORE_OK && !x->over)
        take(x, reply);
    else if (reply->rc != STORE_OK && !is_gone(x, reply->rc))
        fail_store(x, reply->rc);
    exchange_unref(x);
}

static void ask(struct exchange *x, enum store_kind kind, int32_t version)
{
    struct request *r;

    if (x->over)
        return;
    x->refs++;
    r = request_new(kind, g_strdup(x->path), kind == STORE_SET ? on_set : on_read, x);
    if (kind == STORE_SET) {
        r->what.data = g_strdup_printf("%d", x->limit);
        r->what.length = (int)strlen(r->what.data);
        r->what.version = version;
    }
    request_send(x->session, r);
}

static void on_timeout(void *data)
{
    struct exchange *x = data;

    if (x->session->up)
        fail(x, ZKL_ETIMEDOUT, zkl_strerror(ZKL_ETIMEDOUT));
    else if (!x->over)
        session_why_down(x->session, &x->error);
    end(x);
}

static void begin(struct exchange *x, int64_t timeout_ms)
{
    zkl_session *s = x->session;

    if (s->closing)
        fail(x, ZKL_ECLOSED, "the session was closed");
    else if (s->refused)
        fail(x, ZKL_EAUTH, zkl_strerror(ZKL_EAUTH));
    if (x->over)
        return;
    call_arm(s, &x->timer, timeout_ms, on_timeout, x);
    ask(x, STORE_GET, 0);
}

static int check(const zkl_semaphore *m)
{
    const int code = semaphore_check_blocking(m);

    if (!code && m->curator)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: Curator's layout keeps no limit",
                         semaphore_path(m));
    return code;
}

/* Whoever posted still has the monitor. */
static int exchange(zkl_semaphore *m, int32_t limit, int64_t timeout_ms, int *ret)
{
    struct exchange *x = g_new0(struct exchange, 1);
    zkl_session *s = m->session;
    int code = 0;

    x->refs = 1;
    x->session = s;
    x->path = g_ref_string_acquire(m->path);
    x->limit = limit;
    x->set = limit > 0;
    sem_init(&x->done, 0, 0);
    g_atomic_int_inc(&m->refs);
    session_lock(s);
    begin(x, timeout_ms);
    session_unlock(s);
    thread_wait(&x->done);
    session_lock(s);
    if (x->error.code)
        code = error_keep(&x->error);
    else if (ret)
        *ret = x->limit;
    exchange_unref(x);
    session_unlock(s);
    semaphore_unref(m);
    return code;
}

int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret)
{
    const int code = check(m);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_get_limit: ret is NULL");
    return exchange(m, 0, timeout_ms, ret);
}

int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms)
{
    const int code = check(m);

    if (code)
        return code;
    if (limit < 1)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: the limit must be 1 or more",
                         semaphore_path(m));
    return exchange(m, limit, timeout_ms, NULL);
}
