/* zkl once: runs the command if the work at a path is due. Records the command's success in the
 * transaction that releases the lock. With --status it shows the record, with --reset it deletes
 * it. */
#include "connect.h"
#include "contenders.h"
#include "metrics.h"
#include "once_options.h"
#include "run.h"
#include "worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

struct once {
    struct once_options options;
    zkl_once *once;
    zkl_op *op;
    struct attempt *attempt;

    /* A thread writes the record, while the main one waits for that and for signals: */
    struct events *events;
    const zkl_grant *grant;
    pthread_t writer;
    bool writes;         /* .writer was started */
    zkl_error error;     /* why the record was not written; code 0: it was */
    atomic_bool written; /* the thread has tried, with .error as the result */
};

/* Makes the library's handle. Returns 0, or an error of the library. */
static int once_make(void *self, zkl_session *session)
{
    struct once *o = self;
    zkl_once_options options = ZKL_ONCE_OPTIONS_INIT;
    g_autofree char *name = identity_text(o->options.run.name);

    options.name = name;
    options.period_ms = o->options.period_ms;
    options.slack_ms = o->options.slack_ms;
    options.calendar = o->options.calendar;
    options.zone = o->options.zone;
    options.late_ms = o->options.calendar ? o->options.late_ms : 0;
    options.parents = o->options.run.parents;
    return zkl_once_new(&o->once, session, o->options.run.hold.path, &options);
}

/* Begins to acquire the lock, if the work is due. */
static int once_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct once *o = self;

    o->attempt = attempt;
    return zkl_once_begin_async(o->once, timeout_ms, attempt_end, attempt, &o->op);
}

static int once_node(void *self, char *buf, size_t size)
{
    const struct once *o = self;

    return zkl_op_node(o->op, buf, size);
}

static void once_give_up(void *self)
{
    const struct once *o = self;

    zkl_op_cancel(o->op);
}

static void once_close(void *self)
{
    struct once *o = self;

    if (o->writes)
        pthread_join(o->writer, NULL);
    zkl_op_free(o->op);
    zkl_once_free(o->once);
}

/* Ends if another run counts: with -v says which. Returns the exit status for that. */
static int once_end_as_done(void *self)
{
    const struct once *o = self;
    g_autoptr(zkl_once_run) run = NULL;

    if (o->options.run.hold.settings->verbose && zkl_once_done(o->once, 0, &run) == 0) {
        g_autofree char *text = contenders_run_text(run);
        say("%s: %s", o->options.run.hold.path, text);
    }
    return o->options.done_status;
}

/* The thread: records the run. */
static void *once_write(void *data)
{
    struct once *o = data;

    if (zkl_once_end(o->once, o->grant, NULL, 0, 0) != 0)
        zkl_last_error(&o->error);
    atomic_store(&o->written, true);
    events_wake(o->events);
    return NULL;
}

/* Records the run of a command that has ended with status, if it succeeded. Otherwise the work is
 * left to the next caller. If the signal asked has asked the command to end, the work is left to
 * the next caller, too: the command may have done half of it, whatever its status says. Returns the
 * exit status. */
static int once_record_run(void *self, const zkl_grant *grant, int status, int asked)
{
    struct once *o = self;
    const char *path = o->options.run.hold.path;

    if (status != STATUS_OK)
        return status;
    if (asked != 0)
        return fail(STATUS_SIGNAL + asked,
                    "%s: the command was asked to end, so its run is not recorded", path);
    o->grant = grant;
    o->writes = worker_start(&o->writer, once_write, o) == 0;
    if (!o->writes)
        once_write(o);
    int signo;
    do
        signo = events_until(o->events, &o->written);
    while (signo == SIGCHLD); /* the guard has ended, which has nothing left to do */
    o->attempt->lent = signo != 0;
    if (signo != 0)
        return fail(STATUS_SIGNAL + signo,
                    "%s: asked to end before the servers had said whether the run is recorded",
                    path);
    return o->error.code == 0 ? STATUS_OK : fail_error(&o->error, path);
}

static const struct acquire_ops once_ops = {.open = once_make,
                                            .seek = once_seek,
                                            .node = once_node,
                                            .give_up = once_give_up,
                                            .done = once_end_as_done,
                                            .end = once_record_run,
                                            .close = once_close};

/* ---- --status and --reset ---- */

enum { LATE_MS = 3600000 };

/* Writes --metrics-file: when the work was run last, and when it is due. An alert compares these
 * times with the present. */
static void once_write_metrics(const struct once *o, const zkl_once_run *run)
{
    g_autoptr(GString) path = g_string_new(o->options.run.hold.path);
    g_autoptr(GString) text = g_string_new(NULL);
    const struct {
        const char *name, *help;
        int64_t ms;
    } gauges[] = {
        {"zkl_once_begun_timestamp_seconds", "When the last completed run began.", run->begun_ms},
        {"zkl_once_due_timestamp_seconds", "When the next run is due.", run->due_ms},
    };

    g_string_replace(path, "\\", "\\\\", 0);
    g_string_replace(path, "\"", "\\\"", 0);
    g_string_replace(path, "\n", "\\n", 0);
    g_autofree char *labels = g_strdup_printf("path=\"%s\"", path->str);
    for (size_t i = 0; i < G_N_ELEMENTS(gauges); i++) {
        g_autofree char *value =
            g_strdup_printf("%" PRId64 ".%03d", gauges[i].ms / 1000, (int)(gauges[i].ms % 1000));
        if (gauges[i].ms != 0)
            metrics_append(text, labels, gauges[i].name, gauges[i].help, value);
    }
    metrics_write(o->options.run.metrics_file, text->str);
}

/* Shows the record for --status. Returns the exit status. */
static int once_show(const struct once *o, int64_t timeout_ms)
{
    const char *path = o->options.run.hold.path;
    const int64_t late_ms = o->options.late_ms != 0 ? o->options.late_ms : LATE_MS;
    g_autoptr(zkl_once_run) run = NULL;
    g_autoptr(GString) text = g_string_new(NULL);

    if (zkl_once_done(o->once, timeout_ms, &run) != 0 && zkl_last_error(NULL) != ZKL_ENOENT)
        return contenders_failed(path);
    /* By the clock of this host: the servers' is not known here. */
    const int64_t since_due_ms = run ? g_get_real_time() / 1000 - run->due_ms : 0;
    const bool due = run && run->due_ms != 0 && since_due_ms >= 0;
    const bool overdue = due && since_due_ms > late_ms;
    if (o->options.json) {
        contenders_run_json(text, run, !run ? "none" : overdue ? "overdue" : due ? "due" : "done");
    } else if (run) {
        g_autofree char *sentence = contenders_run_text(run);
        g_string_append(text, sentence);
    }
    if (text->len > 0)
        printf("%s\n", text->str);
    if (run && o->options.run.metrics_file)
        once_write_metrics(o, run);
    if (!run)
        return fail(STATUS_CONFLICT, "%s: no run is recorded", path);
    if (overdue)
        return fail(STATUS_OVERDUE, "%s: overdue: no run is recorded since it was due", path);
    return STATUS_OK;
}

/* Shows the record for --status, or deletes it for --reset. Returns the exit status. */
static int once_look_at_record(struct once *o)
{
    const struct settings *settings = o->options.run.hold.settings;
    const int64_t timeout_ms = settings->connect_timeout_ms;
    g_autoptr(zkl_session) session = NULL;
    int status = session_open(settings, &session);

    if (status != GO_ON)
        return status;
    if (once_make(o, session) != 0)
        status = fail_last(o->options.run.hold.path);
    else if (o->options.status)
        status = once_show(o, timeout_ms);
    else /* the time limit of the connection is shorter than what a lost answer needs */
        status = zkl_session_wait(session, timeout_ms) == 0 && zkl_once_reset(o->once, 0) == 0
                     ? STATUS_OK
                     : contenders_failed(o->options.run.hold.path);
    once_close(o);
    return status;
}

/* ---- the verb ---- */

int verb_once(struct settings *settings, int argc, char **argv)
{
    struct events events;
    struct once once = {.events = &events};
    struct run run = {.settings = settings,
                      .options = &once.options.run,
                      .events = &events,
                      .ops = &once_ops,
                      .self = &once};
    int status = once_options_parse(&once.options, settings, argc, argv);

    if (status == GO_ON && (once.options.status || once.options.reset)) {
        status = once_look_at_record(&once);
    } else if (status == GO_ON) {
        status = connect_begin(settings, &events);
        if (status == GO_ON)
            status = run_under_cgroup(&run);
    }
    lock_options_free(&once.options.run);
    return status;
}
