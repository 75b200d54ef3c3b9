/* Gets the grant, runs the command, and gives the grant back. */
#include "run.h"
#include "closing.h"
#include "connect.h"
#include "waiting.h"

#define LOOK_EVERY_MS 1000

/* How long zkl waits for a slow server to confirm the release. If it did not wait, a script could
 * go on with "-n", find the node that is not gone yet, and take it for another client's. */
#define PATIENCE_HOLDER_MS 1000

/* Opens the session and the handle. Refuses what can be refused before any server is asked. */
static int run_prepare(struct run *t)
{
    int status = hold_check_grace(t->options->hold.grace_ms, t->settings->session_timeout_ms);

    if (status == GO_ON)
        status = session_open(t->settings, &t->session);
    if (status != GO_ON)
        return status;
    return t->ops->open(t->self, t->session) == 0 ? GO_ON : fail_last(t->options->hold.path);
}

/* Waits until a session is made. That wait counts for -w, too. */
static int connect_first(struct run *t)
{
    struct lock_options *o = t->options;
    const int64_t began = now_ms();
    const int64_t limit = o->timeout_ms == 0 ? ZKL_FOREVER : o->timeout_ms;
    int status = session_connect(t->settings, &t->session, limit, t->events);

    if (status != GO_ON)
        return status;
    guard_claim(&t->guard, t->session);
    if (o->timeout_ms > 0 && o->timeout_ms != ZKL_FOREVER) {
        o->timeout_ms -= now_ms() - began;
        if (o->timeout_ms < 1)
            o->timeout_ms = 1; /* 0 would not wait at all */
    }
    return hold_check_grace(o->hold.grace_ms, zkl_session_timeout_ms(t->session));
}

void attempt_end(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct attempt *a = data;

    a->grant = grant;
    if (error)
        a->error = *error;
    atomic_store(&a->done, true);
    events_wake(a->events);
}

/* Says what has happened, and who holds the lock, if that can be seen. by: the words before the
 * holders. Returns the exit status. */
static int say_held(const struct run *t, const char *path, const char *what, const char *by)
{
    g_autofree char *holders = waiting_holders(t, path);

    say("%s: %s%s%s", path, what, holders ? by : "", holders ? holders : "");
    return t->options->conflict_status;
}

/* Says why the attempt has brought no grant. Returns the exit status. */
static int fail_not_acquired(const struct run *t)
{
    const zkl_error *error = &t->attempt.error;
    const struct lock_options *o = t->options;
    const char *path = o->hold.others ? error->path : o->hold.path;
    g_autofree char *what = NULL;

    switch (error->code) {
    case ZKL_EBUSY:
        return say_held(t, path, "held by somebody else", ": ");
    case ZKL_ETIMEDOUT:
        what = g_strdup_printf("not acquired within %g s", (double)o->wait_ms / 1000);
        return say_held(t, path, what, "; held by ");
    case ZKL_EHOST:
    case ZKL_EUNREACHABLE: /* there was a session before, so the lock was not acquired in time */
        return fail(o->conflict_status, "%s: not acquired in time: %s", path,
                    zkl_strerror(error->code));
    case ZKL_EEXIST:
        return t->ops->done ? t->ops->done(t->self) : fail_error(error, o->hold.path);
    case ZKL_ENOENT: /* the data of a semaphore are no limit, which is no conflict */
        fail_error(error, o->hold.path);
        return STATUS_DATA;
    default:
        return fail_error(error, o->hold.path);
    }
}

/* Waits for the end of the attempt, and shows the wait. Returns 0, or the signal that asks us to
 * end first. */
static int await_grant(struct run *t)
{
    struct waiting waiting;
    int signo = 0;

    waiting_begin(&waiting, t);
    while (signo == 0 && !atomic_load(&t->attempt.done)) {
        int64_t due = waiting_due_ms(&waiting);

        if (t->ops->look)
            t->ops->look(t->self);
        if (t->ops->look && (due < 0 || due > LOOK_EVERY_MS))
            due = LOOK_EVERY_MS;
        signo = events_wait_at_most(t->events, due);
        if (signo == 0 && !atomic_load(&t->attempt.done))
            waiting_look(&waiting);
    }
    waiting_end(&waiting);
    return signo;
}

/* Seeks the grant until it comes, or fails, or a signal asks us to end. */
static int acquire_grant(struct run *t)
{
    struct attempt *a = &t->attempt;

    if (t->settings->verbose)
        say("%s: queueing", t->options->hold.path);
    status_line(t->options->hold.status_fd, "waiting");
    t->metrics =
        metrics_begin(t->options->metrics_file, t->options->hold.path, t->session, t->gauges);
    a->events = t->events;
    if (t->ops->seek(t->self, t->options->timeout_ms, a) != 0)
        return fail_last(t->options->hold.path);
    const int signo = await_grant(t);
    if (signo != 0) {
        t->ops->give_up(t->self);
        while (events_until(t->events, &a->done) != 0)
            continue; /* the end comes soon, server or not */
        zkl_grant_release(a->grant);
        return STATUS_SIGNAL + signo;
    }
    return a->grant ? GO_ON : fail_not_acquired(t);
}

/* Runs the command under the grant. Returns the exit status. */
static int hold_grant(struct run *t)
{
    struct hold_options *o = &t->options->hold;
    const guint64 token = zkl_grant_token(t->attempt.grant);

    say_no_more_of(GO_ON); /* a failure from now on is a new one, and is said */
    hold_fit(o, o->grace_ms, zkl_session_timeout_ms(t->session));
    if (t->settings->verbose)
        say("%s: held with token %" G_GUINT64_FORMAT, t->options->hold.path, token);
    status_line(o->status_fd, "held %" G_GUINT64_FORMAT, token);
    guard_claim(&t->guard, t->session); /* the session may have another incarnation than at first */
    int status = hold_run(&t->hold, &t->guard, t->attempt.grant, t->events);
    if (t->ops->end && hold_has_lock(t->hold))
        status = t->ops->end(t->self, t->attempt.grant, status, hold_asked(t->hold));
    if (t->ops->over && !hold_has_lock(t->hold))
        t->ops->over(t->self);
    return status;
}

/* Takes the steps up to the first that fails, then closes the session and frees all. The grant is
 * released after the close: the server deletes its nodes with the session, and a delete before that
 * would cost a round trip and a write, and would tell the next in line no sooner. With metrics it
 * is released before, because they must show that. */
static int run_steps(struct run *t)
{
    int (*const steps[])(struct run *) = {run_prepare, connect_first, acquire_grant, hold_grant};
    int status = GO_ON;

    for (size_t i = 0; i < G_N_ELEMENTS(steps) && status == GO_ON; i++)
        status = steps[i](t);
    if (status == STATUS_SIGNAL + SIGCHLD && !t->hold && guard_has_ended(&t->guard))
        status = fail(STATUS_INTERNAL, "%s: the guard is dead", t->options->hold.path);
    if (t->hold && t->metrics && !t->attempt.lent)
        zkl_grant_release(t->attempt.grant);
    if (!t->hold && events_typed(t->events, status - STATUS_SIGNAL))
        atomic_store(&t->guard.termination.shared->key, status - STATUS_SIGNAL);
    t->events->key = atomic_load(&t->guard.termination.shared->key);
    metrics_end(t->metrics, status);
    closing_close(t->session, t->hold ? PATIENCE_HOLDER_MS : CLOSING_PATIENCE_MS);
    if (t->hold && !t->metrics && !t->attempt.lent)
        zkl_grant_release(t->attempt.grant);
    if (t->hold && hold_has_lock(t->hold))
        status_line(t->options->hold.status_fd, "released");
    t->ops->close(t->self);
    if (t->attempt.lent)
        zkl_grant_release(t->attempt.grant);
    hold_free(t->hold);
    return status;
}

/* The guard is forked before there is any thread. It is waited for last, since it may still run
 * --on-lost. */
int run_once(struct run *t)
{
    if (!guard_start(&t->guard, &t->options->hold, t->shared, t->events))
        return STATUS_INTERNAL;
    const int status = run_steps(t);
    guard_finish(&t->guard, t->events);
    return status;
}

int run_under_cgroup(struct run *t)
{
    termination_say_unseen(&t->options->hold);
    t->options->hold.cgroup = cgroup_new(t->options->hold.leave_daemons);
    const int status = run_once(t);
    cgroup_free(t->options->hold.cgroup);
    events_close(t->events);
    return status;
}
