/* Work that is run once: how a caller gets the lock under which it runs the work, the record of the
 * run, and the handle. recipes/once.h decides. The functions in tables, those named once_on_…, and
 * what these call are called with the monitor held. All others are called without it. */
#include <inttypes.h>
#include <string.h>

#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/clean.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/base/zone.h"
#include "lib/contender/claim.h"
#include "lib/grant/multi.h"
#include "lib/session/denial.h"
#include "op.h"
#include "recipes/once.h"

/* The run that has begun last: what zkl_once_end() is to record. */
struct once_started {
    uint64_t token;      /* of its grant; 0: none has begun yet */
    int32_t version;     /* of the record when it was judged; -1: there was none */
    uint64_t begun, due; /* this member and those below: as in struct once_record */
    uint64_t instant, local;
};

/* The calendar of a handle, if it has one. */
struct once_calendar {
    char *series; /* the calendar's text and the zone's name; NULL: there is none */
    struct calendar calendar;
    GTimeZone *zone;
};

struct zkl_once {
    gint refs; /* the user's, and one for each call that is under way */
    zkl_session *session;
    char *path;   /* GRefString, with chroot */
    char *record; /* full path */
    char *name;   /* GRefString */
    struct once_plan plan;
    struct once_calendar by; /* without a .series it is run by a period, or once */
    zkl_parents parents;
    /* guarded by the monitor: */
    struct op_queue waiters;
    struct once_started started;
    GBytes *last; /* the record that was read or written last; NULL: none */
};

static const char *once_path(const zkl_once *o)
{
    return session_path(o->session, o->path);
}

static void once_ref(zkl_once *o)
{
    g_atomic_int_inc(&o->refs);
}

static void once_unref(zkl_once *o)
{
    if (!g_atomic_int_dec_and_test(&o->refs))
        return;
    session_lock(o->session); /* it guards the counts of strings that contenders share */
    op_queue_clear(&o->waiters);
    g_ref_string_release(o->path);
    g_ref_string_release(o->name);
    session_unlock(o->session);
    g_clear_pointer(&o->last, g_bytes_unref);
    g_clear_pointer(&o->by.zone, g_time_zone_unref);
    g_free(o->by.series);
    session_unref(o->session);
    g_free(o->record);
    g_free(o);
}

/* ---- what was read ---- */

/* Parses a record. Returns false if bytes are none. */
static bool once_parse(GBytes *bytes, struct once_record *ret)
{
    gsize length;
    const char *data = g_bytes_get_data(bytes, &length);

    return once_record_read(data, length, ret);
}

/* Makes the user's description of a run from its record, in one block of memory. Takes over the
 * reference to bytes. */
static zkl_once_run *once_new_run(GBytes *bytes)
{
    struct once_record r = {.begun = 0};

    once_parse(bytes, &r);
    char *name = clean_text(r.name, (gssize)r.name_length);
    char *calendar = clean_text(r.series, (gssize)r.series_length);
    const size_t name_size = strlen(name) + 1, calendar_size = strlen(calendar) + 1;
    zkl_once_run *run = g_malloc0(sizeof *run + name_size + calendar_size + r.length);
    char *text = (char *)(run + 1);
    memcpy(text, name, name_size);
    memcpy(text + name_size, calendar, calendar_size);
    memcpy(text + name_size + calendar_size, r.result, r.length);
    *run = (zkl_once_run){.begun_ms = (int64_t)r.begun,
                          .due_ms = (int64_t)r.due,
                          .token = r.token,
                          .name = text,
                          .result = text + name_size + calendar_size,
                          .size = r.length,
                          .calendar = r.series_length > 0 ? text + name_size : NULL,
                          .instant_ms = (int64_t)r.instant,
                          .local_ms = (int64_t)r.local};
    g_free(calendar);
    g_free(name);
    g_bytes_unref(bytes);
    return run;
}

void zkl_once_run_free(zkl_once_run *run)
{
    g_free(run);
}

/* Returns the calendar's instant for a call at now. */
static struct calendar_aim once_aim(const zkl_once *o, uint64_t now)
{
    const struct calendar_zone z = zone_around(o->by.zone, now);

    return calendar_aim(&o->by.calendar, &z, now, o->plan.slack_ms);
}

/* Steps a machine by an event. Stores the record if the event is an answer that shows it. Tells the
 * machine of the record as last read, and of the calendar's instant. The time for that instant is
 * .now in JUDGING. In other states no time of the servers' is known but the mtime of the record. */
static void once_step_with(zkl_once *o, struct once *machine, const struct machine_event *ev,
                           struct machine_actions *out)
{
    struct once_record r;
    struct once_moment m = {.odd = false};
    struct calendar_aim aim;
    const bool read = ev->kind == MACHINE_EV_ANSWER && ev->verb == STORE_GET &&
                      ev->node == ONCE_RECORD && (ev->rc == STORE_OK || ev->rc == STORE_NONODE);

    if (read)
        g_clear_pointer(&o->last, g_bytes_unref);
    if (read && ev->rc == STORE_OK) {
        o->last = g_bytes_new(ev->data, ev->length);
        m.odd = !once_parse(o->last, &r);
    }
    if (!m.odd && o->last && once_parse(o->last, &r))
        m.record = &r;
    if (m.record)
        m.foreign = once_is_foreign(&r, o->by.series,
                                    o->by.series ? zone_offset(o->by.zone, r.instant) : 0);
    if (o->by.series && read) {
        aim = once_aim(o, machine->state == ONCE_JUDGING ? machine->now : ev->mtime_ms);
        m.aim = &aim;
        m.boot = clock_boot();
    }
    once_step(machine, ev, &m, out);
}

/* Fills in why the record is not of this handle's series. */
static void once_explain_foreign(const zkl_once *o, const char *path, zkl_error *ret)
{
    zkl_once_run *run = once_new_run(g_bytes_ref(o->last));
    const char *mine = o->by.series ? o->by.series : "no calendar";
    const char *recorded = run->calendar ? run->calendar : "no calendar";

    if (g_strcmp0(run->calendar, o->by.series) != 0)
        error_fill(ret, ZKL_ELAYOUT, path, "%s: its series is of %s, and not of %s", path, recorded,
                   mine);
    else
        error_fill(ret, ZKL_ELAYOUT, path,
                   "%s: the run of %s is recorded with another time of the zone than this host's "
                   "tzdata has for it",
                   path, recorded);
    zkl_once_run_free(run);
}

/* Stores in *ret the error for a verdict: why the caller may not run the work, or why there is no
 * recorded run to return. */
static void once_explain(const zkl_once *o, enum once_verdict verdict, enum store_rc rc,
                         zkl_error *ret)
{
    const char *path = session_path(o->session, o->record);

    if (verdict == ONCE_DONE)
        error_fill(ret, ZKL_EEXIST, path, "%s: a run is recorded, and none is due", path);
    else if (verdict == ONCE_OVERDUE)
        error_fill(ret, ZKL_EOVERDUE, path,
                   "%s: overdue: the last instant of %s has no run, and it is too late for one",
                   path, o->by.series);
    else if (verdict == ONCE_FOREIGN)
        once_explain_foreign(o, path, ret);
    else if (verdict == ONCE_NONE)
        error_fill(ret, ZKL_ENOENT, path, "%s: no run is recorded", path);
    else if (verdict == ONCE_ODD)
        error_fill(ret, ZKL_ELAYOUT, path, "%s: its data are no record of a run", path);
    else if (verdict == ONCE_REFUSED)
        denial_fill(o->session, ret, call_error(rc), path);
}

/* ---- a call that may run the work ---- */

struct once_attempt {
    struct driver driver; /* with a reference until .op is decided; the session outlives it */
    zkl_once *of;         /* a handle that outlives it */
    zkl_op *op;
    struct once machine;
    bool try_only;
    struct claim claim; /* for the lock */
    GBytes *own;        /* the data of its node; NULL: not read yet */
    zkl_error why;      /* why the attempt fails */
};

/* There is no function for refused credentials and the session's end: these end the operations of
 * all handles (op_queue_init()), and so the attempts. */
static const struct participant_ops participant = {.on = {[NEWS_REPLACED] = drivers_on_replaced}};

static GQueue *once_attempts_of(zkl_session *s)
{
    return &drivers_of(s, &participant)->list;
}

static void once_attempt_free(struct driver *d)
{
    struct once_attempt *a = DRIVER_OWNER(d, struct once_attempt);

    driver_clear(d);
    g_clear_pointer(&a->own, g_bytes_unref);
    g_free(a);
}

/* Tells the machine that the contender waits for others, or has lost the lock. */
static void once_on_news(void *context, enum contender_news news)
{
    struct once_attempt *a = context;

    if (news == CONTENDER_WAITS)
        driver_hear(&a->driver, ONCE_EV_WAITS);
    else if (news == CONTENDER_ENDED)
        driver_hear(&a->driver, ONCE_EV_LOST);
}

/* Tells the machine that the contender has the lock, or has failed. */
static void once_on_decided(void *context, const zkl_error *error)
{
    struct once_attempt *a = context;

    if (error)
        a->why = *error;
    driver_hear(&a->driver, error ? ONCE_EV_FAILED : ONCE_EV_FIRST);
}

/* Enters the contender for the lock. */
static void once_enter(struct once_attempt *a)
{
    const struct contender_spec spec = {.directory = a->of->path,
                                        .payload = a->of->name,
                                        .rule = RULE_LOCK,
                                        .parents = a->of->parents,
                                        .try_only = a->try_only,
                                        .hints = true,
                                        .news = once_on_news};

    claim_enter(&a->claim, a->driver.session, &spec, once_on_decided, a);
}

/* ---- its driver's table ---- */

/* Steps the machine, after the answers about the own node were stored: its data, and the version
 * from which transactions go on. */
static void once_attempt_step(struct driver *d, const struct machine_event *ev,
                              struct machine_actions *out)
{
    struct once_attempt *a = DRIVER_OWNER(d, struct once_attempt);
    const bool own = ev->kind == MACHINE_EV_ANSWER && ev->node == ONCE_OWN && ev->rc == STORE_OK;

    if (own && ev->verb == STORE_SET) {
        multi_go_on_from(a->claim.tenure, ev->version);
    } else if (own) {
        g_clear_pointer(&a->own, g_bytes_unref);
        a->own = g_bytes_new(ev->data, ev->length);
    }
    once_step_with(a->of, &a->machine, ev, out);
    /* the operation may be gone when the machine is over */
    if (a->try_only && a->machine.state != ONCE_OVER)
        op_limit_try(a->op, a->machine.state != ONCE_EARLY);
}

static char *once_attempt_path(struct driver *d, unsigned node)
{
    const struct once_attempt *a = DRIVER_OWNER(d, struct once_attempt);

    return g_strdup(node == ONCE_OWN ? a->claim.tenure->full_node : a->of->record);
}

/* Returns the own node's data as they are: the set is for its mtime alone. */
static char *once_attempt_data(struct driver *d, unsigned node, int *ret_length)
{
    gsize length;
    const void *data = g_bytes_get_data(DRIVER_OWNER(d, struct once_attempt)->own, &length);

    (void)node;
    *ret_length = (int)length;
    return g_memdup2(data, length);
}

/* Ends the attempt with the grant, or with .why if grant is NULL. Gives up what the attempt still
 * has. */
static void once_attempt_decide(struct once_attempt *a, zkl_grant *grant)
{
    driver_leave(&a->driver, once_attempts_of(a->driver.session));
    claim_leave(&a->claim);
    op_decide(a->op, grant, grant ? NULL : &a->why);
    driver_unref(&a->driver);
}

/* Lets the caller run the work: ends the attempt with the grant. Stores what is to be recorded. */
static void once_attempt_run(struct once_attempt *a)
{
    a->of->started = (struct once_started){.token = a->claim.tenure->token,
                                           .version = a->machine.version,
                                           .begun = a->machine.now,
                                           .due = a->machine.next_due};
    if (a->of->by.series) {
        const struct calendar_aim aim = once_aim(a->of, a->machine.now);
        a->of->started.instant = aim.instant;
        a->of->started.local = aim.instant + (uint64_t)(aim.offset * INT64_C(60000));
    }
    once_attempt_decide(a, grant_new_on(claim_take(&a->claim)));
}

/* Logs that the servers' clocks seem to have jumped, if they do. */
static void once_log_jump(const struct once_attempt *a)
{
    const enum once_jump jumped = a->machine.jumped;

    if (jumped == ONCE_STEADY)
        return;
    static const char *const texts[][2] = {
        {"overdue by a period or more: nobody called, no run succeeded, or a server's clock is "
         "ahead",
         "not due until the servers' clocks, which have gone back by a period or more, are "
         "there again"},
        {"an instant before this one had no run: nobody called in time, no run succeeded, or a "
         "server's clock is ahead",
         "not due until the servers' clocks, which have gone back beyond the instant of the "
         "last run, are there again"}};
    log_line(a->of->session->log, ZKL_LOG_WARN, jumped == ONCE_AHEAD ? "once-ahead" : "once-back",
             once_path(a->of), "%s: %s", a->of->path,
             texts[a->of->by.series != NULL][jumped != ONCE_AHEAD]);
}

static void once_attempt_on_verdict(struct driver *d, const struct machine_action *action)
{
    struct once_attempt *a = DRIVER_OWNER(d, struct once_attempt);
    const enum once_verdict verdict = (enum once_verdict)action->verdict;

    once_log_jump(a);
    if (verdict == ONCE_ENTER) {
        once_enter(a);
    } else if (verdict == ONCE_GONE) {
        contender_node_gone(a->claim.holder);
    } else if (verdict == ONCE_RUN) {
        once_attempt_run(a);
    } else {
        once_explain(a->of, verdict, action->rc, &a->why);
        once_attempt_decide(a, NULL);
    }
}

static const struct driver_ops once_attempt_driver = {.step = once_attempt_step,
                                                      .path = once_attempt_path,
                                                      .data = once_attempt_data,
                                                      .on_verdict = once_attempt_on_verdict,
                                                      .free = once_attempt_free};

/* Ends the attempt before it is decided. */
static void once_attempt_abort(void *attempt, int code, const char *text)
{
    struct once_attempt *a = attempt;
    const char *path = once_path(a->of);

    error_fill(&a->why, code, path, "%s: %s", path, text);
    driver_hear(&a->driver, MACHINE_EV_STOP);
}

static const struct contender *once_attempt_waiting(const void *attempt)
{
    return ((const struct once_attempt *)attempt)->claim.contender;
}

static const struct op_ops once_op_ops = {.abort = once_attempt_abort,
                                          .waiting = once_attempt_waiting};

/* Starts the operation of a call. Takes the monitor. */
static zkl_op *once_start(zkl_once *o, int64_t timeout_ms, zkl_acquired_fn fn, void *data)
{
    session_lock(o->session);
    zkl_op *op = op_begin(&o->waiters, timeout_ms, fn, data);
    if (op_is_open(op)) {
        struct once_attempt *a = g_new0(struct once_attempt, 1);
        op_assign(op, &once_op_ops, a);
        driver_init(&a->driver, &once_attempt_driver, o->session, STORE_CONTAINER);
        a->of = o;
        a->op = op;
        a->machine.plan = o->plan;
        a->try_only = timeout_ms <= 0;
        driver_join(&a->driver, once_attempts_of(o->session));
        driver_hear(&a->driver, MACHINE_EV_BEGIN);
    }
    session_unlock(o->session);
    return op;
}

/* ---- reading and deleting the record ---- */

/* A call that looks at the record, or deletes it. */
struct once_look {
    struct driven driven;
    zkl_once *of;
    struct once machine;
    GBytes **ret; /* where its caller, which waits, gets the record; NULL: nowhere */
};

static struct once_look *once_look_of(struct driver *d)
{
    return (struct once_look *)driven_of(d);
}

static void once_look_step(struct driver *d, const struct machine_event *ev,
                           struct machine_actions *out)
{
    struct once_look *x = once_look_of(d);

    once_step_with(x->of, &x->machine, ev, out);
    if (x->machine.state == ONCE_SETTLING)
        call_outlast_default(&x->driven.call);
}

static void once_look_on_verdict(struct driver *d, const struct machine_action *a)
{
    const struct once_look *x = once_look_of(d);
    struct call *c = &driven_of(d)->call;

    if (a->verdict != ONCE_DONE)
        once_explain(x->of, (enum once_verdict)a->verdict, a->rc, &c->error);
    else if (x->ret) /* another call may read the record again before the caller wakes */
        *x->ret = g_bytes_ref(x->of->last);
    call_end_as(c, &c->error);
}

static const struct driver_ops once_look_driver = {.step = once_look_step,
                                                   .path = driven_path,
                                                   .on_verdict = once_look_on_verdict,
                                                   .ref_owner = driven_ref,
                                                   .free = driven_unref};

/* .waits: the call goes on in the next session, since it has no node in this one. */
static const struct call_ops once_look_ops = {.waits = true,
                                              .begin = driven_begin,
                                              .stop = driven_stop,
                                              .replaced = driven_replaced,
                                              .free = driven_free};

/* Looks at the record, or deletes it. Stores the record that it finds in *ret, which may be NULL.
 * Returns 0, or the thread's last error. */
static int once_look(zkl_once *o, enum once_goal goal, int64_t timeout_ms, GBytes **ret)
{
    struct once_look *x = g_new0(struct once_look, 1);

    x->of = o;
    x->machine.goal = goal;
    x->ret = ret;
    call_init(&x->driven.call, &once_look_ops, o->session, g_strdup(o->record), NULL, NULL);
    driver_init(&x->driven.driver, &once_look_driver, o->session, STORE_CONTAINER);
    return call_run(&x->driven.call, timeout_ms);
}

/* Looks at the record. Stores the run in *ret. Returns 0, or the thread's last error. */
static int once_look_at_run(zkl_once *o, int64_t timeout_ms, zkl_once_run **ret)
{
    GBytes *found = NULL;
    const int code = once_look(o, ONCE_LOOK, timeout_ms, &found);

    if (!code)
        *ret = once_new_run(found);
    return code;
}

/* Returns the run in the record that was read or written last; NULL: there was none, or it was
 * deleted since. */
static zkl_once_run *once_last_run(zkl_once *o)
{
    session_lock(o->session);
    GBytes *last = o->last ? g_bytes_ref(o->last) : NULL;
    session_unlock(o->session);
    return last ? once_new_run(last) : NULL;
}

/* ---- recording a run ---- */

/* Returns the record's data for a run with that result. */
static GBytes *once_new_record(const zkl_once *o, const struct once_started *run,
                               const void *result, size_t size)
{
    GString *text = g_string_new(NULL);

    g_string_printf(text, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %zu",
                    o->by.series ? ONCE_CALENDAR_WORDS : ONCE_WORDS, run->begun, run->due,
                    run->token, strlen(o->name));
    if (o->by.series)
        g_string_append_printf(text, " %" PRIu64 " %" PRIu64 " %zu", run->instant, run->local,
                               strlen(o->by.series));
    g_string_append_printf(text, "\n%s%s", o->name, o->by.series ? o->by.series : "");
    g_string_append_len(text, result, (gssize)size);
    return g_string_free_to_bytes(text);
}

/* Writes the record, and releases the lock in the same transaction. If the record is not the one
 * that was judged, somebody has reset it: ZKL_EVERSION. Returns 0, or the thread's last error. */
static int once_record(zkl_once *o, const zkl_grant *grant, const struct once_started *run,
                       GBytes *bytes, int64_t timeout_ms)
{
    const char *path = session_path(o->session, o->record);
    zkl_change change = {run->version < 0 ? ZKL_CHANGE_CREATE : ZKL_CHANGE_SET, run->version, path,
                         NULL, 0};

    change.data = g_bytes_get_data(bytes, &change.size);
    const int code = zkl_grant_multi(grant, &change, 1, ZKL_MULTI_RELEASE, timeout_ms);
    if (code == ZKL_EEXIST || code == ZKL_ENOENT || code == ZKL_EVERSION)
        return error_set(ZKL_EVERSION, path, "%s: the record was reset in between", path);
    return code;
}

/* Finds out whether a run was recorded, if the answer to the transaction was lost. If the record is
 * that run's, it was. Otherwise returns the error as it was before the look: another run may have
 * been recorded since. end: see call_due_of_all(). */
static int once_read_outcome(zkl_once *o, const struct once_started *started, int64_t end)
{
    zkl_error unknown;
    zkl_once_run *run = NULL;

    zkl_last_error(&unknown);
    once_look_at_run(o, call_left_ms(end), &run);
    const bool own = run && run->token == started->token;
    zkl_once_run_free(run);
    return own ? 0 : error_keep(&unknown);
}

/* Checks the handle that the user gave to doing, a function of the interface. Returns 0, or the
 * thread's last error. */
static int once_check(const zkl_once *o, const char *doing, bool blocking)
{
    if (!o)
        return error_set(ZKL_EINVAL, NULL, "%s: the handle is NULL", doing);
    return call_check(o->session, doing, once_path(o), blocking);
}

/* Whether the grant is of this handle's lock. */
static bool once_has_granted(const zkl_once *o, const zkl_grant *grant)
{
    const char *node = grant_full_node(grant);
    const size_t length = strlen(o->path);

    return grant_session(grant) == o->session && strncmp(node, o->path, length) == 0 &&
           strrchr(node, '/') == node + length;
}

/* Does what zkl_once_end() does after once_check(), with a reference to o. */
static int once_end_checked(zkl_once *o, const zkl_grant *grant, const void *result, size_t size,
                            int64_t timeout_ms)
{
    int code;

    if (!grant || (!result && size > 0))
        return error_set(ZKL_EINVAL, once_path(o), "zkl_once_end: %s is NULL",
                         grant ? "result" : "grant");
    if (size > ZKL_ONCE_RESULT_MAX)
        return error_set(ZKL_ELIMIT, once_path(o), "a result of more than %d bytes",
                         ZKL_ONCE_RESULT_MAX);
    session_lock(o->session);
    const struct once_started started = o->started;
    session_unlock(o->session);
    const bool own = once_has_granted(o, grant);
    if (!own || zkl_grant_token(grant) != started.token) {
        /* If the grant is older, and was not released, its lock was lost, even if the user was not
         * told of that yet. Otherwise the grant is none of the handle's. */
        const bool lost =
            own && zkl_grant_token(grant) < started.token && zkl_grant_state(grant) != ZKL_RELEASED;
        return error_set(lost ? ZKL_ELOST : ZKL_EPERM, once_path(o),
                         lost ? "the lock was lost: a later run has begun"
                              : "the grant is not that of the present run");
    }
    GBytes *bytes = once_new_record(o, &started, result, size);
    const int64_t end = call_due_of_all(o->session, timeout_ms);
    code = once_record(o, grant, &started, bytes, timeout_ms);
    if (code == ZKL_EUNKNOWN && clock_boot() < end)
        code = once_read_outcome(o, &started, end);
    session_lock(o->session);
    if (code == 0) {
        g_clear_pointer(&o->last, g_bytes_unref);
        o->last = g_bytes_ref(bytes);
    }
    session_unlock(o->session);
    g_bytes_unref(bytes);
    return code;
}

int zkl_once_end(zkl_once *o, const zkl_grant *grant, const void *result, size_t size,
                 int64_t timeout_ms)
{
    int code = once_check(o, "zkl_once_end", true);

    if (code)
        return code;
    once_ref(o);
    code = once_end_checked(o, grant, result, size, timeout_ms);
    once_unref(o);
    return code;
}

/* ---- calls ---- */

struct once_work {
    zkl_once *of;
    zkl_grant *grant;
};

/* Cleans up if the user's function does not return: its thread ends, or it throws an exception. */
static void once_drop(void *data)
{
    const struct once_work *w = data;

    zkl_grant_release(w->grant);
    once_unref(w->of);
}

/* Runs the work under the grant, and records it if it succeeds. Returns 0, the function's own code,
 * or the thread's last error. */
static int once_run(zkl_once *o, zkl_grant *grant, zkl_once_fn fn, void *data)
{
    struct once_work work = {o, grant};
    const void *result = NULL;
    size_t size = 0;
    int code;

    pthread_cleanup_push(once_drop, &work);
    code = fn(grant, data, &result, &size);
    pthread_cleanup_pop(0);
    if (code == 0)
        code = once_end_checked(o, grant, result, size, 0);
    zkl_grant_release(grant);
    return code;
}

int zkl_once_call(zkl_once *o, int64_t timeout_ms, zkl_once_fn fn, void *data, zkl_once_run **ret)
{
    int code = once_check(o, "zkl_once_call", true);
    zkl_grant *grant;

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, once_path(o), "zkl_once_call: fn is NULL");
    once_ref(o);
    code = op_return_grant(once_start(o, timeout_ms, NULL, NULL), &grant);
    if (code == 0)
        code = once_run(o, grant, fn, data);
    else if (code == ZKL_EEXIST)
        code = 0;
    if (code == 0 && ret)
        *ret = once_last_run(o);
    once_unref(o);
    return code;
}

int zkl_once_begin(zkl_once *o, int64_t timeout_ms, zkl_grant **ret)
{
    int code = once_check(o, "zkl_once_begin", true);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, once_path(o), "zkl_once_begin: ret is NULL");
    once_ref(o);
    code = op_return_grant(once_start(o, timeout_ms, NULL, NULL), ret);
    once_unref(o);
    return code;
}

int zkl_once_begin_async(zkl_once *o, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                         zkl_op **ret)
{
    const int code = once_check(o, "zkl_once_begin_async", false);

    if (code)
        return code;
    if (!fn && !ret)
        return error_set(ZKL_EINVAL, once_path(o), "zkl_once_begin_async: fn and ret are NULL");
    return op_return_op(once_start(o, timeout_ms, fn, data), ret);
}

int zkl_once_done(zkl_once *o, int64_t timeout_ms, zkl_once_run **ret)
{
    int code = once_check(o, "zkl_once_done", true);
    zkl_once_run *run = NULL;

    if (code)
        return code;
    once_ref(o);
    code = once_look_at_run(o, timeout_ms, &run);
    once_unref(o);
    if (ret && run)
        *ret = run;
    else
        zkl_once_run_free(run);
    return code;
}

int zkl_once_reset(zkl_once *o, int64_t timeout_ms)
{
    int code = once_check(o, "zkl_once_reset", true);

    if (code)
        return code;
    once_ref(o);
    code = once_look(o, ONCE_RESET, timeout_ms, NULL);
    once_unref(o);
    return code;
}

/* ---- the handle ---- */

enum { ONCE_PERIOD_MIN_MS = 10, ONCE_SLACK_MAX_MS = 300000 };
enum { ONCE_EARLY_MS = 30000, ONCE_EARLY_MAX_MS = 3600000, ONCE_LATE_MS = 3600000 };
#define ONCE_PERIOD_MAX_MS INT64_C(31622400000)

/* Fills in the calendar of the options. Returns what is wrong with them; NULL: nothing. */
static const char *once_check_calendar(const zkl_once_options *o, struct once_calendar *ret)
{
    const char *zone = o->zone ? o->zone : "UTC";
    const char *wrong = calendar_read(o->calendar, &ret->calendar);

    if (wrong)
        return wrong;
    if (o->period_ms != 0)
        return "calendar and period_ms exclude each other";
    if (o->slack_ms < 0 || o->slack_ms > ONCE_EARLY_MAX_MS)
        return "slack_ms must be 3600000 at most";
    if (o->late_ms < 0 || o->late_ms > ONCE_PERIOD_MAX_MS)
        return "late_ms must be 0 to 31622400000";
    ret->zone = zone_open(zone);
    if (!ret->zone)
        return "zone is none that this host's tzdata has";
    ret->series = g_strdup_printf("%s %s", o->calendar, zone);
    return NULL;
}

/* Returns what is wrong with the options; NULL: nothing. Fills in their calendar, if any. */
static const char *once_check_options(const zkl_once_options *o, struct once_calendar *ret)
{
    const char *wrong = options_check(o->name, o->parents);

    if (wrong)
        return wrong;
    if (o->calendar)
        return once_check_calendar(o, ret);
    if (o->zone || o->late_ms != 0)
        return "zone and late_ms are for calendar";
    if (o->period_ms != 0 &&
        (o->period_ms < ONCE_PERIOD_MIN_MS || o->period_ms > ONCE_PERIOD_MAX_MS))
        return "period_ms must be 0, or 10 to 31622400000";
    if (o->slack_ms < 0 || (o->slack_ms > 0 && o->slack_ms * 2 >= o->period_ms))
        return "slack_ms must be less than half of period_ms";
    return NULL;
}

/* Returns the machine's settings, with the defaults for options that are 0. */
static struct once_plan once_plan_of(const zkl_once_options *o)
{
    const int64_t slack_ms =
        o->calendar ? ONCE_EARLY_MS : MIN(o->period_ms / 10, ONCE_SLACK_MAX_MS);
    const int64_t late_ms = o->late_ms ? o->late_ms : ONCE_LATE_MS;

    return (struct once_plan){.period_ms = (uint64_t)o->period_ms,
                              .slack_ms = (uint64_t)(o->slack_ms ? o->slack_ms : slack_ms),
                              .late_ms = o->calendar ? (uint64_t)late_ms : 0};
}

int zkl_once_new(zkl_once **ret, zkl_session *s, const char *path, const zkl_once_options *options)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;
    struct once_calendar by = {.series = NULL};
    const char *wrong = options_take(&o, offsetof(zkl_once_options, reserved), options);
    const int code =
        handle_check_new("zkl_once_new", ret, s, path, wrong ? wrong : once_check_options(&o, &by));

    if (code) {
        g_clear_pointer(&by.zone, g_time_zone_unref);
        g_free(by.series);
        return code;
    }
    zkl_once *once = g_new0(zkl_once, 1);
    once->refs = 1;
    once->session = session_ref(s);
    once->path = path_full(s->chroot, path);
    once->record = g_strconcat(once->path, ONCE_NODE, NULL);
    once->name = handle_new_payload(o.name, 0);
    once->parents = o.parents;
    once->plan = once_plan_of(&o);
    once->by = by;
    session_lock(s);
    op_queue_init(&once->waiters, s, once->path);
    session_unlock(s);
    *ret = once;
    return 0;
}

void zkl_once_free(zkl_once *o)
{
    if (!o || fork_is_child(o->session->generation))
        return;
    session_lock(o->session);
    op_queue_abort(&o->waiters, ZKL_ECLOSED, "the handle was freed");
    session_unlock(o->session);
    once_unref(o);
}
