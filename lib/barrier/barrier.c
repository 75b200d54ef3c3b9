/* Barriers, which are closed while their node exists, and members of double barriers. While a
 * member is not outside, its ZooKeeper session is kept. recipes/barrier.h decides. Functions in
 * tables, and what they call, are called with the monitor held. The functions of the interface, and
 * those that check or run for them, are called without it. */
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/layout.h"
#include "lib/base/options.h"
#include "lib/session/denial.h"
#include "lib/session/driver.h"
#include "lib/session/incarnation.h"
#include "lib/session/participant.h"
#include "recipes/barrier.h"

/* What barriers and double barriers have in common. */
struct barrier_spec {
    zkl_session *session;
    char *path; /* with chroot */
    char *name; /* the data of the nodes */
    enum store_mode parents;
};

/* Fills in *spec, which is all 0, for doing, a function of the interface. Returns 0, or the
 * thread's last error. */
static int barrier_spec_fill(struct barrier_spec *spec, const char *doing, zkl_session *s,
                             const char *path, const zkl_barrier_options *options)
{
    zkl_barrier_options o = ZKL_BARRIER_OPTIONS_INIT;
    int code = call_check(s, doing, path, false);
    const char *wrong;

    if (code)
        return code;
    wrong = options_take(&o, offsetof(zkl_barrier_options, reserved), options);
    if (!wrong)
        wrong = options_check(o.name, o.parents);
    if (wrong)
        return error_set(ZKL_EINVAL, "options", "%s", wrong);
    if ((code = session_check_open(s)))
        return code;
    spec->session = session_ref(s);
    spec->path = g_strconcat(s->chroot, path, NULL);
    spec->name = o.name ? g_strdup(o.name) : options_default_name(0);
    spec->parents = o.parents == ZKL_PARENTS_CONTAINER ? STORE_CONTAINER : STORE_PERSISTENT;
    return 0;
}

/* Checks the barrier that the user gave to doing; spec NULL: the user gave NULL. Returns 0, or the
 * thread's last error. */
static int barrier_spec_check(const struct barrier_spec *spec, const char *doing, bool blocking)
{
    if (!spec)
        return error_set(ZKL_EINVAL, NULL, "%s: the barrier is NULL", doing);
    return call_check(spec->session, doing, session_path(spec->session, spec->path), blocking);
}

/* Frees what spec has. This may free the session. So the caller does not hold the monitor, unless
 * it has another reference to the session. */
static void barrier_spec_clear(struct barrier_spec *spec)
{
    session_unref(spec->session);
    g_free(spec->path);
    g_free(spec->name);
}

/* ---- barriers ---- */

struct zkl_barrier {
    struct barrier_spec spec;
    GQueue calls; /* of struct barrier_op: guarded by the monitor */
};

/* A call that sets, removes or awaits a barrier. */
struct barrier_op {
    struct driven driven;
    zkl_barrier *of; /* NULL: the call has ended */
    GList link;
    struct barrier_call machine;
};

static struct barrier_op *barrier_op_of(struct driver *d)
{
    return (struct barrier_op *)driven_of(d);
}

static void barrier_op_step(struct driver *d, const struct machine_event *ev,
                            struct machine_actions *out)
{
    struct barrier_op *op = barrier_op_of(d);

    barrier_call_step(&op->machine, ev, out);
    if (op->machine.state == BARRIER_CALL_SETTLING)
        call_outlast_default(&op->driven.call);
}

static char *barrier_op_data(struct driver *d, unsigned node, int *ret_length)
{
    const char *name = barrier_op_of(d)->of->spec.name;

    (void)node;
    *ret_length = (int)strlen(name);
    return g_strdup(name);
}

static void barrier_op_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct barrier_op *op = barrier_op_of(d);
    struct call *call = &op->driven.call;

    g_queue_unlink(&op->of->calls, &op->link);
    op->of = NULL;
    if (a->verdict == BARRIER_CALL_STOPPED)
        call_end_as(call, &call->error);
    else
        call_end(call, a->verdict == BARRIER_CALL_DONE ? 0 : call_error(a->rc), NULL);
}

static const struct driver_ops barrier_driver = {.step = barrier_op_step,
                                                 .path = driven_path,
                                                 .data = barrier_op_data,
                                                 .on_verdict = barrier_op_on_verdict,
                                                 .ref_owner = driven_ref,
                                                 .free = driven_unref};

int zkl_barrier_new(zkl_barrier **ret, zkl_session *s, const char *path,
                    const zkl_barrier_options *options)
{
    zkl_barrier *b;

    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_barrier_new: ret is NULL");
    b = g_new0(zkl_barrier, 1);
    int code = barrier_spec_fill(&b->spec, "zkl_barrier_new", s, path, options);
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
        driven_stop(b->calls.head->data, &why);
    session_unlock(s);
    barrier_spec_clear(&b->spec);
    g_free(b);
}

/* Puts the call into the barrier's list. If the session is closing, a call with a fn fails here: no
 * callback could tell the error later. */
static int barrier_op_enter(struct call *call)
{
    struct barrier_op *op = (struct barrier_op *)call;

    if (call->fn && call->session->closing)
        return error_set(ZKL_ECLOSED, NULL, "the session was closed");
    g_queue_push_tail_link(&op->of->calls, &op->link);
    return 0;
}

static const struct call_ops barrier_call_ops = {.waits = true,
                                                 .enter = barrier_op_enter,
                                                 .begin = driven_begin,
                                                 .stop = driven_stop,
                                                 .replaced = driven_replaced,
                                                 .free = driven_free};

/* Runs a call for doing, a function of the interface. fn NULL: waits for its end. Returns 0, or the
 * thread's last error. */
static int barrier_run(zkl_barrier *b, const char *doing, enum barrier_goal goal,
                       int64_t timeout_ms, zkl_done_fn fn, void *data)
{
    const int code = barrier_spec_check(b ? &b->spec : NULL, doing, fn == NULL);

    if (code)
        return code;
    struct barrier_op *op = g_new0(struct barrier_op, 1);
    op->of = b;
    op->link.data = op;
    op->machine.goal = goal;
    call_init(&op->driven.call, &barrier_call_ops, b->spec.session, g_strdup(b->spec.path), fn,
              data);
    driver_init(&op->driven.driver, &barrier_driver, b->spec.session, b->spec.parents);
    return call_run(&op->driven.call, timeout_ms);
}

int zkl_barrier_set(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_set", BARRIER_SET, timeout_ms, NULL, NULL);
}

int zkl_barrier_remove(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_remove", BARRIER_REMOVE, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait(zkl_barrier *b, int64_t timeout_ms)
{
    return barrier_run(b, "zkl_barrier_wait", BARRIER_WAIT, timeout_ms, NULL, NULL);
}

int zkl_barrier_wait_async(zkl_barrier *b, int64_t timeout_ms, zkl_done_fn fn, void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_barrier_wait_async: fn is NULL");
    return barrier_run(b, "zkl_barrier_wait_async", BARRIER_WAIT, timeout_ms, fn, data);
}

/* ---- double barriers ---- */

enum { MEMBERS_MAX = 1000 };

struct double_call {
    struct call call;
    zkl_double_barrier *of; /* NULL: the call has ended */
    bool enters;            /* false: it leaves */
};

/* A member of a double barrier. The monitor guards what may change after the struct was made. */
struct zkl_double_barrier {
    struct barrier_spec spec;
    struct driver driver; /* its references: the user's, and one while the member is not outside */
    struct barrier machine;
    struct double_call *call; /* under way; NULL: none */
    zkl_error error;          /* why .call fails */
    char *own;                /* the name of its node; NULL: it has had none */
    char *data;               /* the directory's data, as last read */
    int length;               /* of .data, in bytes */
    GPtrArray *names;         /* of the members' nodes, sorted */
    GArray *czxids;           /* of uint64_t: the czxid of each of .names, or BARRIER_UNREAD */
};

/* Frees the member. The caller has another reference to the session. */
static void double_free(struct driver *d)
{
    zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);

    driver_clear(&b->driver);
    barrier_spec_clear(&b->spec);
    g_ptr_array_unref(b->names);
    g_array_unref(b->czxids);
    g_free(b->own);
    g_free(b->data);
    g_free(b);
}

/* ---- double barriers: all members of a session that are not outside ---- */

/* Returns what is lost if the session is replaced. PRESENCE_IN: a member has a node. Others may
 * have counted that, even if the member is still entering. */
static enum presence double_presence(const struct participant *p)
{
    for (const GList *l = ((const struct drivers *)p)->list.head; l; l = l->next)
        if (DRIVER_OWNER(l->data, zkl_double_barrier)->machine.own)
            return PRESENCE_IN;
    return drivers_are_busy(p) ? PRESENCE_WAITS : PRESENCE_NONE;
}

static const struct participant_ops participant = {.is_busy = drivers_are_busy,
                                                   .presence = double_presence,
                                                   .on = {[NEWS_REPLACED] = drivers_on_replaced,
                                                          [NEWS_REFUSED] = drivers_on_over,
                                                          [NEWS_CLOSED] = drivers_on_over}};

static struct drivers *doubles_of(zkl_session *s)
{
    return drivers_of(s, &participant);
}

/* ---- double barriers: steps ---- */

/* Ends the call under way by a verdict. There may be none: after the call has ended, the machine
 * may still tell that the own node is gone. */
static void double_end_call(zkl_double_barrier *b, enum barrier_verdict verdict)
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

static gint double_compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Stores what an answer has shown: the names of the members' nodes, the czxid of one, or the
 * directory's data. */
static void double_store_answer(zkl_double_barrier *b, const struct machine_event *ev)
{
    const bool there = ev->rc == STORE_OK;

    if (!there && ev->rc != STORE_NONODE)
        return;
    if (ev->verb == STORE_LIST) {
        g_ptr_array_set_size(b->names, 0);
        for (size_t i = 0; i < ev->count; i++) {
            if (strcmp(ev->names[i], "ready") != 0)
                g_ptr_array_add(b->names, g_strdup(ev->names[i]));
        }
        g_ptr_array_sort(b->names, double_compare);
        g_array_set_size(b->czxids, b->names->len);
        for (guint i = 0; i < b->czxids->len; i++)
            g_array_index(b->czxids, uint64_t, i) = BARRIER_UNREAD;
    } else if (ev->node >= BARRIER_MEMBER) {
        g_array_index(b->czxids, uint64_t, ev->node - BARRIER_MEMBER) = there ? ev->czxid : 0;
    } else if (ev->verb == STORE_GET && ev->node == BARRIER_DIRECTORY && there) {
        b->length = (int)ev->length;
        g_free(b->data);
        b->data = g_memdup2(ev->data, ev->length);
    }
}

/* Steps the machine. The session's list has a reference to each member that is not outside. */
static void double_step(struct driver *d, const struct machine_event *ev,
                        struct machine_actions *out)
{
    zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);
    zkl_session *s = b->spec.session;
    const bool was_out = b->machine.state == BARRIER_OUTSIDE;
    size_t own = 0; /* the place of the own node; the members' count if it is not among them */

    if (ev->kind == MACHINE_EV_ANSWER)
        double_store_answer(b, ev);
    while (own < b->names->len && g_strcmp0(b->names->pdata[own], b->own) != 0)
        own++;
    const struct barrier_members members = {(const uint64_t *)(const void *)b->czxids->data,
                                            b->names->len, own};
    barrier_step(&b->machine, ev, &members, out);
    const bool is_out = b->machine.state == BARRIER_OUTSIDE;
    if (was_out && !is_out) {
        driver_ref(&b->driver);
        driver_join(&b->driver, &doubles_of(s)->list);
    } else if (!was_out && is_out) {
        driver_leave(&b->driver, &doubles_of(s)->list);
        driver_disown(&b->driver);
        incarnation_retired(s);
        driver_unref(&b->driver); /* the step has another one */
    }
}

static char *double_path(struct driver *d, unsigned node)
{
    const zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);
    const char *name;

    switch (node) {
    case BARRIER_DIRECTORY:
        return g_strdup(b->spec.path);
    case BARRIER_OWN:
        name = b->own;
        break;
    case BARRIER_READY:
        name = "ready";
        break;
    case BARRIER_AWAITED:
        name = b->names->pdata[b->machine.awaited];
        break;
    default:
        name = b->names->pdata[node - BARRIER_MEMBER];
        break;
    }
    return g_strconcat(b->spec.path, "/", name, NULL);
}

/* Gives the own node a new name. */
static void double_name(struct driver *d, unsigned node)
{
    zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);

    (void)node;
    g_free(b->own);
    b->own = layout_new_id(CHILD_FOREIGN, false);
}

/* Returns what to write into a node: into the directory its own data, unchanged. */
static char *double_data(struct driver *d, unsigned node, int *ret_length)
{
    const zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);
    char *text;

    if (node == BARRIER_DIRECTORY) {
        *ret_length = b->length;
        return g_memdup2(b->data, (gsize)MAX(b->length, 0));
    }
    text = node == BARRIER_OWN
               ? g_strdup(b->spec.name)
               : g_strdup_printf(BARRIER_WORDS "%" G_GUINT64_FORMAT, b->machine.bound);
    *ret_length = (int)strlen(text);
    return text;
}

static void double_on_verdict(struct driver *d, const struct machine_action *a)
{
    zkl_double_barrier *b = DRIVER_OWNER(d, zkl_double_barrier);
    const char *path = session_path(b->spec.session, b->spec.path);

    if (a->verdict == BARRIER_REFUSED)
        denial_fill(b->spec.session, &b->error, call_error(a->rc), path);
    else if (a->verdict == BARRIER_LATER)
        error_fill(&b->error, ZKL_ELAYOUT, path, "%s/ready is of a later version of zkl", path);
    else
        double_end_call(b, (enum barrier_verdict)a->verdict);
}

static const struct driver_ops double_driver = {.step = double_step,
                                                .path = double_path,
                                                .name = double_name,
                                                .data = double_data,
                                                .on_verdict = double_on_verdict,
                                                .free = double_free};

/* ---- double barriers: calls ---- */

static struct double_call *double_call_of(struct call *c)
{
    return (struct double_call *)c;
}

/* Ends a call whose member has not left within one session timeout after the stop. */
static void double_on_late(void *data)
{
    struct double_call *c = data;

    if (!c->of)
        return;
    zkl_double_barrier *b = c->of;
    double_end_call(b, BARRIER_FAILED); /* the node is deleted later */
}

/* Stops a call. It ends when the own node is gone, or one session timeout from now; at once if the
 * servers will answer no more. */
static void double_on_stop(struct call *call, const zkl_error *why)
{
    struct double_call *c = double_call_of(call);
    zkl_double_barrier *b = c->of;

    if (!b) {
        call_end_as(call, why);
        return;
    }
    b->error = *why;
    if (b->spec.session->closing || b->spec.session->refused) {
        double_end_call(b, BARRIER_FAILED);
        return;
    }
    call_arm(call->session, &call->timer, 0, double_on_late, c);
    driver_hear(&b->driver, MACHINE_EV_STOP);
}

/* Returns 0 if the member may enter, or leave, now; or the thread's last error. */
static int double_check_state(const zkl_double_barrier *b, bool enters)
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

static int double_on_enter(struct call *call)
{
    struct double_call *c = double_call_of(call);
    const int code = double_check_state(c->of, c->enters);

    if (!code)
        c->of->call = c;
    return code;
}

static void double_on_begin(struct call *call)
{
    struct double_call *c = double_call_of(call);

    if (c->enters)
        incarnation_warm(call->session);
    driver_hear(&c->of->driver, c->enters ? BARRIER_EV_ENTER : BARRIER_EV_LEAVE);
}

static const struct call_ops double_call_ops = {
    .waits = true, .enter = double_on_enter, .begin = double_on_begin, .stop = double_on_stop};

/* Lets a member enter or leave for doing, a function of the interface. fn NULL: waits for the end.
 * Returns 0, or the thread's last error. */
static int double_run(zkl_double_barrier *b, const char *doing, bool enters, int64_t timeout_ms,
                      zkl_done_fn fn, void *data)
{
    const int code = barrier_spec_check(b ? &b->spec : NULL, doing, fn == NULL);

    if (code)
        return code;
    struct double_call *c = g_new0(struct double_call, 1);
    c->of = b;
    c->enters = enters;
    call_init(&c->call, &double_call_ops, b->spec.session, g_strdup(b->spec.path), fn, data);
    return call_run(&c->call, timeout_ms);
}

int zkl_double_barrier_enter(zkl_double_barrier *b, int64_t timeout_ms)
{
    return double_run(b, "zkl_double_barrier_enter", true, timeout_ms, NULL, NULL);
}

int zkl_double_barrier_leave(zkl_double_barrier *b, int64_t timeout_ms)
{
    return double_run(b, "zkl_double_barrier_leave", false, timeout_ms, NULL, NULL);
}

int zkl_double_barrier_enter_async(zkl_double_barrier *b, int64_t timeout_ms, zkl_done_fn fn,
                                   void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_double_barrier_enter_async: fn is NULL");
    return double_run(b, "zkl_double_barrier_enter_async", true, timeout_ms, fn, data);
}

int zkl_double_barrier_leave_async(zkl_double_barrier *b, int64_t timeout_ms, zkl_done_fn fn,
                                   void *data)
{
    if (!fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_double_barrier_leave_async: fn is NULL");
    return double_run(b, "zkl_double_barrier_leave_async", false, timeout_ms, fn, data);
}

/* ---- double barriers: the handle ---- */

int zkl_double_barrier_new(zkl_double_barrier **ret, zkl_session *s, const char *path, int members,
                           const zkl_barrier_options *options)
{
    zkl_double_barrier *b;

    if (!ret || members < 1 || members > MEMBERS_MAX)
        return error_set(ZKL_EINVAL, path, "zkl_double_barrier_new: %s",
                         ret ? "members must be 1 to 1000" : "ret is NULL");
    b = g_new0(zkl_double_barrier, 1);
    int code = barrier_spec_fill(&b->spec, "zkl_double_barrier_new", s, path, options);
    if (code) {
        g_free(b);
        return code;
    }
    b->machine.wanted = (size_t)members;
    driver_init(&b->driver, &double_driver, b->spec.session, b->spec.parents);
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
        driver_hear(&b->driver, MACHINE_EV_STOP);
    double_end_call(b, BARRIER_FAILED); /* does not wait until the node is gone */
    driver_unref(&b->driver);
    session_unlock(s);
    session_unref(s);
}
