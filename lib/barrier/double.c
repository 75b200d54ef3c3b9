/* Double barriers: the handle of a member, and its calls. */
#include "double.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"

enum { MEMBERS_MAX = 1000 };

void double_ref(zkl_double_barrier *b)
{
    b->refs++;
}

void double_unref(zkl_double_barrier *b)
{
    if (--b->refs > 0)
        return;
    barrier_spec_clear(&b->spec);
    g_ptr_array_unref(b->names);
    g_array_unref(b->czxids);
    g_free(b->node);
    g_free(b->own_name);
    g_free(b->ready);
    g_free(b->data);
    g_free(b->text);
    g_free(b);
}

/* ---- all of a session that are not outside ---- */

struct doubles {
    struct participant participant;
    GQueue list; /* of zkl_double_barrier */
};

static bool is_busy(const struct participant *p)
{
    return ((const struct doubles *)p)->list.length > 0;
}

/* One whose node goes with the session is lost, on its way in, too: others may have counted it.
 * Without a deadline ahead the servers may have ended the session: then nothing is held that would
 * keep it from being given up. */
static bool holds(const struct participant *p)
{
    if (proofs_deadline(&p->session->proofs, clock_now()) == DEADLINE_NONE)
        return false;
    for (const GList *l = ((const struct doubles *)p)->list.head; l; l = l->next)
        if (((const zkl_double_barrier *)l->data)->machine.own)
            return true;
    return false;
}

static void step_all(struct participant *p, enum barrier_event_kind kind)
{
    GQueue *list = &((struct doubles *)p)->list;

    for (GList *l = list->head, *next; l; l = next) {
        zkl_double_barrier *b = l->data;
        next = l->next;
        double_step(b, (struct barrier_event){.kind = kind, .unsent = !b->sent});
    }
}

static void on_replaced(struct participant *p)
{
    step_all(p, BARRIER_EV_REPLACED);
}

static void on_over(struct participant *p)
{
    step_all(p, BARRIER_EV_OVER);
}

static const struct participant_ops participant = {
    .is_busy = is_busy,
    .holds = holds,
    .on = {[NEWS_REPLACED] = on_replaced, [NEWS_REFUSED] = on_over, [NEWS_CLOSED] = on_over}};

static GQueue *doubles_of(zkl_session *s)
{
    return &((struct doubles *)participant_of(s, &participant, sizeof(struct doubles)))->list;
}

/* ---- steps ---- */

/* The first time: later it may be told again that its own node is gone. */
static void tell(zkl_double_barrier *b, enum barrier_verdict verdict)
{
    struct double_call *c = b->call;

    b->call = NULL;
    if (!c)
        return;
    c->of = NULL;
    if (verdict == BARRIER_DONE)
        call_end(&c->call, 0, NULL);
    else if (verdict == BARRIER_LOST)
        call_end(&c->call, ZKL_ELOST, "the session ended, and the member's node with it");
    else
        call_end_as(&c->call, &b->error);
}

static size_t own_place(const zkl_double_barrier *b)
{
    size_t i = 0;

    while (i < b->names->len && strcmp(b->names->pdata[i], b->own_name) != 0)
        i++;
    return i;
}

static struct barrier_members members_of(const zkl_double_barrier *b)
{
    return (struct barrier_members){(const uint64_t *)(const void *)b->czxids->data, b->names->len,
                                    own_place(b)};
}

void double_step(zkl_double_barrier *b, struct barrier_event ev)
{
    zkl_session *s = b->spec.session;
    const bool was_out = b->machine.state == BARRIER_OUTSIDE;
    struct barrier_actions actions;

    double_ref(b);
    ev.members = members_of(b);
    barrier_step(&b->machine, &ev, &actions);
    const bool is_out = b->machine.state == BARRIER_OUTSIDE;
    if (was_out && !is_out) {
        double_ref(b);
        g_queue_push_tail_link(doubles_of(s), &b->link);
    }
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.list[i].kind == BARRIER_ACT_TELL)
            tell(b, actions.list[i].verdict);
        else if (actions.list[i].kind == BARRIER_ACT_IGNORE)
            double_ignore(b);
        else
            double_ask(b, &actions.list[i]);
    }
    if (!was_out && is_out) {
        g_queue_unlink(doubles_of(s), &b->link);
        double_look_for_late(b);
        incarnation_retired(s);
        double_unref(b);
    }
    double_unref(b);
}

/* ---- calls ---- */

static struct double_call *call_of(struct call *c)
{
    return (struct double_call *)c;
}

static void on_late(void *data)
{
    struct double_call *c = data;

    if (!c->of)
        return;
    zkl_double_barrier *b = c->of;
    tell(b, BARRIER_FAILED); /* its node goes in the background */
}

/* When the own node is gone, or one session timeout later; at once if nothing will be answered. */
static void on_stop(struct call *call, const zkl_error *why)
{
    struct double_call *c = call_of(call);
    zkl_double_barrier *b = c->of;

    if (!b) {
        call_end_as(call, why);
        return;
    }
    b->error = *why;
    if (b->spec.session->closing || b->spec.session->refused) {
        tell(b, BARRIER_FAILED);
        return;
    }
    call_arm(call->session, &call->timer, 0, on_late, c);
    double_step(b, (struct barrier_event){.kind = BARRIER_EV_STOP});
}

/* 0, or why it cannot begin now. */
static int may_begin(const zkl_double_barrier *b, bool enters)
{
    const char *path = session_path(b->spec.session, b->spec.path);
    const enum barrier_state state = b->machine.state;

    if (b->spec.session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    if (b->call || (enters && state == BARRIER_INSIDE))
        return error_set(ZKL_EBUSY, path, "%s: %s", path,
                         b->call ? "another call of this member is in progress"
                                 : "the member is inside");
    if (!enters && state != BARRIER_INSIDE)
        return error_set(ZKL_EPERM, path, "%s: the member is not inside", path);
    if (enters && state != BARRIER_OUTSIDE)
        return error_set(ZKL_EBUSY, path, "%s: the member is still leaving", path);
    return 0;
}

static int on_enter(struct call *call)
{
    struct double_call *c = call_of(call);
    const int code = may_begin(c->of, c->enters);

    if (!code)
        c->of->call = c;
    return code;
}

static void on_begin(struct call *call)
{
    struct double_call *c = call_of(call);

    if (c->enters)
        incarnation_warm(call->session);
    double_step(c->of,
                (struct barrier_event){.kind = c->enters ? BARRIER_EV_ENTER : BARRIER_EV_LEAVE});
}

static const struct call_ops ops = {
    .waits = true, .enter = on_enter, .begin = on_begin, .stop = on_stop};

/* fn NULL: blocks. */
static int call(zkl_double_barrier *b, const char *doing, bool enters, int64_t timeout_ms,
                zkl_done_fn fn, void *data)
{
    const int code = barrier_spec_check(b ? &b->spec : NULL, doing, fn == NULL);

    if (code)
        return code;
    struct double_call *c = g_new0(struct double_call, 1);
    c->of = b;
    c->enters = enters;
    call_init(&c->call, &ops, b->spec.session, g_strdup(b->spec.path), fn, data);
    return call_run(&c->call, timeout_ms);
}

int zkl_double_barrier_enter(zkl_double_barrier *b, int64_t timeout_ms)
{
    return call(b, "zkl_double_barrier_enter", true, timeout_ms, NULL, NULL);
}

int zkl_double_barrier_leave(zkl_double_barrier *b, int64_t timeout_ms)
{
    return call(b, "zkl_double_barrier_leave", false, timeout_ms, NULL, NULL);
}

int zkl_double_barrier_enter_async(zkl_double_barrier *b, int64_t timeout_ms, zkl_done_fn fn,
                                   void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_double_barrier_enter_async: fn is NULL");
    return call(b, "zkl_double_barrier_enter_async", true, timeout_ms, fn, data);
}

int zkl_double_barrier_leave_async(zkl_double_barrier *b, int64_t timeout_ms, zkl_done_fn fn,
                                   void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_double_barrier_leave_async: fn is NULL");
    return call(b, "zkl_double_barrier_leave_async", false, timeout_ms, fn, data);
}

/* ---- the handle ---- */

int zkl_double_barrier_new(zkl_double_barrier **ret, zkl_session *s, const char *path, int members,
                           const zkl_barrier_options *options)
{
    zkl_double_barrier *b;

    if (!ret || members < 1 || members > MEMBERS_MAX)
        return error_set(ZKL_EINVAL, path, "zkl_double_barrier_new: %s",
                         ret ? "members must be 1 to 1000" : "ret is NULL");
    b = g_new0(zkl_double_barrier, 1);
    int code = barrier_spec_take(&b->spec, "zkl_double_barrier_new", s, path, options);
    if (code) {
        g_free(b);
        return code;
    }
    b->refs = 1;
    b->link.data = b;
    b->machine.wanted = (size_t)members;
    b->ready = g_strconcat(b->spec.path, "/ready", NULL);
    b->names = g_ptr_array_new_with_free_func(g_free);
    b->czxids = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    *ret = b;
    return 0;
}

void zkl_double_barrier_free(zkl_double_barrier *b)
{
    zkl_session *s;
    zkl_error why;

    if (!b || fork_is_child(b->spec.session->generation))
        return;
    s = session_ref(b->spec.session);
    session_lock(s);
    error_fill(&why, ZKL_ECLOSED, session_path(s, b->spec.path), "the barrier was freed");
    b->error = why;
    if (!s->closing)
        double_step(b, (struct barrier_event){.kind = BARRIER_EV_STOP});
    tell(b, BARRIER_FAILED); /* without waiting for that */
    double_unref(b);
    session_unlock(s);
    session_unref(s);
}
