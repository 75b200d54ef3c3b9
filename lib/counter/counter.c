/* Counters: an operation, fenced or not, a watch, and the handle. recipes/counter.h decides. The
 * functions in tables are called with the monitor held. All others are called without it. */
#include "recipes/counter.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/grant/grant.h"
#include "lib/queue/children_watch.h"
#include "lib/session/denial.h"
#include "lib/session/driver.h"

struct zkl_counter {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path; /* with chroot */
    unsigned width;
};

/* ---- one operation ---- */

struct counter_op {
    struct driven driven;
    struct counter machine;
    enum counter_verdict verdict;
};

static struct counter_op *counter_op_of(struct driver *d)
{
    return (struct counter_op *)driven_of(d);
}

static void counter_op_step(struct driver *d, const struct machine_event *ev,
                            struct machine_actions *out)
{
    counter_step(&counter_op_of(d)->machine, ev, out);
}

/* Returns the counter's path; or that of a child that never exists, for a set that every leader
 * must refuse (machine_ask_quorum()). A counter reaches every version if it is written long enough,
 * so a set of the counter itself could be done. */
static char *counter_op_path(struct driver *d, unsigned node)
{
    return g_strconcat(counter_op_of(d)->driven.call.path,
                       node == COUNTER_NODE_NONE ? "/none" : NULL, NULL);
}

static char *counter_op_data(struct driver *d, unsigned node, int *ret_length)
{
    const struct counter *c = &counter_op_of(d)->machine;
    uint8_t *bytes;

    if (node == COUNTER_NODE_NONE)
        return NULL;
    bytes = g_malloc(c->width);
    counter_encode(c->width, counter_written(c), bytes);
    *ret_length = (int)c->width;
    return (char *)bytes;
}

/* Ends the call. If the server refused, the call's error says so; if the call was stopped, its
 * error has the reason already. */
static void counter_op_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct counter_op *op = counter_op_of(d);
    zkl_session *s = op->driven.call.session;
    char *text;

    op->verdict = (enum counter_verdict)a->verdict;
    if (op->verdict == COUNTER_REFUSED) {
        text = denial_text(s, call_error(a->rc), session_path(s, op->driven.call.path));
        error_fill(&op->driven.call.error, call_error(a->rc), NULL, "%s", text);
        g_free(text);
    }
    call_end_as(&op->driven.call, &op->driven.call.error);
}

static const struct driver_ops counter_driver = {.step = counter_op_step,
                                                 .path = counter_op_path,
                                                 .data = counter_op_data,
                                                 .on_verdict = counter_op_on_verdict,
                                                 .ref_owner = driven_ref,
                                                 .free = driven_unref};

/* Returns 0, or the thread's last error, for a verdict. For REFUSED and LATE the call has the
 * error, and not this table. */
static int counter_result(const zkl_counter *c, enum counter_verdict verdict)
{
    static const struct {
        int code;
        const char *text;
    } results[] = {
        [COUNTER_MISMATCH] = {ZKL_EVERSION, "it is another number"},
        [COUNTER_OVERFLOW] = {ZKL_EOVERFLOW, "the new number does not fit"},
        [COUNTER_ODD] = {ZKL_ELAYOUT, "its data is no number of that many bytes"},
        [COUNTER_BUSY] = {ZKL_EBUSY, "other clients were faster, again and again"},
        [COUNTER_UNKNOWN] = {ZKL_EUNKNOWN, "it may or may not have been written"},
    };
    const char *path = session_path(c->session, c->path);

    if (verdict == COUNTER_DONE)
        return 0;
    return error_set(results[verdict].code, path, "%s: %s", path, results[verdict].text);
}

/* Runs the operation that *task describes, and stores the outcome there. Returns 0, or the thread's
 * last error. */
static int counter_run(const zkl_counter *c, struct counter *task, int64_t timeout_ms)
{
    struct counter_op *op = g_new0(struct counter_op, 1);
    const char *path = session_path(c->session, c->path);
    int code;

    op->machine = *task;
    call_init(&op->driven.call, &driven_call_ops, c->session, g_strdup(c->path), NULL, NULL);
    driver_init(&op->driven.driver, &counter_driver, c->session, STORE_CONTAINER);
    call_ref(&op->driven.call); /* until the result was taken from it, below */
    call_run(&op->driven.call, timeout_ms);
    *task = op->machine;
    if (op->verdict == COUNTER_REFUSED || op->verdict == COUNTER_LATE) {
        const zkl_error why = op->driven.call.error;
        code = error_set(why.code, path, "%s: %s", path, why.text);
    } else {
        code = counter_result(c, op->verdict);
    }
    call_free(&op->driven.call);
    return code;
}

/* ---- with a fence: a read, and then a transaction of the grant's, which the servers refuse if
 * somebody has written the number since ---- */

struct counter_fenced {
    const zkl_counter *c;
    struct counter *task; /* the operation, and then its outcome */
    const zkl_grant *grant;
    int64_t end; /* when its time will have passed: see call_due_of_all() */
};

/* Reads the counter and writes it once, if nobody has written it in between. *faster: another
 * client has. Returns 0, or the thread's last error. */
static int counter_try_fenced(const struct counter_fenced *f, bool *faster)
{
    struct counter seen = {.goal = COUNTER_GET, .width = f->c->width};
    enum counter_verdict verdict;
    uint8_t bytes[COUNTER_BYTES_MAX];
    int code = counter_run(f->c, &seen, call_left_ms(f->end));
    const bool absent = seen.czxid == 0;

    *faster = false;
    if (code)
        return code;
    verdict = counter_next(f->task, seen.next, &f->task->next);
    if (verdict != COUNTER_DONE)
        return counter_result(f->c, verdict);
    const zkl_change change = {absent ? ZKL_CHANGE_CREATE : ZKL_CHANGE_SET, seen.version,
                               session_path(f->c->session, f->c->path), bytes, f->c->width};
    counter_encode(f->c->width, f->task->next, bytes);
    code = zkl_grant_multi(f->grant, &change, 1, 0, call_left_ms(f->end));
    *faster = code == ZKL_EVERSION || code == ZKL_EEXIST || (code == ZKL_ENOENT && !absent);
    return code;
}

/* Does what counter_run() does, with a fence. */
static int counter_run_fenced(const zkl_counter *c, struct counter *task, const zkl_grant *fence,
                              int64_t timeout_ms)
{
    const struct counter_fenced f = {c, task, fence, call_due_of_all(c->session, timeout_ms)};
    bool faster;

    for (int tries = 0; tries < COUNTER_TRIES; tries++) {
        int code = counter_try_fenced(&f, &faster);
        if (code == ZKL_ENOENT && !faster) {
            /* A parent does not exist, and a transaction makes none. A counter that does not exist
             * counts as 0, so an addition of 0, which needs no fence, makes both. */
            struct counter zero = {.goal = COUNTER_ADD, .width = c->width};
            code = counter_run(c, &zero, call_left_ms(f.end));
        } else if (!faster) {
            return code;
        }
        if (code && !faster)
            return code;
    }
    return counter_result(c, COUNTER_BUSY);
}

/* ---- the handle ---- */

int zkl_counter_new(zkl_counter **ret, zkl_session *s, const char *path, zkl_counter_width width)
{
    int code = call_check(s, "zkl_counter_new", path, false);

    if (code)
        return code;
    if (!ret || (width != ZKL_COUNTER_32 && width != ZKL_COUNTER_64))
        return error_set(ZKL_EINVAL, path, "zkl_counter_new: %s",
                         ret ? "width is none of zkl_counter_width" : "ret is NULL");
    if ((code = session_check_open(s)))
        return code;
    zkl_counter *c = g_new0(zkl_counter, 1);
    c->refs = 1;
    c->session = session_ref(s);
    c->path = g_strconcat(s->chroot, path, NULL);
    c->width = width;
    *ret = c;
    return 0;
}

static void counter_unref(zkl_counter *c)
{
    if (!g_atomic_int_dec_and_test(&c->refs))
        return;
    session_unref(c->session);
    g_free(c->path);
    g_free(c);
}

void zkl_counter_free(zkl_counter *c)
{
    if (c && !fork_is_child(c->session->generation))
        counter_unref(c);
}

/* Runs an operation for doing, a function of the interface. fence NULL: there is none. Returns 0,
 * or the thread's last error. */
static int counter_call_run(zkl_counter *c, const char *doing, struct counter *task,
                            const zkl_grant *fence, int64_t timeout_ms)
{
    int code;

    if (!c)
        return error_set(ZKL_EINVAL, NULL, "%s: the counter is NULL", doing);
    code = call_check(c->session, doing, session_path(c->session, c->path), true);
    if (code)
        return code;
    task->width = c->width;
    if (task->goal != COUNTER_GET && task->goal != COUNTER_ADD &&
        !counter_fits(c->width, task->operand))
        return counter_result(c, COUNTER_OVERFLOW);
    if (fence && grant_session(fence) != c->session)
        return error_set(ZKL_EINVAL, NULL, "%s: fence is a grant of another session", doing);
    g_atomic_int_inc(&c->refs);
    if (fence) {
        zkl_grant *held = grant_ref(grant_of(fence));
        code = counter_run_fenced(c, task, held, timeout_ms);
        grant_unref(held);
    } else {
        code = counter_run(c, task, timeout_ms);
    }
    counter_unref(c);
    return code;
}

int zkl_counter_get(zkl_counter *c, int64_t timeout_ms, int64_t *ret)
{
    struct counter task = {.goal = COUNTER_GET};
    int code;

    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_counter_get: ret is NULL");
    code = counter_call_run(c, "zkl_counter_get", &task, NULL, timeout_ms);
    if (code == 0)
        *ret = task.next;
    return code;
}

int zkl_counter_set(zkl_counter *c, int64_t value, const zkl_grant *fence, int64_t timeout_ms)
{
    struct counter task = {.goal = COUNTER_SET, .operand = value};

    return counter_call_run(c, "zkl_counter_set", &task, fence, timeout_ms);
}

int zkl_counter_add(zkl_counter *c, int64_t delta, const zkl_grant *fence, int64_t timeout_ms,
                    int64_t *ret)
{
    struct counter task = {.goal = COUNTER_ADD, .operand = delta};
    int code = counter_call_run(c, "zkl_counter_add", &task, fence, timeout_ms);

    if (code == 0 && ret)
        *ret = task.next;
    return code;
}

int zkl_counter_compare_and_set(zkl_counter *c, int64_t expected, int64_t value,
                                const zkl_grant *fence, int64_t timeout_ms)
{
    struct counter task = {.goal = COUNTER_SWAP, .expected = expected, .operand = value};

    return counter_call_run(c, "zkl_counter_compare_and_set", &task, fence, timeout_ms);
}

/* ---- watching ---- */

struct counter_watching {
    struct children_watch watch; /* the first member */
    struct counter_watch machine;
    zkl_counter_fn fn;
    void *data;
};

struct counter_message {
    struct children_watch_message message;
    int64_t number;
};

static struct counter_watching *counter_watching_of(struct children_watch *cw)
{
    return (struct counter_watching *)cw;
}

static void counter_watching_call(struct children_watch_message *m)
{
    const struct counter_watching *w = counter_watching_of(m->watch);

    w->fn(((struct counter_message *)m)->number, w->data);
}

static void counter_watching_free_message(struct children_watch_message *m)
{
    g_free((struct counter_message *)m);
}

static bool counter_watching_same(const struct children_watch_message *a,
                                  const struct children_watch_message *b)
{
    return ((const struct counter_message *)a)->number ==
           ((const struct counter_message *)b)->number;
}

static void counter_watching_step(struct driver *d, const struct machine_event *ev,
                                  struct machine_actions *out)
{
    struct children_watch *cw = children_watch_of(d);
    const struct children_moment moment = children_watch_moment(cw);

    counter_watch_step(&counter_watching_of(cw)->machine, ev, &moment, out);
}

static void counter_watching_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct children_watch *cw = children_watch_of(d);
    const char *path = session_path(cw->session, cw->directory);
    struct counter_message *m;

    if (a->verdict == COUNTER_TELL_ODD) {
        log_line(cw->session->log, ZKL_LOG_WARN, "watch-failed", path,
                 "%s: watching the counter: its data is no number of that many bytes", path);
    } else if (a->verdict != COUNTER_TELL_NUMBER) {
        children_watch_log(cw, (enum children_tell)a->verdict);
    } else {
        m = g_new(struct counter_message, 1);
        m->message = (struct children_watch_message){.call = counter_watching_call,
                                                     .free = counter_watching_free_message,
                                                     .same = counter_watching_same};
        m->number = counter_watching_of(cw)->machine.number;
        children_watch_tell_last(cw, &m->message);
    }
}

static void counter_watching_free(struct children_watch *cw)
{
    g_free(counter_watching_of(cw));
}

static const struct children_watch_kind counter_watching_kind = {
    .driver = {.step = counter_watching_step,
               .path = children_watch_path,
               .on_verdict = counter_watching_on_verdict,
               .free = children_watch_free},
    .doing = "watching the counter",
    .free = counter_watching_free};

int zkl_counter_watch(zkl_watch **ret, zkl_counter *c, zkl_counter_fn fn, void *data)
{
    if (!c || !ret || !fn)
        return error_set(ZKL_EINVAL, NULL, "zkl_counter_watch: %s is NULL",
                         !c    ? "the counter"
                         : ret ? "fn"
                               : "ret");
    zkl_session *s = c->session;
    int code = call_check(s, "zkl_counter_watch", session_path(s, c->path), false);
    if (code)
        return code;
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct counter_watching *w = g_new0(struct counter_watching, 1);
        w->fn = fn;
        w->data = data;
        w->machine = (struct counter_watch){.width = c->width, .children = {.watch = true}};
        children_watch_init(&w->watch, s, c->path, &counter_watching_kind,
                            children_watch_list_of(s));
        *ret = children_watch_handle(&w->watch);
        children_watch_begin(&w->watch);
    }
    session_unlock(s);
    return code;
}
