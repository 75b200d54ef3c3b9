/* Values written against their letter, as getopt(3) takes them and GLib does not: -w5, -nE5. */
#ifndef ZKL_TOOLS_ATTACHED_H
#define ZKL_TOOLS_ATTACHED_H

#include "tool.h"

/* Replaces *argv by a copy in which such a value is a word of its own, up to the first operand.
 * tables ends with NULL; what is made is added to made, which frees it. */
void attached_split(const GOptionEntry *const *tables, int *argc, char ***argv, GPtrArray *made);

#endif
