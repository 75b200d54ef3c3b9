/* zkl lock: the lock, then the command, then the lock given back. */
#include "connect.h"
#include "guard.h"
#include "lock_options.h"
#include "status_line.h"

/* One acquisition, filled by the library's thread before done is set. */
struct attempt {
    struct events *events;
    zkl_grant *grant;
    zkl_error error;
    atomic_bool done;
};

/* All of one run, so that what was made is unmade in one place. */
struct run {
    const struct settings *settings;
    struct lock_options options;
    struct events events;
    zkl_session *session;
    zkl_mutex *mutex;
    struct attempt attempt;
    struct hold_options hold_options;
    struct guard guard;
    struct hold *hold;
    int key; /* the signal of the key that ended the command, and is to end us and our group */
};

static int last_failure(const char *subject)
{
    zkl_error error = {0};

    zkl_last_error(&error);
    return fail_error(&error, subject);
}

/* What can be refused is refused before any server is asked. */
static int prepare(struct run *r)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    int status = hold_check_grace(r->options.grace_ms, r->settings->session_timeout_ms);

    if (status == GO_ON)
        status = session_open(r->settings, &r->session);
    if (status != GO_ON)
        return status;
    options.name = r->options.name;
    options.parents = r->options.parents;
    if (zkl_mutex_new(&r->mutex, r->session, r->options.path, &options) != 0)
        return last_failure(r->options.path);
    return GO_ON;
}

/* Until a session is made; -w runs from here on. */
static int connect_first(struct run *r)
{
    const int64_t began = now_ms();
    const int64_t limit = r->options.timeout_ms == 0 ? ZKL_FOREVER : r->options.timeout_ms;
    int status = session_connect(r->settings, &r->session, limit, &r->events);

    if (status != GO_ON)
        return status;
    if (r->options.timeout_ms > 0) {
        r->options.timeout_ms -= now_ms() - began;
        if (r->options.timeout_ms < 1)
            r->options.timeout_ms = 1; /* 0 would mean to try */
    }
    return hold_check_grace(r->options.grace_ms, zkl_session_timeout_ms(r->session));
}

static void acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct attempt *a = data;

    a->grant = grant;
    if (error)
        a->error = *error;
    atomic_store(&a->done, true);
    events_wake(a->events);
}

static int not_acquired(const struct run *r)
{
    const zkl_error *error = &r->attempt.error;

    switch (error->code) {
    case ZKL_EBUSY:
        return fail(r->options.conflict_status, "%s: held by somebody else", r->options.path);
    case ZKL_ETIMEDOUT:
        return fail(r->options.conflict_status, "%s: not had within %g s", r->options.path,
                    r->options.timeout_s);
    case ZKL_EHOST:
    case ZKL_EUNREACHABLE: /* there was a session before: it is the lock that did not come */
        return fail(r->options.conflict_status, "%s: not had in time: %s", r->options.path,
                    zkl_strerror(error->code));
    default:
        return fail_error(error, r->options.path);
    }
}

static int acquire(struct run *r)
{
    struct attempt *a = &r->attempt;
    zkl_op *op;
    int signo;

    if (r->settings->verbose)
        say("%s: queueing", r->options.path);
    status_line(r->options.status_fd, "waiting");
    a->events = &r->events;
    if (zkl_mutex_lock_async(r->mutex, r->options.timeout_ms, acquired, a, &op) != 0)
        return last_failure(r->options.path);
    signo = events_until(&r->events, &a->done);
    if (signo != 0) {
        zkl_op_cancel(op);
        while (events_until(&r->events, &a->done) != 0)
            continue; /* it comes soon, server or not */
    }
    zkl_op_free(op);
    if (signo != 0 && a->grant)
        zkl_grant_release(a->grant);
    if (signo != 0)
        return STATUS_SIGNAL + signo;
    return a->grant ? GO_ON : not_acquired(r);
}

static int hold(struct run *r)
{
    const guint64 token = zkl_grant_token(r->attempt.grant);
    int status;

    r->hold_options.session_timeout_ms = zkl_session_timeout_ms(r->session);
    r->hold_options.grace_ms =
        hold_grace_ms(r->options.grace_ms, r->hold_options.session_timeout_ms);
    if (r->settings->verbose)
        say("%s: held with token %" G_GUINT64_FORMAT, r->options.path, token);
    status_line(r->options.status_fd, "held %" G_GUINT64_FORMAT, token);
    r->hold = hold_new(&r->guard, r->attempt.grant, &r->events);
    status = hold_run(r->hold);
    r->key = hold_key(r->hold);
    return status;
}

static int run_steps(struct run *r)
{
    int (*const steps[])(struct run *) = {prepare, connect_first, acquire, hold};
    int status = GO_ON;

    for (size_t i = 0; i < G_N_ELEMENTS(steps) && status == GO_ON; i++)
        status = steps[i](r);
    if (status == STATUS_SIGNAL + SIGCHLD && !r->hold)
        status = fail(STATUS_INTERNAL, "%s: the guard is dead", r->options.path);
    zkl_session_close(r->session);
    if (r->hold && hold_kept(r->hold))
        status_line(r->options.status_fd, "released");
    zkl_mutex_free(r->mutex);
    hold_free(r->hold);
    return status;
}

/* The guard before any thread, and to the end: it may still run --on-lost. */
static int run_guarded(struct run *r)
{
    int status;

    r->hold_options = (struct hold_options){
        .path = r->options.path,
        .argv = r->options.command,
        .on_lost = r->options.on_lost,
        .on_suspect = r->options.on_suspect,
        .status_fd = r->options.status_fd,
        .verbose = r->settings->verbose,
    };
    if (!guard_start(&r->guard, &r->hold_options, &r->events))
        return STATUS_INTERNAL;
    status = run_steps(r);
    guard_finish(&r->guard, &r->events);
    return status;
}

int verb_lock(struct settings *settings, int argc, char **argv)
{
    struct run r = {.settings = settings};
    int status = lock_options_parse(&r.options, settings, argc, argv);

    if (status == GO_ON && !events_open(&r.events))
        status = STATUS_INTERNAL;
    if (status == GO_ON) {
        status = run_guarded(&r);
        events_close(&r.events);
    }
    lock_options_free(&r.options);
    if (r.key != 0)
        events_die(&r.events, r.key);
    return status;
}
