/* Parses the command line of zkl elect. */
#ifndef ZKL_TOOLS_ELECT_OPTIONS_H
#define ZKL_TOOLS_ELECT_OPTIONS_H

#include "lock_options.h"

enum elect_mode { ELECT_RUN, ELECT_LISTEN, ELECT_LEADER };

struct elect_options {
    struct lock_options run; /* --listen and --leader use hold.path alone */
    enum elect_mode mode;
    zkl_election_options election;
    gboolean once;
    gboolean json;
};

/* Returns GO_ON, or a status after a message. Call lock_options_free(&o->run) in both cases. */
int elect_options_parse(struct elect_options *o, struct settings *settings, int argc, char **argv);

#endif
