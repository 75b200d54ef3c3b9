/* The limit as an administrator reads and sets it: one exchange with the server, which the caller
 * waits for. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/request.h"
#include "recipes/limit.h"
#include "semaphore_handle.h"

struct exchange {
    struct call call;
    int32_t limit; /* to be set, 0: none; or what was read */
    bool set;
};

static void ask(struct exchange *x, enum store_kind kind, int32_t version);

/* Where the session went, the next one is asked. */
static void refuse(struct exchange *x, enum store_rc rc)
{
    if (rc == STORE_GONE)
        ask(x, STORE_GET, 0);
    else
        call_end(&x->call, call_error(rc), NULL);
}

static void on_set(struct request *r, const struct store_reply *reply)
{
    struct exchange *x = r->context;

    if (reply->rc == STORE_OK)
        call_end(&x->call, 0, NULL);
    else if (reply->rc == STORE_BADVERSION)
        ask(x, STORE_GET, 0);
    else
        refuse(x, reply->rc);
    call_unref(&x->call);
}

/* A set whose answer was lost may have been done: then this shows what was set. */
static void take(struct exchange *x, const struct store_reply *reply)
{
    const int32_t limit = limit_read(reply->data, (size_t)reply->length);

    if (limit == 0 && (reply->length > 0 || !x->set)) {
        call_end(&x->call, ZKL_ELAYOUT, "its data are no limit of a semaphore");
    } else if (x->set && limit != x->limit) {
        ask(x, STORE_SET, reply->version);
    } else {
        x->limit = limit;
        call_end(&x->call, 0, NULL);
    }
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct exchange *x = r->context;

    if (reply->rc != STORE_OK)
        refuse(x, reply->rc);
    else if (!x->call.ended)
        take(x, reply);
    call_unref(&x->call);
}

static void ask(struct exchange *x, enum store_kind kind, int32_t version)
{
    struct request *r;

    if (x->call.ended)
        return;
    call_ref(&x->call);
    r = request_new(kind, g_strdup(x->call.path), kind == STORE_SET ? on_set : on_read, x);
    if (kind == STORE_SET) {
        r->what.data = g_strdup_printf("%d", x->limit);
        r->what.length = (int)strlen(r->what.data);
        r->what.version = version;
    }
    request_send(x->call.session, r);
}

static void on_begin(struct call *c)
{
    ask((struct exchange *)c, STORE_GET, 0);
}

/* A connection that is missing is no matter of this path. */
static void on_stop(struct call *c, const zkl_error *why)
{
    if (why->code == ZKL_EUNREACHABLE || why->code == ZKL_EHOST)
        call_end_as(c, why);
    else
        call_end(c, why->code, why->text);
}

static const struct call_ops ops = {.begin = on_begin, .stop = on_stop};

static int check(const zkl_semaphore *m)
{
    const int code = semaphore_check_blocking(m);

    if (!code && m->curator)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: Curator's layout keeps no limit",
                         semaphore_path(m));
    return code;
}

static int exchange(zkl_semaphore *m, int32_t limit, int64_t timeout_ms, int *ret)
{
    struct exchange *x = g_new0(struct exchange, 1);

    x->limit = limit;
    x->set = limit > 0;
    call_init(&x->call, &ops, m->session, g_strdup(m->path), NULL, NULL);
    call_ref(&x->call); /* for what was read; nobody else has it yet */
    const int code = call_run(&x->call, timeout_ms);
    if (!code && ret)
        *ret = x->limit;
    call_free(&x->call);
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
