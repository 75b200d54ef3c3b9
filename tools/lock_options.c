/* The options that only zkl lock has: whose lock it is, and of which kind. */
#include "command_line.h"

#include <string.h>

static int check_peer(struct lock_options *o, const char *text)
{
    static const char *const names[] = {[ZKL_PEER_CURATOR] = "curator", [ZKL_PEER_KAZOO] = "kazoo"};

    for (size_t i = 0; text && i < G_N_ELEMENTS(names); i++) {
        if (strcmp(names[i], text) == 0) {
            o->peer = (zkl_peer)i;
            /* kazoo expects a directory to stay. */
            if (o->peer == ZKL_PEER_KAZOO)
                o->parents = ZKL_PARENTS_PERSISTENT;
            return GO_ON;
        }
    }
    return text ? fail(STATUS_USAGE, "--peer: must be curator or kazoo, not %s", text) : GO_ON;
}

static int check_on_revoke(struct lock_options *o, const char *text)
{
    o->hold.term_on_revoke = text && strcmp(text, "term") == 0;
    if (!text || o->hold.term_on_revoke || strcmp(text, "ignore") == 0)
        return GO_ON;
    return fail(STATUS_USAGE, "--on-revoke: must be ignore or term, not %s", text);
}

static int check_slots(struct lock_options *o, const char *text)
{
    if (!text)
        return GO_ON;
    if (option_count("--slots", text, &o->slots) != GO_ON)
        return STATUS_USAGE;
    if (o->shared || o->exclusive)
        return fail(STATUS_USAGE, "--slots: cannot be combined with -s or -x");
    if (o->hold.others)
        return fail(STATUS_USAGE, "--slots: cannot be combined with --and");
    if (o->peer != ZKL_PEER_CURATOR)
        return fail(STATUS_USAGE, "--slots: cannot be combined with --peer");
    return GO_ON;
}

int lock_options_parse(struct lock_options *o, struct settings *settings, int argc, char **argv)
{
    char *peer = NULL, *on_revoke = NULL, *slots = NULL;
    const GOptionEntry entries[] = {
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->name,
         "Name of this contender in zkl ls (host and process)", "NAME"},
        {"and", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->hold.others,
         "Lock PATH2 as well, all paths or none; can be repeated", "PATH2"},
        {"peer", 0, 0, G_OPTION_ARG_FILENAME, &peer,
         "Other locks on PATH: curator (default) or kazoo", "LIBRARY"},
        {"on-revoke", 0, 0, G_OPTION_ARG_FILENAME, &on_revoke,
         "When asked to give way (zkl revoke): ignore (default) or term", "WHAT"},
        {"shared", 's', 0, G_OPTION_ARG_NONE, &o->shared,
         "Share a read-write lock with other readers", NULL},
        {"exclusive", 'x', 0, G_OPTION_ARG_NONE, &o->exclusive,
         "Hold a read-write lock alone; without -s and -x: a mutex", NULL},
        {"slots", 0, 0, G_OPTION_ARG_FILENAME, &slots,
         "Take one of N slots of a semaphore; ZKL_SLOT is its number, from 0", "N"},
        {"exclusive", 'e', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &o->exclusive, NULL, NULL},
        G_OPTION_ENTRY_NULL};
    struct command_line line = {
        .settings = settings,
        .options = o,
        .verb = "lock",
        .synopsis = "lock PATH [--and PATH2...] [OPTION...] [--] COMMAND [ARG...] | -c STRING",
        .summary = "Runs COMMAND while it holds the lock PATH. Exits with the status of COMMAND.",
        .entries = entries,
    };
    int status = command_line_begin(&line, argc, argv);

    if (status == GO_ON)
        status = command_line_operand(&line, "PATH", &o->hold.path);
    if (status == GO_ON && o->shared && o->exclusive)
        status = fail(STATUS_USAGE, "-s and -x exclude each other");
    if (status == GO_ON && (o->shared || o->exclusive) && o->hold.others)
        status = fail(STATUS_USAGE, "--and: cannot be combined with -s or -x");
    if (status == GO_ON && o->name && !*o->name)
        status = fail(STATUS_USAGE, "--name: must not be empty");
    if (status == GO_ON)
        status = check_peer(o, peer);
    if (status == GO_ON && (o->shared || o->exclusive) && o->peer != ZKL_PEER_CURATOR)
        status = fail(STATUS_USAGE, "--peer %s: cannot be combined with -s or -x", peer);
    if (status == GO_ON)
        status = check_on_revoke(o, on_revoke);
    if (status == GO_ON)
        status = check_slots(o, slots);
    return status == GO_ON ? command_line_check(&line) : status;
}

void lock_options_free(struct lock_options *o)
{
    g_free(o->hold.others);
    g_strfreev(o->hold.argv);
    g_strfreev(o->hold.on_lost);
}
