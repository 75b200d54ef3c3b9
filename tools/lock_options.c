/* Options as flock(1) has them: before PATH, after PATH, and none after the command's name. */
#include "lock_options.h"
#include "status_line.h"

#include <string.h>

#define SYNOPSIS "lock PATH [OPTION...] [--] COMMAND [ARG...] | -c STRING"

/* What GLib fills and nobody else needs. */
struct raw {
    gboolean nonblock;
    gboolean shared;
    gboolean exclusive;
    char *name;
    char *shell_command;
    char *parents;
    char *on_lost;
    char *on_suspect;
    char *status_fd;
    char *timeout; /* text, so that "not given" is none of its values */
    char *grace;
};

/* GLib frees what it replaces only within one context; ours are two, before and after PATH. */
static void free_replaced(const struct raw *before, const struct raw *now)
{
    char *const texts[][2] = {
        {before->name, now->name},
        {before->shell_command, now->shell_command},
        {before->parents, now->parents},
        {before->on_lost, now->on_lost},
        {before->on_suspect, now->on_suspect},
        {before->status_fd, now->status_fd},
        {before->timeout, now->timeout},
        {before->grace, now->grace},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i][0] != texts[i][1])
            g_free(texts[i][0]);
}

static int parse(struct lock_options *o, struct raw *raw, struct settings *settings, int *argc,
                 char ***argv)
{
    const struct raw before = *raw;
    const GOptionEntry entries[] = {
        {"nonblock", 'n', 0, G_OPTION_ARG_NONE, &raw->nonblock, "Fail rather than wait for others",
         NULL},
        {"timeout", 'w', 0, G_OPTION_ARG_FILENAME, &raw->timeout, "Fail when not had within",
         "SECS"},
        {"wait", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &raw->timeout, NULL, NULL},
        {"conflict-exit-code", 'E', 0, G_OPTION_ARG_INT, &o->conflict_status,
         "Exit status when the lock is not had in time (1)", "N"},
        {"command", 'c', 0, G_OPTION_ARG_FILENAME, &raw->shell_command,
         "Run STRING by $SHELL or /bin/sh", "STRING"},
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &raw->name, "Who, as zkl ls shows it", "NAME"},
        {"grace", 0, 0, G_OPTION_ARG_FILENAME, &raw->grace,
         "Time between TERM and the end of a lock being lost", "SECS"},
        {"on-suspect", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_suspect,
         "While the lock is in doubt: ignore (default), stop or term", "WHAT"},
        {"on-lost", 0, 0, G_OPTION_ARG_FILENAME, &raw->on_lost,
         "Run STRING by the shell after COMMAND had to be ended", "STRING"},
        {"status-fd", 0, 0, G_OPTION_ARG_FILENAME, &raw->status_fd,
         "Write one line for each change to descriptor N", "N"},
        {"parents", 0, 0, G_OPTION_ARG_FILENAME, &raw->parents,
         "Make missing parents container (default) or persistent", "KIND"},
        {"exclusive", 'x', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->exclusive, NULL, NULL},
        {"exclusive", 'e', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->exclusive, NULL, NULL},
        {"shared", 's', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->shared, NULL, NULL},
        G_OPTION_ENTRY_NULL};
    int status = options_parse(settings, entries, SYNOPSIS,
                               "Runs COMMAND while holding the lock PATH. Exits as COMMAND does.",
                               argc, argv);

    free_replaced(&before, raw);
    return status;
}

static char **shell_command(const char *string)
{
    const char *shell = g_getenv("SHELL");
    char **argv = g_new0(char *, 4);

    argv[0] = g_strdup(shell && *shell ? shell : "/bin/sh");
    argv[1] = g_strdup("-c");
    argv[2] = g_strdup(string);
    return argv;
}

static int check_times(struct lock_options *o, const struct raw *raw)
{
    double grace_s;

    if (raw->nonblock && raw->timeout)
        return fail(STATUS_USAGE, "-n and -w exclude each other");
    o->timeout_ms = raw->nonblock ? 0 : ZKL_FOREVER;
    if (raw->timeout && !(seconds_parse(raw->timeout, &o->timeout_s) &&
                          seconds_to_ms(o->timeout_s, &o->timeout_ms)))
        return fail(STATUS_USAGE, "-w: not a time to wait: %s", raw->timeout);
    if (raw->grace &&
        !(seconds_parse(raw->grace, &grace_s) && seconds_to_ms(grace_s, &o->grace_ms)))
        return fail(STATUS_USAGE, "--grace: not a time: %s", raw->grace);
    return GO_ON;
}

static int check_on_suspect(struct lock_options *o, const char *text)
{
    static const char *const names[] = {
        [ON_SUSPECT_IGNORE] = "ignore", [ON_SUSPECT_STOP] = "stop", [ON_SUSPECT_TERM] = "term"};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (!text || strcmp(names[i], text) == 0) {
            o->on_suspect = (enum on_suspect)i;
            return GO_ON;
        }
    return fail(STATUS_USAGE, "--on-suspect: ignore, stop or term, not %s", text);
}

static int check_status_fd(struct lock_options *o, const char *text)
{
    gint64 fd;

    if (!text)
        return GO_ON;
    if (!g_ascii_string_to_signed(text, 10, G_MININT, G_MAXINT, &fd, NULL))
        return fail(STATUS_USAGE, "--status-fd: not a descriptor to write to: %s", text);
    o->status_fd = (int)fd;
    return status_fd_check(o->status_fd);
}

static int check_watching(struct lock_options *o, const struct raw *raw)
{
    int status = check_on_suspect(o, raw->on_suspect);

    if (status == GO_ON)
        status = check_status_fd(o, raw->status_fd);
    if (status == GO_ON && raw->on_lost)
        o->on_lost = shell_command(raw->on_lost);
    return status;
}

static int check(struct lock_options *o, const struct raw *raw)
{
    if (raw->shared)
        return fail(STATUS_USAGE, "-s: shared locks are not there yet; this one is exclusive");
    if (o->conflict_status < 0 || o->conflict_status > 255)
        return fail(STATUS_USAGE, "-E: not an exit status: %d", o->conflict_status);
    if (raw->parents && strcmp(raw->parents, "persistent") == 0)
        o->parents = ZKL_PARENTS_PERSISTENT;
    else if (raw->parents && strcmp(raw->parents, "container") != 0)
        return fail(STATUS_USAGE, "--parents: container or persistent, not %s", raw->parents);
    if (check_times(o, raw) != GO_ON)
        return STATUS_USAGE;
    return check_watching(o, raw);
}

/* The command: what is left of the line, or the -c string for a shell. */
static int take_command(struct lock_options *o, const struct raw *raw, char **rest)
{
    if (raw->shell_command && rest[0])
        return fail(STATUS_USAGE, "-c: takes one string, \"%s\" is too much", rest[0]);
    if (!raw->shell_command && !rest[0])
        return fail(STATUS_USAGE, "%s: no command to run; \"zkl lock --help\" has the options",
                    o->path);
    o->command = raw->shell_command ? shell_command(raw->shell_command) : g_strdupv(rest);
    return GO_ON;
}

int lock_options_parse(struct lock_options *o, struct settings *settings, int argc, char **argv)
{
    struct raw raw = {0};
    int status;

    *o = (struct lock_options){
        .grace_ms = GRACE_DEFAULT, .conflict_status = STATUS_CONFLICT, .status_fd = STATUS_FD_NONE};
    status = parse(o, &raw, settings, &argc, &argv);
    if (status == GO_ON && argc < 2)
        status = fail(STATUS_USAGE, "no PATH given; \"zkl lock --help\" has the options");
    if (status == GO_ON) {
        o->path = g_strdup(argv[1]);
        /* Once more, from PATH on, as if that were the program's name. */
        argc--;
        argv++;
        status = parse(o, &raw, settings, &argc, &argv);
    }
    if (status == GO_ON)
        status = check(o, &raw);
    if (status == GO_ON)
        status = take_command(o, &raw, argv + 1);
    o->name = raw.name;
    g_free(raw.shell_command);
    g_free(raw.parents);
    g_free(raw.on_lost);
    g_free(raw.on_suspect);
    g_free(raw.status_fd);
    g_free(raw.timeout);
    g_free(raw.grace);
    return status;
}

void lock_options_free(struct lock_options *o)
{
    g_free(o->path);
    g_free(o->name);
    g_strfreev(o->command);
    g_strfreev(o->on_lost);
}
