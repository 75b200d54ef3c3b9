/* zkl once: runs the command if the work at a path is due. Records the command's success in the
 * transaction that releases the lock. With --status it shows the record, with --reset it deletes
 * it. */
#include "command_line.h"
#include "connect.h"
#include "contenders.h"
#include "metrics.h"
#include "run.h"
#include "worker.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

/* -E was not given; no exit status has this value. */
#define E_NOT_GIVEN INT_MIN

struct once {
    struct lock_options options;
    int64_t period_ms; /* 0: once for all */
    int64_t slack_ms;  /* 0: the library's default */
    char *calendar;    /* NULL: none */
    char *zone;        /* NULL: UTC */
    int64_t late_ms;   /* 0: the library's default */
    gboolean status, reset, json;
    int done_status; /* the exit status if another run counts */
    zkl_once *once;
    zkl_op *op;

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
    g_autofree char *name = identity_text(o->options.name);

    options.name = name;
    options.period_ms = o->period_ms;
    options.slack_ms = o->slack_ms;
    options.calendar = o->calendar;
    options.zone = o->zone;
    options.late_ms = o->calendar ? o->late_ms : 0;
    options.parents = o->options.parents;
    return zkl_once_new(&o->once, session, o->options.hold.path, &options);
}

/* Begins to acquire the lock, if the work is due. */
static int once_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct once *o = self;

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

    if (o->options.hold.settings->verbose && zkl_once_done(o->once, 0, &run) == 0) {
        g_autofree char *text = contenders_run_text(run);
        say("%s: %s", o->options.hold.path, text);
    }
    return o->done_status;
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

/* Waits until the record is written. Returns 0; or the signal that asks us to end, if that comes
 * first. SIGCHLD does not ask: it says that the guard has ended, which has nothing left to do. */
static int once_await_written(struct once *o)
{
    int signo = SIGCHLD;

    while (signo == SIGCHLD)
        signo = events_until(o->events, &o->written);
    return signo;
}

/* Records the run of a command that has ended with status, if it succeeded. Otherwise the work is
 * left to the next caller. It is too if the command was asked to end by the signal asked, even if
 * its status says success: it may have done half of the work. Returns the exit status. */
static int once_record_run(void *self, const zkl_grant *grant, int status, int asked)
{
    struct once *o = self;
    const char *path = o->options.hold.path;

    if (status != STATUS_OK)
        return status;
    if (asked != 0)
        return fail(STATUS_SIGNAL + asked,
                    "%s: the command was asked to end, so its run is not recorded", path);
    o->grant = grant;
    o->writes = worker_start(&o->writer, once_write, o) == 0;
    if (!o->writes)
        once_write(o);
    const int signo = once_await_written(o);
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

static const char STATE_OVERDUE[] = "overdue";

/* Writes --metrics-file: when the work was run last, and when it is due. An alert compares these
 * times with the present. */
static void once_write_metrics(const struct once *o, const zkl_once_run *run)
{
    g_autoptr(GString) path = g_string_new(o->options.hold.path);
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
    metrics_write(o->options.metrics_file, text->str);
}

/* Returns the state of the work at present, by the clock of this host: the servers' is not known
 * here. */
static const char *once_state(const struct once *o, const zkl_once_run *run)
{
    const int64_t late_ms = o->late_ms != 0 ? o->late_ms : LATE_MS;
    const int64_t overdue_ms = g_get_real_time() / 1000 - run->due_ms;

    if (run->due_ms == 0 || overdue_ms < 0)
        return "done";
    return overdue_ms > late_ms ? STATE_OVERDUE : "due";
}

/* Shows the record for --status. Returns the exit status. */
static int once_show(const struct once *o, int64_t timeout_ms)
{
    const char *path = o->options.hold.path;
    g_autoptr(zkl_once_run) run = NULL;
    g_autoptr(GString) text = g_string_new(NULL);

    if (zkl_once_done(o->once, timeout_ms, &run) != 0 && zkl_last_error(NULL) != ZKL_ENOENT)
        return contenders_failed(path);
    const char *state = run ? once_state(o, run) : "none";
    if (o->json) {
        contenders_run_json(text, run, state);
    } else if (run) {
        g_autofree char *sentence = contenders_run_text(run);
        g_string_append(text, sentence);
    }
    if (text->len > 0)
        printf("%s\n", text->str);
    if (run && o->options.metrics_file)
        once_write_metrics(o, run);
    if (!run)
        return fail(STATUS_CONFLICT, "%s: no run is recorded", path);
    if (state == STATE_OVERDUE)
        return fail(STATUS_OVERDUE, "%s: overdue: no run is recorded since it was due", path);
    return STATUS_OK;
}

/* Shows the record for --status, or deletes it for --reset. Returns the exit status. */
static int once_look_at_record(struct once *o)
{
    const struct settings *settings = o->options.hold.settings;
    const int64_t timeout_ms = settings->connect_timeout_ms;
    g_autoptr(zkl_session) session = NULL;
    int status = session_open(settings, &session);

    if (status != GO_ON)
        return status;
    if (once_make(o, session) != 0)
        status = fail_last(o->options.hold.path);
    else if (o->status)
        status = once_show(o, timeout_ms);
    else /* the time limit of the connection is shorter than what a lost answer needs */
        status = zkl_session_wait(session, timeout_ms) == 0 && zkl_once_reset(o->once, 0) == 0
                     ? STATUS_OK
                     : contenders_failed(o->options.hold.path);
    once_close(o);
    return status;
}

/* ---- the command line ---- */

/* The options that are times, as text; NULL: not given. */
struct once_times {
    char *every, *slack, *late;
};

/* Returns what is wrong with the options together; NULL: nothing. */
static const char *once_wrong_options(const struct once *o, const struct once_times *t)
{
    if (o->calendar && t->every)
        return "--at and --every exclude each other";
    if (t->every && o->period_ms == 0)
        return "--every: must be more than 0";
    if (t->slack && !t->every && !o->calendar)
        return "--slack: is for --every and --at";
    if (o->zone && !o->calendar)
        return "--zone: is for --at";
    if (t->late && !o->calendar && !o->status)
        return "--late: is for --at and --status";
    if (t->late && o->late_ms == 0)
        return "--late: must be more than 0";
    if (o->status && o->reset)
        return "--status and --reset exclude each other";
    if (o->json && !o->status)
        return "--json: is for --status";
    return NULL;
}

/* Parses the times. Returns GO_ON, or a status after a message. */
static int once_parse_times(struct once *o, const struct once_times *t)
{
    int status = option_time("--every", t->every, &o->period_ms);

    if (status == GO_ON)
        status = option_time("--slack", t->slack, &o->slack_ms);
    if (status == GO_ON)
        status = option_time("--late", t->late, &o->late_ms);
    const char *wrong = status == GO_ON ? once_wrong_options(o, t) : NULL;
    return wrong ? fail(STATUS_USAGE, "%s", wrong) : status;
}

static int once_parse_line(struct once *o, struct settings *settings, int argc, char **argv)
{
    struct once_times times = {NULL, NULL, NULL};
    const GOptionEntry entries[] = {
        {"at", 0, 0, G_OPTION_ARG_FILENAME, &o->calendar,
         "Run it once for each instant of a calendar: '30 2 * * *'", "FIELDS"},
        {"zone", 0, 0, G_OPTION_ARG_FILENAME, &o->zone,
         "The zone of these times, as Europe/Berlin (UTC)", "ZONE"},
        {"late", 0, 0, G_OPTION_ARG_FILENAME, &times.late,
         "How long after its instant it may begin, or is not overdue (1h)", "SECS"},
        {"every", 0, 0, G_OPTION_ARG_FILENAME, &times.every,
         "Run it once in each TIME: 30m, 1h, 24h", "TIME"},
        {"slack", 0, 0, G_OPTION_ARG_FILENAME, &times.slack,
         "How long before it is due it may run (a tenth of TIME, 5m at most), or wait (30s)",
         "SECS"},
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->options.name,
         "Name of this contender in zkl ls, and of its run (host and process)", "NAME"},
        {"status", 0, 0, G_OPTION_ARG_NONE, &o->status, "Show the last run, and when it is due",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o->json, "With --status: as JSON", NULL},
        {"reset", 0, 0, G_OPTION_ARG_NONE, &o->reset, "Forget the last run", NULL},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = &o->options,
        .verb = "once",
        .synopsis = "once PATH [OPTION...] [--] COMMAND [ARG...] | -c STRING | --status | --reset",
        .summary =
            "Runs COMMAND if nobody has run it, or not in this period or for this instant, and "
            "records its success.\nExits with the status of COMMAND; 0 if another run counts (-E).",
        .entries = entries,
        .conflict_status = E_NOT_GIVEN,
    };
    int status = command_line_begin(&line, argc, argv);

    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->options.hold.path);
    if (status == GO_ON)
        status = once_parse_times(o, &times);
    if (status == GO_ON && (o->status || o->reset))
        return line.argc > 1 || line.raw.shell_command
                   ? fail(STATUS_USAGE, "--%s: runs no command", o->status ? "status" : "reset")
                   : GO_ON;
    o->done_status =
        o->options.conflict_status == E_NOT_GIVEN ? STATUS_OK : o->options.conflict_status;
    if (o->options.conflict_status == E_NOT_GIVEN)
        o->options.conflict_status = STATUS_CONFLICT;
    if (status == GO_ON)
        status = command_line_check(&line);
    return status;
}

int verb_once(struct settings *settings, int argc, char **argv)
{
    struct events events;
    struct once once = {.events = &events};
    struct run run = {.settings = settings,
                      .options = &once.options,
                      .events = &events,
                      .ops = &once_ops,
                      .self = &once};
    int status = once_parse_line(&once, settings, argc, argv);

    if (status == GO_ON && (once.status || once.reset)) {
        status = once_look_at_record(&once);
    } else if (status == GO_ON) {
        status = events_open(&events) ? run_under_cgroup(&run) : STATUS_INTERNAL;
    }
    lock_options_free(&once.options);
    return status;
}
