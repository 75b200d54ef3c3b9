/* The operand is PATH before the command; or PATH alone, with --status or --reset. */
#include "once_options.h"
#include "command_line.h"

#include <limits.h>

/* A time that no option can have: it was not given. */
#define TIME_NOT_GIVEN (-1)

/* -E was not given; no exit status has this value. */
#define E_NOT_GIVEN INT_MIN

/* Refuses options that do not fit together. Times that were not given become 0. */
static int once_options_check(struct once_options *o)
{
    const bool every = o->period_ms != TIME_NOT_GIVEN, slack = o->slack_ms != TIME_NOT_GIVEN,
               late = o->late_ms != TIME_NOT_GIVEN;

    if (o->calendar && every)
        return fail(STATUS_USAGE, "--at and --every exclude each other");
    if (every && o->period_ms == 0)
        return fail(STATUS_USAGE, "--every: must be more than 0");
    if (slack && !every && !o->calendar)
        return fail(STATUS_USAGE, "--slack: is for --every and --at");
    if (o->zone && !o->calendar)
        return fail(STATUS_USAGE, "--zone: is for --at");
    if (late && !o->calendar && !o->status)
        return fail(STATUS_USAGE, "--late: is for --at and --status");
    if (late && o->late_ms == 0)
        return fail(STATUS_USAGE, "--late: must be more than 0");
    if (o->status && o->reset)
        return fail(STATUS_USAGE, "--status and --reset exclude each other");
    if (o->json && !o->status)
        return fail(STATUS_USAGE, "--json: is for --status");
    o->period_ms = every ? o->period_ms : 0;
    o->slack_ms = slack ? o->slack_ms : 0;
    o->late_ms = late ? o->late_ms : 0;
    return GO_ON;
}

int once_options_parse(struct once_options *o, struct settings *settings, int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"at", 0, 0, G_OPTION_ARG_FILENAME, &o->calendar,
         "Run it once for each instant of a calendar: '30 2 * * *'", "FIELDS"},
        {"zone", 0, 0, G_OPTION_ARG_FILENAME, &o->zone,
         "The zone of these times, as Europe/Berlin (UTC)", "ZONE"},
        {"late", 0, 0, G_OPTION_ARG_INT64, &o->late_ms,
         "How long after its instant it may begin, or is not overdue (1h)", "SECS"},
        {"every", 0, 0, G_OPTION_ARG_INT64, &o->period_ms, "Run it once in each TIME: 30m, 1h, 24h",
         "TIME"},
        {"slack", 0, 0, G_OPTION_ARG_INT64, &o->slack_ms,
         "How long before it is due it may run (a tenth of TIME, 5m at most), or wait (30s)",
         "SECS"},
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->run.name,
         "Name of this contender in zkl ls, and of its run (host and process)", "NAME"},
        {"status", 0, 0, G_OPTION_ARG_NONE, &o->status, "Show the last run, and when it is due",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o->json, "With --status: as JSON", NULL},
        {"reset", 0, 0, G_OPTION_ARG_NONE, &o->reset, "Forget the last run", NULL},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = &o->run,
        .verb = "once",
        .synopsis = "once PATH [OPTION...] [--] COMMAND [ARG...] | -c STRING | --status | --reset",
        .summary =
            "Runs COMMAND if nobody has run it, or not in this period or for this instant, and "
            "records its success.\nExits with the status of COMMAND; 0 if another run counts (-E).",
        .entries = entries,
        .conflict_status = E_NOT_GIVEN,
    };

    *o = (struct once_options){
        .period_ms = TIME_NOT_GIVEN, .slack_ms = TIME_NOT_GIVEN, .late_ms = TIME_NOT_GIVEN};
    int status = command_line_begin(&line, argc, argv);
    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->run.hold.path);
    if (status == GO_ON)
        status = once_options_check(o);
    if (status == GO_ON && (o->status || o->reset))
        return line.argc > 1 || line.raw.shell_command
                   ? fail(STATUS_USAGE, "--%s: runs no command", o->status ? "status" : "reset")
                   : GO_ON;
    o->done_status = o->run.conflict_status == E_NOT_GIVEN ? STATUS_OK : o->run.conflict_status;
    if (o->run.conflict_status == E_NOT_GIVEN)
        o->run.conflict_status = STATUS_CONFLICT;
    return status == GO_ON ? command_line_check(&line) : status;
}
