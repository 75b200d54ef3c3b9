/* What a member's users wait for, and what they are told. */
#include <string.h>

#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "member.h"

/* ---- events ---- */

struct message {
    zkl_member *member;
    zkl_member_event event;
    zkl_member_news news;
    zkl_error error; /* .code 0: none */
    char *data;
};

static void free_message(struct message *msg)
{
    member_unref(msg->member);
    g_free(msg->data);
    g_free(msg);
}

static void deliver(void *data)
{
    struct message *msg = data;
    zkl_member *m = msg->member;
    zkl_session *s = session_ref(m->session);

    msg->news.data = msg->data ? msg->data : "";
    msg->news.err = msg->error.code ? &msg->error : NULL;
    m->options.fn(m, msg->event, &msg->news, m->options.fn_data);
    session_lock(s);
    free_message(msg);
    session_unlock(s);
    session_unref(s);
}

static void push(zkl_member *m, zkl_member_event event, zkl_member_news news, const zkl_error *why)
{
    struct message *msg;

    if (!m->options.fn)
        return;
    msg = g_new0(struct message, 1);
    *msg = (struct message){.member = m, .event = event, .news = news};
    if (event == ZKL_MEMBER_BUSY)
        msg->data = g_strdup(m->other_data);
    if (why)
        msg->error = *why;
    member_ref(m);
    if (!callbacks_push(m->session->callbacks, deliver, msg))
        free_message(msg);
}

/* ---- calls ---- */

enum wish { WISH_JOINED, WISH_WRITTEN, WISH_LEFT };

struct member_call {
    struct call call;
    zkl_member *of; /* NULL once it has ended */
    GList link;
    enum wish wish;
    GBytes *data;        /* WRITTEN */
    uint32_t generation; /* of these */
};

static void end(struct member_call *c, const zkl_error *why)
{
    zkl_member *m = c->of;

    if (!m)
        return;
    c->of = NULL;
    g_queue_unlink(&m->calls, &c->link);
    call_end_as(&c->call, why);
    member_unref(m);
}

/* Those of wish, and of data up to that generation; NULL: they have what they wait for. */
static void end_those(zkl_member *m, enum wish wish, uint32_t generation, const zkl_error *why)
{
    for (GList *l = m->calls.head, *next; l; l = next) {
        struct member_call *c = l->data;
        next = l->next;
        if (c->wish == wish && (wish != WISH_WRITTEN || c->generation <= generation))
            end(c, why);
    }
}

void member_end_calls(zkl_member *m, const zkl_error *why)
{
    for (int wish = WISH_JOINED; wish <= WISH_LEFT; wish++)
        end_those(m, (enum wish)wish, UINT32_MAX, why);
}

/* Why the time has passed, as far as the member knows better. */
static void explain(const zkl_member *m, zkl_error *why)
{
    const char *path = session_path(m->session, m->node);

    if (why->code != ZKL_ETIMEDOUT)
        return;
    if (m->machine.state == MEMBER_BACKED_OFF && m->refusal.code) {
        *why = m->refusal;
    } else if (m->machine.state == MEMBER_WAITING) {
        error_fill(why, ZKL_EBUSY, path, "%s: session 0x%" G_GINT64_MODIFIER "x has this id%s%s",
                   path, m->other_session, *m->other_data ? ": " : "", m->other_data);
    }
}

static void on_stop(struct call *call, const zkl_error *given)
{
    struct member_call *c = (struct member_call *)call;
    zkl_error why = *given;

    if (c->of && c->wish != WISH_LEFT)
        explain(c->of, &why);
    end(c, &why);
}

static int on_enter(struct call *call);
static void on_begin(struct call *call);

static void on_free(struct call *call)
{
    struct member_call *c = (struct member_call *)call;

    g_clear_pointer(&c->data, g_bytes_unref);
    g_free(c);
}

static const struct call_ops ops = {
    .waits = true, .enter = on_enter, .begin = on_begin, .stop = on_stop, .free = on_free};

/* ---- what the machine tells ---- */

void member_tell(zkl_member *m, const struct machine_action *a)
{
    static const zkl_member_reason reasons[] = {[MEMBER_TELL_DEADLINE] = ZKL_MEMBER_DEADLINE,
                                                [MEMBER_TELL_SESSION] = ZKL_MEMBER_SESSION,
                                                [MEMBER_TELL_DELETED] = ZKL_MEMBER_DELETED};
    zkl_member_news news = {.token = a->czxid};

    switch (a->verdict) {
    case MEMBER_TELL_DEADLINE:
    case MEMBER_TELL_SESSION:
    case MEMBER_TELL_DELETED:
        news.reason = reasons[a->verdict];
        push(m, ZKL_MEMBER_GONE, news, NULL);
        break;
    case MEMBER_TELL_JOINED:
        news.again = m->joined;
        m->joined = true;
        push(m, ZKL_MEMBER_JOINED, news, NULL);
        end_those(m, WISH_JOINED, 0, NULL);
        break;
    case MEMBER_TELL_SUSPECT:
    case MEMBER_TELL_PROVED:
        push(m, a->verdict == MEMBER_TELL_SUSPECT ? ZKL_MEMBER_SUSPECT : ZKL_MEMBER_PROVED, news,
             NULL);
        break;
    case MEMBER_TELL_BUSY:
        news.session_id = m->other_session;
        push(m, ZKL_MEMBER_BUSY, news, NULL);
        break;
    case MEMBER_TELL_FAILED:
        push(m, ZKL_MEMBER_FAILED, (zkl_member_news){.token = 0}, &m->refusal);
        end_those(m, WISH_JOINED, 0, &m->refusal);
        end_those(m, WISH_WRITTEN, UINT32_MAX, &m->refusal);
        break;
    case MEMBER_TELL_WRITTEN:
        end_those(m, WISH_WRITTEN, m->machine.written, NULL);
        break;
    case MEMBER_TELL_UNWRITTEN:
        end_those(m, WISH_WRITTEN, m->machine.denied, &m->refusal);
        break;
    default: /* it leaves: that it has left tells more */
        break;
    }
}

void member_end_hopes(zkl_member *m)
{
    const char *path = session_path(m->session, m->node);
    zkl_error left;

    error_fill(&left, ZKL_EPERM, path, "%s: the member has left", path);
    end_those(m, WISH_JOINED, 0, &left);
    end_those(m, WISH_WRITTEN, UINT32_MAX, &left);
}

void member_refuse_leaves(zkl_member *m)
{
    end_those(m, WISH_LEFT, 0, &m->refusal);
}

void member_tell_left(zkl_member *m)
{
    zkl_session *s = m->session;
    const char *path = session_path(s, m->node);
    zkl_error why = {.code = 0};
    zkl_error left;

    if (s->closing)
        error_fill(&why, ZKL_ECLOSED, path, "the session was closed");
    else if (s->refused)
        error_fill(&why, ZKL_EAUTH, path, "%s", zkl_strerror(ZKL_EAUTH));
    end_those(m, WISH_LEFT, 0, &why);
    error_fill(&left, ZKL_EPERM, path, "%s: the member has left", path);
    member_end_calls(m, why.code ? &why : &left);
    push(m, ZKL_MEMBER_LEFT, (zkl_member_news){.token = 0}, why.code ? &why : NULL);
}

/* ---- the functions ---- */

static bool has_already(const zkl_member *m, enum wish wish)
{
    return wish == WISH_JOINED ? m->machine.told_in
                               : wish == WISH_LEFT && m->machine.state == MEMBER_OVER;
}

static void update_data(zkl_member *m, struct member_call *c)
{
    g_bytes_unref(m->data);
    m->data = g_bytes_ref(c->data);
    c->generation = member_next_generation(m);
    member_happens(m, MEMBER_EV_UPDATE);
}

static void on_begin(struct call *call)
{
    struct member_call *c = (struct member_call *)call;

    /* The deadline may have passed, and no thread have run since. */
    if (c->wish == WISH_JOINED)
        member_happens(c->of, MEMBER_EV_STANDING);
    if (has_already(c->of, c->wish))
        end(c, NULL);
    else if (c->wish == WISH_WRITTEN)
        update_data(c->of, c);
    else if (c->wish == WISH_LEFT)
        member_quit(c->of);
}

static int on_enter(struct call *call)
{
    struct member_call *c = (struct member_call *)call;
    zkl_member *m = c->of;
    const char *path = session_path(m->session, m->directory);

    c->of = NULL;
    if (m->session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    if (m->left && c->wish != WISH_LEFT)
        return error_set(ZKL_EPERM, path, "%s: the member has left", path);
    c->of = m;
    member_ref(m);
    g_queue_push_tail_link(&m->calls, &c->link);
    return 0;
}

/* data: of WISH_WRITTEN. fn NULL: blocks. */
static int call(zkl_member *m, const char *doing, enum wish wish, GBytes *data, int64_t timeout_ms,
                zkl_done_fn fn, void *fn_data)
{
    struct member_call *c;
    zkl_session *s = m->session;
    int code;

    if ((code = call_check(s, doing, session_path(s, m->directory), fn == NULL)))
        return code;
    c = g_new0(struct member_call, 1);
    c->of = m;
    c->wish = wish;
    c->link.data = c;
    c->data = data ? g_bytes_ref(data) : NULL;
    call_init(&c->call, &ops, s, g_strdup(m->directory), fn, fn_data);
    return call_run(&c->call, timeout_ms);
}

static int refuse(const char *doing, const char *what)
{
    return error_set(ZKL_EINVAL, NULL, "%s: %s is NULL", doing, what);
}

int zkl_member_wait(zkl_member *m, int64_t timeout_ms)
{
    if (!m)
        return refuse("zkl_member_wait", "m");
    return call(m, "zkl_member_wait", WISH_JOINED, NULL, timeout_ms, NULL, NULL);
}

int zkl_member_wait_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return refuse("zkl_member_wait_async", m ? "fn" : "m");
    return call(m, "zkl_member_wait_async", WISH_JOINED, NULL, timeout_ms, fn, fn_data);
}

static int update(zkl_member *m, const char *doing, const void *data, size_t size,
                  int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    const char *wrong = member_check_data(data, size, m->options.layout);
    int code;

    if (!wrong && m->options.layout == ZKL_MEMBER_PARTY)
        wrong = "a member of a party has no data";
    if (wrong)
        return error_set(ZKL_EINVAL, NULL, "%s: %s", doing, wrong);
    GBytes *bytes = g_bytes_new(data, size);
    code = call(m, doing, WISH_WRITTEN, bytes, timeout_ms, fn, fn_data);
    g_bytes_unref(bytes);
    return code;
}

int zkl_member_update(zkl_member *m, const void *data, size_t size, int64_t timeout_ms)
{
    if (!m)
        return refuse("zkl_member_update", "m");
    return update(m, "zkl_member_update", data, size, timeout_ms, NULL, NULL);
}

int zkl_member_update_async(zkl_member *m, const void *data, size_t size, int64_t timeout_ms,
                            zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return refuse("zkl_member_update_async", m ? "fn" : "m");
    return update(m, "zkl_member_update_async", data, size, timeout_ms, fn, fn_data);
}

int zkl_member_leave(zkl_member *m, int64_t timeout_ms)
{
    if (!m)
        return refuse("zkl_member_leave", "m");
    return call(m, "zkl_member_leave", WISH_LEFT, NULL, timeout_ms, NULL, NULL);
}

int zkl_member_leave_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data)
{
    if (!m || !fn)
        return refuse("zkl_member_leave_async", m ? "fn" : "m");
    return call(m, "zkl_member_leave_async", WISH_LEFT, NULL, timeout_ms, fn, fn_data);
}
