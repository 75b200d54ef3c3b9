/* Parses the command line of zkl member. */
#ifndef ZKL_TOOLS_MEMBER_OPTIONS_H
#define ZKL_TOOLS_MEMBER_OPTIONS_H

#include "lock_options.h"

enum member_mode { MEMBER_RUN, MEMBER_LIST, MEMBER_LISTEN };

struct member_options {
    struct lock_options run; /* --list and --listen use hold.path alone */
    enum member_mode mode;
    const char *id;
    char *data;
    zkl_member_layout layout;
    gboolean json;
};

/* Returns GO_ON, or a status after a message. Call lock_options_free(&o->run) in both cases. */
int member_options_parse(struct member_options *o, struct settings *settings, int argc,
                         char **argv);

#endif
