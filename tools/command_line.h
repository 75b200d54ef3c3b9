/* A line that ends with a command, as zkl lock and zkl elect have it. Options may stand before each
 * operand, and end at the command's name. */
#ifndef ZKL_TOOLS_COMMAND_LINE_H
#define ZKL_TOOLS_COMMAND_LINE_H

#include "lock_options.h"

/* What the tables of options fill and nobody else needs. */
struct raw_options {
    gboolean nonblock;
    char *shell_command;
    char *parents;
    char *on_lost;
    char *on_suspect;
    char *on_outgrown;
    char *status_fd;
    char *timeout; /* text, so that "not given" is none of its values */
    char *grace;
    char *on_lost_timeout;
    char *kill_after;
};

struct command_line {
    struct settings *settings;
    struct lock_options *options;
    const char *verb;
    const char *synopsis;
    const char *summary;
    const GOptionEntry *entries; /* the verb's own */
    bool waits;                  /* for as long as it takes, for N locks: there are no -n, -w, -E */
    int conflict_status;         /* of -E if it is not given; 0: STATUS_CONFLICT */
    struct raw_options raw;
    int argc;
    char **argv;
    char **words; /* argv as it was in the beginning */
};

/* Each returns GO_ON, or a status after a message. */

/* The options before the first operand; the defaults of what is not given. */
int command_line_begin(struct command_line *l, int argc, char **argv);

/* The next operand, which is called what, and the options after it. */
int command_line_operand(struct command_line *l, const char *what, const char **ret);

/* Checks the options, and takes the command: what is left of the line, or the -c string. */
int command_line_check(struct command_line *l);

#endif
