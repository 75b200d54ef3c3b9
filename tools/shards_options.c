/* The operands are PATH and N before the command. */
#include "shards_options.h"
#include "command_line.h"

#define DRAIN_DEFAULT_MS 10000
#define SHARDS_MAX 65536

int shards_options_parse(struct shards_options *o, struct settings *settings, int argc, char **argv)
{
    char *id = NULL;
    const char *number = NULL;
    guint64 count = 0;
    const GOptionEntry entries[] = {
        {"id", 0, 0, G_OPTION_ARG_FILENAME, &id,
         "The name of this member, which keeps its shards (host name)", "ID"},
        {"weight", 0, 0, G_OPTION_ARG_INT, &o->weight,
         "This host's part of the shards, against others' (1)", "N"},
        {"data", 0, 0, G_OPTION_ARG_FILENAME, &o->data, "What the member's node holds", "STRING"},
        {"drain", 0, 0, G_OPTION_ARG_INT64, &o->drain_ms,
         "KILL a command that has not ended SECS after TERM (10)", "SECS"},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = &o->run,
        .verb = "shards",
        .synopsis = "shards PATH N [OPTION...] [--] COMMAND [ARG...] | -c STRING",
        .summary = "Shares N shards out among the hosts that run this at PATH. Runs COMMAND for "
                   "each shard that this host has,\nwith its number, from 0, in ZKL_SHARD, while "
                   "it holds the shard's lock.",
        .entries = entries,
        .waits = true,
    };

    *o = (struct shards_options){.drain_ms = DRAIN_DEFAULT_MS, .weight = 1};
    int status = command_line_begin(&line, argc, argv);
    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->run.hold.path);
    if (status == GO_ON)
        status = command_line_operand(&line, "N", &number);
    if (status == GO_ON && !g_ascii_string_to_unsigned(number, 10, 1, SHARDS_MAX, &count, NULL))
        status = fail(STATUS_USAGE, "N: must be 1 to %d, not %s", SHARDS_MAX, number);
    o->count = (int)count;
    if (status == GO_ON && (o->weight < 1 || o->weight > ZKL_SHARDS_WEIGHT_MAX))
        status = fail(STATUS_USAGE, "--weight: must be 1 to %d, not %d", ZKL_SHARDS_WEIGHT_MAX,
                      o->weight);
    if (status == GO_ON)
        status = command_line_check(&line);
    o->id = id ? id : g_get_host_name();
    return status;
}
