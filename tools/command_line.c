/* Parses options as flock(1) does: before PATH, after PATH, and none after the command's name. */
#include "command_line.h"

#include <string.h>

/* Defaults of --on-lost-timeout and --kill-after. */
#define ON_LOST_MS 30000
#define KILL_AFTER_DEFAULT_MS 10000

/* Parses the options up to the next operand. */
static int command_line_parse(struct command_line *l)
{
    struct raw_options *raw = &l->raw;
    const GOptionEntry limits[] = {
        {"nonblock", 'n', 0, G_OPTION_ARG_NONE, &raw->nonblock,
         "Fail if another contender is first", NULL},
        {"timeout", 'w', 0, G_OPTION_ARG_FILENAME, &raw->timeout,
         "Fail if the lock cannot be acquired within SECS", "SECS"},
        {"wait", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &raw->timeout, NULL, NULL},
        {"conflict-exit-code", 'E', 0, G_OPTION_ARG_INT, &l->options->conflict_status,
         "Exit status if -n or -w fails (1)", "N"},
        G_OPTION_ENTRY_NULL};
    const GOptionEntry common[] = {
        {"command", 'c', 0, G_OPTION_ARG_FILENAME, &raw->shell_command,
         "Run STRING with $SHELL or /bin/sh", "STRING"},
        {"grace", 0, 0, G_OPTION_ARG_FILENAME, &raw->grace,
         "Send TERM this long before the end of a lost lock", "SECS"},
        {"kill-after", 0, 0, G_OPTION_ARG_FILENAME, &raw->kill_after,
         "After a signal ended COMMAND, KILL the rest after SECS (10)", "SECS"},
        {"leave-daemons", 0, 0, G_OPTION_ARG_NONE, &l->options->hold.leave_daemons,
         "Never end processes that called setsid(2)", NULL},
        {"wait-children", 0, 0, G_OPTION_ARG_NONE, &l->options->hold.wait_children,
         "After COMMAND's end, keep the lock until what it has left has ended too", NULL},
        {"on-suspect", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_suspect,
         "When the lock is in doubt: ignore (default), stop or term", "WHAT"},
        {"on-outgrown", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_outgrown,
         "When COMMAND's processes take too long to end: ignore (default) or term", "WHAT"},
        {"on-lost", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_lost,
         "Run STRING after COMMAND was ended because of the lock", "STRING"},
        {"on-lost-timeout", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_lost_timeout,
         "End the --on-lost command after SECS (30)", "SECS"},
        {"status-fd", 0, 0, G_OPTION_ARG_FILENAME, &raw->status_fd,
         "Write a line for each change to descriptor N", "N"},
        {"metrics-file", 0, 0, G_OPTION_ARG_FILENAME, &l->options->metrics_file,
         "Write metrics for Prometheus' node exporter to FILE", "FILE"},
        {"parents", 0, 0, G_OPTION_ARG_FILENAME, &raw->parents,
         "Create missing parents as: container or persistent", "KIND"},
        G_OPTION_ENTRY_NULL};
    const GOptionEntry *const tables[] = {l->entries, l->waits ? common : limits,
                                          l->waits ? NULL : common, NULL};

    return options_parse(l->settings, tables, l->synopsis, l->summary, &l->argc, &l->argv);
}

int command_line_begin(struct command_line *l, int argc, char **argv)
{
    *l->options = (struct lock_options){.conflict_status = l->conflict_status ? l->conflict_status
                                                                              : STATUS_CONFLICT,
                                        .hold = {.settings = l->settings,
                                                 .grace_ms = GRACE_DEFAULT,
                                                 .kill_after_ms = KILL_AFTER_DEFAULT_MS,
                                                 .on_lost_ms = ON_LOST_MS,
                                                 .status_fd = STATUS_FD_NONE}};
    l->argc = argc;
    l->argv = l->words = argv;
    return command_line_parse(l);
}

int command_line_operand(struct command_line *l, const char *what, const char **ret)
{
    if (l->argc < 2)
        return fail(STATUS_USAGE, "no %s given; \"zkl %s --help\" lists the options", what,
                    l->verb);
    *ret = l->argv[1];
    /* Parses again from the operand on, as if that were the program's name. */
    l->argc--;
    l->argv++;
    return command_line_parse(l);
}

/* Returns the words by which a shell runs string. */
static char **shell_command(const char *string)
{
    const char *shell = g_getenv("SHELL");
    char **argv = g_new0(char *, 4);

    argv[0] = g_strdup(shell && *shell ? shell : "/bin/sh");
    argv[1] = g_strdup("-c");
    argv[2] = g_strdup(string);
    return argv;
}

/* Returns the option by which the user gave the time limit, for messages. */
static const char *timeout_name(const struct command_line *l)
{
    const char *name = "-w";

    for (char **word = l->words; word <= l->argv; word++)
        if (g_str_has_prefix(*word, "--timeout"))
            name = "--timeout";
        else if (strcmp(*word, "--wait") == 0 || g_str_has_prefix(*word, "--wait="))
            name = "--wait";
    return name;
}

/* Checks and stores the options that are times. */
static int check_times(struct command_line *l)
{
    const struct raw_options *raw = &l->raw;
    struct lock_options *o = l->options;

    if (raw->nonblock && raw->timeout)
        return fail(STATUS_USAGE, "-n and -w exclude each other");
    o->timeout_ms = raw->nonblock ? 0 : ZKL_FOREVER;
    if (option_time(timeout_name(l), raw->timeout, &o->timeout_ms) != GO_ON ||
        option_time("--grace", raw->grace, &o->hold.grace_ms) != GO_ON ||
        option_time("--kill-after", raw->kill_after, &o->hold.kill_after_ms) != GO_ON)
        return STATUS_USAGE;
    o->wait_ms = o->timeout_ms;
    return option_time("--on-lost-timeout", raw->on_lost_timeout, &o->hold.on_lost_ms);
}

bool command_line_is_for_command(const struct command_line *l)
{
    const struct raw_options *raw = &l->raw;
    const struct lock_options *o = l->options;

    return raw->nonblock || raw->timeout || o->conflict_status != STATUS_CONFLICT || raw->grace ||
           raw->kill_after || o->hold.leave_daemons || o->hold.wait_children || raw->on_suspect ||
           raw->on_outgrown || raw->on_lost || raw->on_lost_timeout || raw->status_fd ||
           o->metrics_file || raw->parents;
}

/* Takes the command: the -c string, or what is left of the line. */
static int command_line_take_command(struct command_line *l)
{
    const char *string = l->raw.shell_command;
    char **rest = l->argv + 1;

    if (string && rest[0])
        return fail(STATUS_USAGE, "-c: takes one string; \"%s\" is one argument too many", rest[0]);
    if (!string && !rest[0])
        return fail(STATUS_USAGE, "%s: no command to run; \"zkl %s --help\" lists the options",
                    l->options->hold.path, l->verb);
    l->options->hold.argv = string ? shell_command(string) : g_strdupv(rest);
    return GO_ON;
}

int command_line_check(struct command_line *l)
{
    static const char *const kinds[] = {
        [ZKL_PARENTS_CONTAINER] = "container", [ZKL_PARENTS_PERSISTENT] = "persistent", NULL};
    static const char *const on_suspect[] = {[ON_SUSPECT_IGNORE] = "ignore",
                                             [ON_SUSPECT_STOP] = "stop",
                                             [ON_SUSPECT_TERM] = "term",
                                             NULL};
    static const char *const on_outgrown[] = {"ignore", "term", NULL};
    const struct raw_options *raw = &l->raw;
    struct lock_options *o = l->options;
    int parents = (int)o->parents, suspect = ON_SUSPECT_IGNORE, outgrown = 0;
    gint64 fd;

    if (o->conflict_status < 0 || o->conflict_status > 255)
        return fail(STATUS_USAGE, "-E, --conflict-exit-code: not an exit status: %d",
                    o->conflict_status);
    if (option_word("--parents", raw->parents, kinds, &parents) != GO_ON ||
        check_times(l) != GO_ON ||
        option_word("--on-suspect", raw->on_suspect, on_suspect, &suspect) != GO_ON ||
        option_word("--on-outgrown", raw->on_outgrown, on_outgrown, &outgrown) != GO_ON)
        return STATUS_USAGE;
    o->parents = (zkl_parents)parents;
    o->hold.on_suspect = (enum on_suspect)suspect;
    o->hold.term_on_outgrown = outgrown != 0;
    if (raw->status_fd) {
        if (!g_ascii_string_to_signed(raw->status_fd, 10, G_MININT, G_MAXINT, &fd, NULL))
            return fail(STATUS_USAGE, "--status-fd: not a descriptor to write to: %s",
                        raw->status_fd);
        o->hold.status_fd = (int)fd;
        if (status_fd_check(o->hold.status_fd) != GO_ON)
            return STATUS_USAGE;
    }
    if (raw->on_lost)
        o->hold.on_lost = shell_command(raw->on_lost);
    return command_line_take_command(l);
}
