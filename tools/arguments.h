/* The words of a command line, by tables of options. GLib's own parser takes --json=false for
 * --json, 010 for 8, and no -w5. */
#ifndef ZKL_TOOLS_ARGUMENTS_H
#define ZKL_TOOLS_ARGUMENTS_H

#include "tool.h"

/* Takes the options after argv[0], up to the first operand or behind "--", and moves on so that
 * argv[1] is what follows them. tables ends with NULL; its options are flags, whole numbers, times
 * (G_OPTION_ARG_INT64, in milliseconds), texts (G_OPTION_ARG_FILENAME) and lists of them
 * (G_OPTION_ARG_FILENAME_ARRAY). All texts are argv's own; the caller frees a list itself.
 * GO_ON, or STATUS_USAGE after a message. */
int arguments_parse(const GOptionEntry *const *tables, int *argc, char ***argv);

#endif
