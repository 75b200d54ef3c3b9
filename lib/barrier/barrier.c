/* Barriers: closed while their node exists. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/parents.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "spec.h"

struct zkl_barrier {
    struct barrier_spec spec;
    GQueue calls; /* of struct barrier_call: guarded by the monitor */
};

enum wish { WISH_SET, WISH_REMOVE, WISH_WAIT };

struct barrier_call {
    struct call call;
    zkl_barrier *of; /* NULL once it has ended */
    GList link;
    enum wish wish;
    struct subscription watch;
    bool waits; /* for the watch, or for the next session */
};

static struct barrier_call *call_of(struct call *c)
{
    return (struct barrier_call *)c;
}

static void end(struct barrier_call *c, int code)
{
    if (c->of)
        g_queue_unlink(&c->of->calls, &c->link);
    c->of = NULL;
    watch_drop(&c->watch, false);
    call_end(&c->call, code, NULL);
}

static void on_stop(struct call *call, const zkl_error *why)
{
    call_end_as(call, why);
    end(call_of(call), why->code); /* the first error counts */
}

static struct request *request_for(struct barrier_call *c, enum store_kind kind,
                                   void (*done)(struct request *r, const struct store_reply *reply))
{
    call_ref(&c->call);
    return request_new(kind, g_strdup(c->call.path), done, c);
}

/* ---- set and remove ---- */

static void ask_create(struct barrier_call *c);

static void on_parents(void *context, enum store_rc rc)
{
    struct barrier_call *c = context;

    if (c->of && rc != STORE_OK && rc != STORE_GONE)
        end(c, call_error(rc));
    else if (c->of)
        ask_create(c);
    call_unref(&c->call);
}

static void on_created(struct request *r, const struct store_reply *reply)
{
    struct barrier_call *c = r->context;

    if (reply->rc == STORE_NONODE && c->of) {
        call_ref(&c->call);
        parents_make(c->call.session, c->call.path, c->of->spec.parents, on_parents, c);
    } else if (reply->rc == STORE_OK || reply->rc == STORE_EXISTS) {
        end(c, 0);
    } else if (reply->rc == STORE_GONE && c->of) {
        ask_create(c); /* in the next session */
    } else if (c->of) {
        end(c, call_error(reply->rc));
    }
    call_unref(&c->call);
}

static void ask_create(struct barrier_call *c)
{
    struct request *r = request_for(c, STORE_CREATE, on_created);

    r->what.mode = STORE_PERSISTENT;
    r->what.data = g_strdup(c->of->spec.name);
    r->what.length = (int)strlen(r->what.data);
    request_send(c->call.session, r);
}

static void ask_delete(struct barrier_call *c);

static void on_deleted(struct request *r, const struct store_reply *reply)
{
    struct barrier_call *c = r->context;

    if (reply->rc == STORE_OK || reply->rc == STORE_NONODE)
        end(c, 0);
    else if (reply->rc == STORE_GONE && c->of)
        ask_delete(c);
    else if (c->of)
        end(c, call_error(reply->rc));
    call_unref(&c->call);
}

static void ask_delete(struct barrier_call *c)
{
    request_send(c->call.session, request_for(c, STORE_DELETE, on_deleted));
}

/* ---- wait ---- */

static void ask_read(struct barrier_call *c);

static void on_fired(void *context, bool gone)
{
    struct barrier_call *c = context;

    if (gone)
        end(c, 0);
    else
        ask_read(c);
}

/* A watch that was left while the session ends would end with it: the next one begins anew. */
static void on_read(struct request *r, const struct store_reply *reply)
{
    struct barrier_call *c = r->context;

    watch_answered(c->call.session, r, reply, &c->watch);
    if (reply->rc == STORE_NONODE)
        end(c, 0);
    else if ((reply->rc == STORE_OK || reply->rc == STORE_GONE) && c->of)
        c->waits = true;
    else if (c->of)
        end(c, call_error(reply->rc));
    call_unref(&c->call);
}

static void ask_read(struct barrier_call *c)
{
    struct request *r = request_for(c, STORE_GET, on_read);

    c->waits = false;
    if (watch_add(c->call.session, r, &c->watch)) {
        request_send(c->call.session, r);
        return;
    }
    request_free(r);
    end(c, ZKL_ELIMIT);
    call_unref(&c->call);
}

static void on_synced(struct request *r, const struct store_reply *reply)
{
    (void)reply; /* the read behind it tells */
    call_unref(&((struct barrier_call *)r->context)->call);
}

static void begin_wait(struct barrier_call *c)
{
    request_send(c->call.session, request_for(c, STORE_SYNC, on_synced));
    ask_read(c);
}

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
        on_stop(b->calls.head->data, &why);
    session_unlock(s);
    barrier_spec_clear(&b->spec);
    g_free(b);
}

/* ---- calls ---- */

static int on_enter(struct call *call)
{
    struct barrier_call *c = call_of(call);

    if (call->fn && call->session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    g_queue_push_tail_link(&c->of->calls, &c->link);
    return 0;
}

static void on_begin(struct call *call)
{
    struct barrier_call *c = call_of(call);

    if (c->wish == WISH_SET)
        ask_create(c);
    else if (c->wish == WISH_REMOVE)
        ask_delete(c);
    else
        begin_wait(c);
}

static void on_replaced(struct call *call)
{
    struct barrier_call *c = call_of(call);

    if (c->waits)
        begin_wait(c); /* otherwise a request is under way, whose answer tells */
}

static const struct call_ops ops = {
    .waits = true, .enter = on_enter, .begin = on_begin, .stop = on_stop, .replaced = on_replaced};

/* fn NULL: blocks. */
static int call(zkl_barrier *b, const char *doing, enum wish wish, int64_t timeout_ms,
                zkl_done_fn fn, void *data)
{
    const int code = barrier_spec_check(b ? &b->spec : NULL, doing, fn == NULL);

    if (code)
        return code;
    struct barrier_call *c = g_new0(struct barrier_call, 1);
    c->of = b;
    c->link.data = c;
    c->wish = wish;
    c->watch = (struct subscription){.fired = on_fired, .context = c};
    call_init(&c->call, &ops, b->spec.session, g_strdup(b->spec.path), fn, data);
    return call_run(&c->call, timeout_ms);
}

int zkl_barrier_set(zkl_barrier *b, int64_t timeout_ms)
{
    return call(b, "zkl_barrier_set", WISH_SET, timeout_ms, NULL, NULL);
}

int zkl_barrier_remove(zkl_barrier *b, int64_t timeout_ms)
{
    return call(b, "zkl_barrier_remove", WISH_REMOVE, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait(zkl_barrier *b, int64_t timeout_ms)
{
    return call(b, "zkl_barrier_wait", WISH_WAIT, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait_async(zkl_barrier *b, int64_t timeout_ms, zkl_done_fn fn, void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_barrier_wait_async: fn is NULL");
    return call(b, "zkl_barrier_wait_async", WISH_WAIT, timeout_ms, fn, data);
}
