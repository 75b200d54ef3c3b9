/* The environment of the command, which tells it about its lock. */
#ifndef ZKL_TOOLS_ENVIRONMENT_H
#define ZKL_TOOLS_ENVIRONMENT_H

#include <zkl.h>

#include "hold_options.h"

/* Returns the nodes and tokens of grant as a text for command_environment(), perhaps in another
 * process. g_free() frees it. */
char *grant_text(const zkl_grant *grant);

/* Returns our environment with more variables. These are ZKL_PATH, ZKL_NODE, ZKL_TOKEN and
 * ZKL_SESSION, ZKL_CONNECT if --connect was given, ZKL_CANDIDATE in an election, and ZKL_SLOT with
 * a slot, which is not below 0. With several paths ZKL_PATHS, ZKL_NODES and ZKL_TOKENS have all of
 * them, a line each, the first path first. g_strfreev() frees it. */
char **command_environment(const struct hold_options *o, const char *grant_text, uint64_t token,
                           int64_t session_id, int slot);

#endif
