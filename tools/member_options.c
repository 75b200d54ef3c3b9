/* The operands are PATH and ID before the command; or PATH alone, with --list or --listen. */
#include "member_options.h"
#include "command_line.h"

/* The verb's own options as they were given, before they are checked. */
struct member_raw {
    gboolean list, listen;
    char *layout;
};

/* Checks which of its works the verb is to do, and the layout. */
static int member_options_check_mode(struct member_options *o, const struct member_raw *raw)
{
    static const char *const layouts[] = {
        [ZKL_MEMBER_GROUP] = "group", [ZKL_MEMBER_PARTY] = "party", NULL};
    int layout = ZKL_MEMBER_GROUP;

    if (raw->list && raw->listen)
        return fail(STATUS_USAGE, "--list and --listen exclude each other");
    o->mode = raw->listen ? MEMBER_LISTEN : raw->list ? MEMBER_LIST : MEMBER_RUN;
    if (o->json && o->mode == MEMBER_RUN)
        return fail(STATUS_USAGE, "--json needs --list or --listen");
    if (o->data && o->mode != MEMBER_RUN)
        return fail(STATUS_USAGE, "--data: --list and --listen are no members");
    if (option_word("--layout", raw->layout, layouts, &layout) != GO_ON)
        return STATUS_USAGE;
    o->layout = (zkl_member_layout)layout;
    /* kazoo expects a directory to stay. */
    if (layout == ZKL_MEMBER_PARTY)
        o->run.parents = ZKL_PARENTS_PERSISTENT;
    return GO_ON;
}

/* Refuses what is left of the line, and options, that --list and --listen do not take. */
static int refuse_rest(const struct command_line *l, const struct member_raw *raw)
{
    const char *too_much = l->argc > 1 ? l->argv[1] : l->raw.shell_command;

    if (too_much)
        return fail(STATUS_USAGE, "%s: --list and --listen take one PATH and no command", too_much);
    if (command_line_is_for_command(l))
        return fail(STATUS_USAGE, "%s: only --layout and --json can be given with it",
                    raw->list ? "--list" : "--listen");
    return GO_ON;
}

/* Takes ID, checks all options of a member, and takes its command. */
static int take_member(struct member_options *o, struct command_line *l,
                       const struct member_raw *raw)
{
    int status = command_line_operand(l, "ID", &o->id);

    /* --list or --listen may have stood after ID. */
    if (status == GO_ON)
        status = member_options_check_mode(o, raw);
    if (status == GO_ON && o->mode != MEMBER_RUN)
        return fail(STATUS_USAGE, "%s: --list and --listen take one PATH and no command", o->id);
    if (status == GO_ON && o->data && o->layout == ZKL_MEMBER_PARTY)
        return fail(STATUS_USAGE, "--data: a member of a party has none");
    return status == GO_ON ? command_line_check(l) : status;
}

int member_options_parse(struct member_options *o, struct settings *settings, int argc, char **argv)
{
    struct member_raw raw = {.list = FALSE};
    const GOptionEntry entries[] = {
        {"data", 0, 0, G_OPTION_ARG_FILENAME, &o->data, "What the member's node holds", "STRING"},
        {"layout", 0, 0, G_OPTION_ARG_FILENAME, &raw.layout,
         "How members are stored: group (default) or party", "LAYOUT"},
        {"list", 0, 0, G_OPTION_ARG_NONE, &raw.list, "Write the members, and exit; runs no command",
         NULL},
        {"listen", 0, 0, G_OPTION_ARG_NONE, &raw.listen,
         "Write a line for each change; runs no command", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Write one JSON object a line", NULL},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = &o->run,
        .verb = "member",
        .synopsis = "member PATH ID [OPTION...] [--] COMMAND [ARG...] | -c STRING",
        .summary = "Runs COMMAND while it is the member ID of the group PATH. Exits with its "
                   "status.\nWith --list PATH or --listen PATH, shows the members.",
        .entries = entries,
    };

    *o = (struct member_options){.mode = MEMBER_RUN};
    int status = command_line_begin(&line, argc, argv);
    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->run.hold.path);
    if (status == GO_ON)
        status = member_options_check_mode(o, &raw);
    if (status != GO_ON)
        return status;
    return o->mode == MEMBER_RUN ? take_member(o, &line, &raw) : refuse_rest(&line, &raw);
}
