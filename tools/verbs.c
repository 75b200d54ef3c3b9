/* The verbs of the command. The fuzz target has others in their place. */
#include "tool.h"

const struct verb verbs[] = {
    {"break", verb_break, "remove a contender by force"},
    {"elect", verb_elect, "run a command while leading; show who leads"},
    {"limit", verb_limit, "show or set how many slots a semaphore has"},
    {"lock", verb_lock, "run a command while holding a lock"},
    {"ls", verb_ls, "show who holds a lock and who waits"},
    {"member", verb_member, "run a command as a member of a group; show the members"},
    {"once", verb_once, "run a command once on all hosts, or once a period"},
    {"revoke", verb_revoke, "ask the holder of a lock to give way"},
    {"shards", verb_shards, "run a command for each shard of work that this host has"},
    {"watch", verb_watch, "show who holds a lock and who waits, as it changes"},
    {NULL, NULL, NULL},
};
