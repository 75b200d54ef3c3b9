#include "call.h"

#include "denial.h"
#include "incarnation.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/path.h"
#include "lib/base/thread.h"
#include "participant.h"

int call_check(zkl_session *s, const char *doing, const char *path, bool blocking)
{
    int code = session_check(s);

    if (!code)
        code = path_error(s->chroot, path);
    if (code)
        return code;
    if (blocking && callbacks_inside())
        return error_set(ZKL_EDEADLK, path, "%s: it would wait inside a callback", doing);
    return 0;
}

/* ---- all calls of a session ---- */

struct calls {
    struct participant participant;
    GQueue list; /* of struct call */
};

static void call_stop(struct call *c, int code, const char *text)
{
    zkl_error why;

    error_fill(&why, code, session_path(c->session, c->path), "%s", text);
    c->ops->stop(c, &why);
}

/* Takes the next of the calls that were in the list when end was appended to it, and moves it to
 * the tail: any of them may end before the next one is taken. */
static struct call *calls_take_next(GQueue *list, GList *end)
{
    GList *link = list->head;

    g_queue_unlink(list, link);
    if (link == end)
        return NULL;
    g_queue_push_tail_link(list, link);
    return link->data;
}

static void calls_stop(struct participant *p, int code, const char *text)
{
    GQueue *list = &((struct calls *)p)->list;
    GList end = {.data = NULL};

    g_queue_push_tail_link(list, &end);
    for (struct call *c; (c = calls_take_next(list, &end));)
        call_stop(c, code, text);
}

static void calls_on_replaced(struct participant *p)
{
    GQueue *list = &((struct calls *)p)->list;
    GList end = {.data = NULL};

    g_queue_push_tail_link(list, &end);
    for (struct call *c; (c = calls_take_next(list, &end));)
        if (c->ops->replaced)
            c->ops->replaced(c);
}

static void calls_on_refused(struct participant *p)
{
    calls_stop(p, ZKL_EAUTH, zkl_strerror(ZKL_EAUTH));
}

static void calls_on_closed(struct participant *p)
{
    calls_stop(p, ZKL_ECLOSED, "the session was closed");
}

static const struct participant_ops participant = {.on = {[NEWS_REPLACED] = calls_on_replaced,
                                                          [NEWS_REFUSED] = calls_on_refused,
                                                          [NEWS_CLOSED] = calls_on_closed}};

static GQueue *calls_of(zkl_session *s)
{
    return &((struct calls *)participant_of(s, &participant, sizeof(struct calls)))->list;
}

/* ---- one call ---- */

void call_init(struct call *c, const struct call_ops *ops, zkl_session *s, char *path,
               zkl_done_fn fn, void *data)
{
    c->ops = ops;
    c->refs = 2;
    c->session = session_ref(s);
    c->path = path;
    c->link.data = c;
    c->fn = fn;
    c->data = data;
    sem_init(&c->done, 0, 0);
}

void call_ref(struct call *c)
{
    c->refs++;
}

/* Cannot free the session: that has another reference, its own or the caller's. */
void call_unref(struct call *c)
{
    if (--c->refs > 0)
        return;
    session_unref(c->session);
    sem_destroy(&c->done);
    g_free(c->path);
    if (c->ops->free)
        c->ops->free(c);
    else
        g_free(c);
}

int64_t call_due(zkl_session *s, int64_t timeout_ms)
{
    return clock_end(timeout_ms <= 0 ? session_patience_ms(s) : timeout_ms);
}

int64_t call_due_of_all(zkl_session *s, int64_t timeout_ms)
{
    session_lock(s);
    const int64_t due = call_due(s, timeout_ms);
    session_unlock(s);
    return due;
}

int64_t call_left_ms(int64_t due)
{
    const int64_t left_ns = due - clock_boot();

    if (due == INT64_MAX)
        return ZKL_FOREVER;
    return left_ns > CLOCK_MS ? (left_ns - 1) / CLOCK_MS + 1 : 1; /* rounded up */
}

void call_arm(zkl_session *s, struct timer *timer, int64_t timeout_ms, void (*fn)(void *data),
              void *data)
{
    const int64_t due = call_due(s, timeout_ms);

    if (due < INT64_MAX)
        timers_arm(s->timers, timer, due, fn, data);
}

static void call_on_timeout(void *data)
{
    struct call *c = data;
    zkl_error why;

    if (!c->session->up) {
        session_why_down(c->session, &why);
        c->ops->stop(c, &why);
    } else {
        call_stop(c, ZKL_ETIMEDOUT, zkl_strerror(ZKL_ETIMEDOUT));
    }
}

void call_outlast_default(struct call *c)
{
    if (c->by_default)
        timers_cancel(&c->timer);
}

static void call_deliver(void *data)
{
    struct call *c = data;

    c->fn(c->error.code ? &c->error : NULL, c->data);
    call_free(c);
}

void call_tell_as(struct call *c, const zkl_error *why)
{
    if (c->told)
        return;
    c->told = true;
    if (why)
        c->error = *why;
    timers_cancel(&c->timer);
    if (!c->fn)
        sem_post(&c->done);
    else if (!callbacks_push(c->session->callbacks, call_deliver, c))
        call_unref(c); /* nobody is told any more */
}

void call_end_as(struct call *c, const zkl_error *why)
{
    if (c->ended)
        return;
    c->ended = true;
    g_queue_unlink(calls_of(c->session), &c->link);
    if (!c->ops->waits)
        incarnation_user_left(c->session, &c->session->users.calls);
    call_tell_as(c, why);
    call_unref(c); /* the call's own */
}

static void call_fill(const struct call *c, zkl_error *why, int code, const char *text)
{
    const char *path = session_path(c->session, c->path);

    if (code && text)
        error_fill(why, code, path, "%s: %s", path, text);
    else if (code)
        denial_fill(c->session, why, code, path);
}

void call_tell(struct call *c, int code, const char *text)
{
    zkl_error why = {.code = 0};

    call_fill(c, &why, code, text);
    call_tell_as(c, &why);
}

void call_end(struct call *c, int code, const char *text)
{
    zkl_error why = {.code = 0};

    call_fill(c, &why, code, text);
    call_end_as(c, &why);
}

void call_free(struct call *c)
{
    zkl_session *s = session_ref(c->session);

    session_lock(s);
    call_unref(c);
    session_unlock(s);
    session_unref(s);
}

static int call_start(struct call *c, int64_t timeout_ms)
{
    zkl_session *s = c->session;

    session_lock(s);
    const int code = c->ops->enter ? c->ops->enter(c) : 0;
    if (code) {
        call_unref(c); /* the call's own */
    } else {
        g_queue_push_tail_link(calls_of(s), &c->link);
        s->users.calls += !c->ops->waits;
        c->by_default = timeout_ms <= 0;
        if (s->closing)
            call_stop(c, ZKL_ECLOSED, "the session was closed");
        else if (s->refused)
            call_stop(c, ZKL_EAUTH, zkl_strerror(ZKL_EAUTH));
        else
            call_arm(s, &c->timer, timeout_ms, call_on_timeout, c);
        if (!c->ended)
            c->ops->begin(c);
    }
    session_unlock(s);
    return code;
}

int call_run(struct call *c, int64_t timeout_ms)
{
    const bool blocks = !c->fn;
    int code = call_start(c, timeout_ms);

    if (!code && !blocks)
        return 0;
    if (!code) {
        thread_wait(&c->done);
        /* The thread that posted may still have the monitor. */
        session_lock(c->session);
        code = c->error.code ? error_keep(&c->error) : 0;
        session_unlock(c->session);
    }
    call_free(c);
    return code;
}

int call_error(enum store_rc rc)
{
    switch (rc) {
    case STORE_NONODE:
        return ZKL_ENOENT;
    case STORE_EXISTS:
        return ZKL_EEXIST;
    case STORE_BADVERSION:
        return ZKL_EVERSION;
    case STORE_NOAUTH:
        return ZKL_EACCES;
    case STORE_NOCHILDREN:
        return ZKL_EPATH;
    case STORE_NOTEMPTY:
        return ZKL_ENOTEMPTY;
    case STORE_LIMIT:
        return ZKL_ELIMIT;
    default:
        return ZKL_EPROTO;
    }
}
