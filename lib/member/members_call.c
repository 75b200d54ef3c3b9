/* Reading the members of a group once. */
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "members_options.h"
#include "view.h"

int members_options_take(zkl_members_options *o, const char *doing, zkl_session *s,
                         const char *path, const zkl_members_options *options, bool blocking)
{
    const char *wrong;
    int code = call_check(s, doing, path, blocking);

    if (code)
        return code;
    wrong = options_take(o, sizeof *o, options);
    if (!wrong && o->layout != ZKL_MEMBER_GROUP && o->layout != ZKL_MEMBER_PARTY)
        wrong = "layout is none of zkl_member_layout";
    return wrong ? error_set(ZKL_EINVAL, path, "%s: %s", doing, wrong) : 0;
}

struct look;

struct members_call {
    struct call call;
    zkl_member_layout layout;
    struct look *look; /* NULL once it has ended */
    zkl_members *ret;
};

struct look {
    struct view view; /* the first member */
    struct members_call *call;
};

/* ---- the end ---- */

/* Ends the look, too. The call has another reference, but one that nobody is told of any more. */
static void end(struct members_call *c, const zkl_error *why)
{
    struct look *l = c->look;

    if (!l)
        return;
    c->look = NULL;
    l->call = NULL;
    children_watch_stop(&l->view.watch);
    children_watch_unref(&l->view.watch);
    call_end_as(&c->call, why);
}

static void on_stop(struct call *call, const zkl_error *why)
{
    struct members_call *c = (struct members_call *)call;

    if (c->look)
        end(c, why);
    else
        call_end_as(call, why);
}

static void on_call_free(struct call *call)
{
    struct members_call *c = (struct members_call *)call;

    zkl_members_free(c->ret);
    g_free(c);
}

/* ---- what the view sees ---- */

static void on_failed(struct view *v, int code)
{
    const struct look *l = (struct look *)v;
    const char *path = session_path(v->watch.session, v->watch.directory);
    zkl_error why;

    if (!l->call)
        return;
    denial_fill(v->watch.session, &why, code, path);
    end(l->call, &why);
}

static bool on_read(struct view *v)
{
    const struct look *l = (struct look *)v;

    if (!l->call)
        return false;
    l->call->ret = members_new(view_boxes(v));
    end(l->call, NULL);
    return true;
}

/* ---- beginning ---- */

static void on_begin(struct call *call)
{
    struct members_call *c = (struct members_call *)call;
    struct look *l = g_new0(struct look, 1);

    l->call = c;
    l->view.layout = c->layout;
    l->view.seen = on_read;
    l->view.failed = on_failed;
    view_init(&l->view, call->session, session_path(call->session, call->path));
    c->look = l;
    l->view.watch.refs++; /* the call's: when the session is closed, the look may be told first */
    l->view.watch.refs++; /* it may end at once */
    children_watch_begin(&l->view.watch);
    children_watch_unref(&l->view.watch);
}

static const struct call_ops ops = {.begin = on_begin, .stop = on_stop, .free = on_call_free};

int zkl_members_read(zkl_members **ret, zkl_session *s, const char *path,
                     const zkl_members_options *options, int64_t timeout_ms)
{
    zkl_members_options o = ZKL_MEMBERS_OPTIONS_INIT;
    int code;

    if (!ret)
        return error_set(ZKL_EINVAL, path, "zkl_members_read: ret is NULL");
    code = members_options_take(&o, "zkl_members_read", s, path, options, true);
    if (code)
        return code;
    struct members_call *c = g_new0(struct members_call, 1);
    c->layout = o.layout;
    call_init(&c->call, &ops, s, g_strconcat(s->chroot, path, NULL), NULL, NULL);
    call_ref(&c->call); /* nobody else has it yet */
    code = call_run(&c->call, timeout_ms);
    if (!code)
        *ret = g_steal_pointer(&c->ret);
    call_free(&c->call);
    return code;
}
