/* The options that only zkl lock has: whose lock it is, and of which kind. */
#include "command_line.h"

/* The verb's own options as they were given, before they are checked. */
struct lock_raw {
    char *peer, *on_revoke, *slots;
};

/* Stores the options that were given as text, and refuses those that do not fit together. */
static int lock_options_check(struct lock_options *o, const struct lock_raw *raw)
{
    static const char *const peers[] = {
        [ZKL_PEER_CURATOR] = "curator", [ZKL_PEER_KAZOO] = "kazoo", NULL};
    static const char *const on_revoke[] = {"ignore", "term", NULL};
    const bool is_rwlock = o->shared || o->exclusive;
    int peer = ZKL_PEER_CURATOR, term = 0;

    if (o->shared && o->exclusive)
        return fail(STATUS_USAGE, "-s and -x exclude each other");
    if (is_rwlock && o->hold.others)
        return fail(STATUS_USAGE, "--and: cannot be combined with -s or -x");
    if (o->name && !*o->name)
        return fail(STATUS_USAGE, "--name: must not be empty");
    if (option_word("--peer", raw->peer, peers, &peer) != GO_ON)
        return STATUS_USAGE;
    o->peer = (zkl_peer)peer;
    /* kazoo expects a directory to stay. */
    if (o->peer == ZKL_PEER_KAZOO)
        o->parents = ZKL_PARENTS_PERSISTENT;
    if (is_rwlock && o->peer != ZKL_PEER_CURATOR)
        return fail(STATUS_USAGE, "--peer %s: cannot be combined with -s or -x", raw->peer);
    if (option_word("--on-revoke", raw->on_revoke, on_revoke, &term) != GO_ON ||
        option_count("--slots", raw->slots, &o->slots) != GO_ON)
        return STATUS_USAGE;
    o->hold.term_on_revoke = term != 0;
    if (o->slots > 0 && is_rwlock)
        return fail(STATUS_USAGE, "--slots: cannot be combined with -s or -x");
    if (o->slots > 0 && o->hold.others)
        return fail(STATUS_USAGE, "--slots: cannot be combined with --and");
    if (o->slots > 0 && o->peer != ZKL_PEER_CURATOR)
        return fail(STATUS_USAGE, "--slots: cannot be combined with --peer");
    return GO_ON;
}

int lock_options_parse(struct lock_options *o, struct settings *settings, int argc, char **argv)
{
    struct lock_raw raw = {NULL, NULL, NULL};
    const GOptionEntry entries[] = {
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->name,
         "Name of this contender in zkl ls (host and process)", "NAME"},
        {"and", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->hold.others,
         "Lock PATH2 as well, all paths or none; can be repeated", "PATH2"},
        {"peer", 0, 0, G_OPTION_ARG_FILENAME, &raw.peer,
         "Other locks on PATH: curator (default) or kazoo", "LIBRARY"},
        {"on-revoke", 0, 0, G_OPTION_ARG_FILENAME, &raw.on_revoke,
         "When asked to give way (zkl revoke): ignore (default) or term", "WHAT"},
        {"shared", 's', 0, G_OPTION_ARG_NONE, &o->shared,
         "Share a read-write lock with other readers", NULL},
        {"exclusive", 'x', 0, G_OPTION_ARG_NONE, &o->exclusive,
         "Hold a read-write lock alone; without -s and -x: a mutex", NULL},
        {"slots", 0, 0, G_OPTION_ARG_FILENAME, &raw.slots,
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
    if (status == GO_ON)
        status = lock_options_check(o, &raw);
    return status == GO_ON ? command_line_check(&line) : status;
}

void lock_options_free(struct lock_options *o)
{
    g_free(o->hold.others);
    g_strfreev(o->hold.argv);
    g_strfreev(o->hold.on_lost);
}
