/* What the command is told about its lock. */
#ifndef ZKL_TOOLS_ENVIRONMENT_H
#define ZKL_TOOLS_ENVIRONMENT_H

#include <zkl.h>

#include "hold_options.h"

/* The nodes and tokens of grant, for command_environment(), in another process perhaps; g_free()
 * frees it. */
char *grant_text(const zkl_grant *grant);

/* Ours with ZKL_CONNECT where --connect was given, ZKL_PATH, ZKL_NODE, ZKL_TOKEN and ZKL_SESSION
 * set, in an election ZKL_CANDIDATE, and with a slot, which is not below 0, ZKL_SLOT; of several
 * paths ZKL_PATHS, ZKL_NODES and ZKL_TOKENS have all, a line each, the first one first.
 * g_strfreev() frees it. */
char **command_environment(const struct hold_options *o, const char *grant_text, uint64_t token,
                           int64_t session_id, int slot);

#endif
