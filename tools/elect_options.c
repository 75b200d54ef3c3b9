/* The operands are PATH and ID before the command; or PATH alone, with --listen or --leader. */
#include "elect_options.h"
#include "command_line.h"

/* The verb's own options as they were given, before they are checked. */
struct elect_raw {
    gboolean listen;
    gboolean leader;
    char *layout;
};

/* Checks which of its works the verb is to do, and the layout. */
static int elect_options_check_mode(struct elect_options *o, const struct elect_raw *raw)
{
    static const char *const layouts[] = {[ZKL_LAYOUT_LATCH] = "latch",
                                          [ZKL_LAYOUT_SELECTOR] = "selector",
                                          [ZKL_LAYOUT_KAZOO] = "kazoo",
                                          NULL};
    int layout = ZKL_LAYOUT_LATCH;

    if (raw->listen && raw->leader)
        return fail(STATUS_USAGE, "--listen and --leader exclude each other");
    o->mode = raw->listen ? ELECT_LISTEN : raw->leader ? ELECT_LEADER : ELECT_RUN;
    if (o->json && o->mode == ELECT_RUN)
        return fail(STATUS_USAGE, "--json needs --listen or --leader");
    if (option_word("--layout", raw->layout, layouts, &layout) != GO_ON)
        return STATUS_USAGE;
    o->election.layout = (zkl_layout)layout;
    /* kazoo expects a directory to stay. */
    if (layout == ZKL_LAYOUT_KAZOO)
        o->run.parents = ZKL_PARENTS_PERSISTENT;
    return GO_ON;
}

/* Refuses options that contradict each other: a candidate that steps down queues again, and one
 * that queues again has no time limit. */
static int check_terms(const struct elect_options *o)
{
    if (o->once && o->election.yield)
        return fail(STATUS_USAGE, "--once and --yield exclude each other");
    if (!o->once && (o->run.timeout_ms != ZKL_FOREVER || o->run.conflict_status != STATUS_CONFLICT))
        return fail(STATUS_USAGE, "-n, -w and -E need --once");
    if (o->election.priority < 0 || o->election.priority > 999)
        return fail(STATUS_USAGE, "--priority: must be 0 to 999, not %d", o->election.priority);
    if (o->election.priority > 0 && o->election.layout == ZKL_LAYOUT_KAZOO)
        return fail(STATUS_USAGE, "--priority: kazoo's layout has no priorities");
    return GO_ON;
}

/* Refuses what is left of the line, and options, that --listen and --leader do not take. */
static int check_rest(const struct elect_options *o, const struct command_line *l,
                      const struct elect_raw *raw)
{
    const char *too_much = l->argc > 1 ? l->argv[1] : l->raw.shell_command;

    if (too_much)
        return fail(STATUS_USAGE, "%s: --listen and --leader take one PATH and no command",
                    too_much);
    /* Only a candidate or its command has these options. */
    if (o->once || o->election.priority != 0 || o->election.yield || command_line_is_for_command(l))
        return fail(STATUS_USAGE, "%s: only --layout and --json can be given with it",
                    raw->listen ? "--listen" : "--leader");
    return GO_ON;
}

/* Takes ID, checks all options of a candidate, and takes its command. */
static int take_candidate(struct elect_options *o, struct command_line *l,
                          const struct elect_raw *raw)
{
    int status = command_line_operand(l, "ID", &o->run.hold.candidate);
    const char *id = o->run.hold.candidate;

    if (status == GO_ON && !*id)
        status = fail(STATUS_USAGE, "ID must not be empty");
    if (status == GO_ON && !g_utf8_validate(id, -1, NULL))
        status = fail(STATUS_USAGE, "ID must be UTF-8: %s", id);
    /* --listen or --leader may have stood after ID. */
    if (status == GO_ON)
        status = elect_options_check_mode(o, raw);
    if (status == GO_ON && o->mode != ELECT_RUN)
        return fail(STATUS_USAGE, "%s: --listen and --leader take one PATH and no command", id);
    if (status == GO_ON)
        status = command_line_check(l);
    if (status == GO_ON)
        status = check_terms(o);
    o->election.once = 1; /* each term has a process and an election of its own */
    o->election.parents = o->run.parents;
    return status;
}

int elect_options_parse(struct elect_options *o, struct settings *settings, int argc, char **argv)
{
    const zkl_election_options standard = ZKL_ELECTION_OPTIONS_INIT;
    struct elect_raw raw = {0};
    const GOptionEntry entries[] = {
        {"once", 0, 0, G_OPTION_ARG_NONE, &o->once, "Lead once, then exit like zkl lock", NULL},
        {"layout", 0, 0, G_OPTION_ARG_FILENAME, &raw.layout,
         "Names of the nodes: latch (default), selector or kazoo", "LAYOUT"},
        {"priority", 0, 0, G_OPTION_ARG_INT, &o->election.priority,
         "Priority of this candidate, 0 to 999 (0); see --yield", "N"},
        {"yield", 0, 0, G_OPTION_ARG_NONE, &o->election.yield,
         "Step down if a candidate of higher priority waits", NULL},
        {"listen", 0, 0, G_OPTION_ARG_NONE, &raw.listen,
         "Write a line for each change of leader; runs no command", NULL},
        {"leader", 0, 0, G_OPTION_ARG_NONE, &raw.leader,
         "Write the leader and exit; runs no command", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Write one JSON object a line", NULL},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = &o->run,
        .verb = "elect",
        .synopsis = "elect PATH ID [OPTION...] [--] COMMAND [ARG...] | -c STRING",
        .summary = "Runs COMMAND while the candidate ID leads at PATH, and queues again after it "
                   "was deposed. -n, -w and -E need --once.\nWith --listen PATH or --leader "
                   "PATH, shows who leads.",
        .entries = entries,
    };

    *o = (struct elect_options){.election = standard};
    int status = command_line_begin(&line, argc, argv);
    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->run.hold.path);
    if (status == GO_ON)
        status = elect_options_check_mode(o, &raw);
    if (status != GO_ON)
        return status;
    return o->mode == ELECT_RUN ? take_candidate(o, &line, &raw) : check_rest(o, &line, &raw);
}
