/* Parses the command line of zkl shards. */
#ifndef ZKL_TOOLS_SHARDS_OPTIONS_H
#define ZKL_TOOLS_SHARDS_OPTIONS_H

#include "lock_options.h"

struct shards_options {
    struct lock_options run;
    int count; /* how many shards there are */
    const char *id;
    char *data;
    int weight;
    int64_t drain_ms; /* from TERM to KILL */
};

/* Returns GO_ON, or a status after a message. Call lock_options_free(&o->run) in both cases. */
int shards_options_parse(struct shards_options *o, struct settings *settings, int argc,
                         char **argv);

#endif
