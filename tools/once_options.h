/* Parses the command line of zkl once. */
#ifndef ZKL_TOOLS_ONCE_OPTIONS_H
#define ZKL_TOOLS_ONCE_OPTIONS_H

#include "lock_options.h"

struct once_options {
    struct lock_options run; /* --status and --reset use hold.path and metrics_file alone */
    int64_t period_ms;       /* 0: once for all */
    int64_t slack_ms;        /* 0: the library's default */
    char *calendar;          /* NULL: none */
    char *zone;              /* NULL: UTC */
    int64_t late_ms;         /* 0: the library's default */
    gboolean status, reset, json;
    int done_status; /* the exit status if another run counts */
};

/* Returns GO_ON, or a status after a message. Call lock_options_free(&o->run) in both cases. */
int once_options_parse(struct once_options *o, struct settings *settings, int argc, char **argv);

#endif
