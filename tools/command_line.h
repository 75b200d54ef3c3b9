/* Parses a command line that ends with a command to run, as for zkl lock and zkl elect. Options may
 * stand before each operand, and end at the command's name. */
#ifndef ZKL_TOOLS_COMMAND_LINE_H
#define ZKL_TOOLS_COMMAND_LINE_H

#include "lock_options.h"

/* The options as they were given, before they are checked. */
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
    bool waits;                  /* without a limit, for N locks: there are no -n, -w, -E */
    int conflict_status;         /* the exit status without -E; 0: STATUS_CONFLICT */
    struct raw_options raw;
    int argc;
    char **argv;
    char **words; /* the argv that command_line_begin() got */
};

/* Each of these functions returns GO_ON, or a status after a message. */

/* Sets the defaults, and parses the options before the first operand. */
int command_line_begin(struct command_line *l, int argc, char **argv);

/* Takes the next operand, and parses the options after it. what names the operand in messages. */
int command_line_operand(struct command_line *l, const char *what, const char **ret);

/* Whether an option was given that means nothing to what runs no command. */
bool command_line_is_for_command(const struct command_line *l);

/* Checks the options, and takes the command: what is left of the line, or the -c string. */
int command_line_check(struct command_line *l);

#endif
