/* What the command is told about its lock. */
#ifndef ZKL_TOOLS_ENVIRONMENT_H
#define ZKL_TOOLS_ENVIRONMENT_H

#include "hold_options.h"

/* Ours with ZKL_PATH, ZKL_NODE, ZKL_TOKEN and ZKL_SESSION set, in an election ZKL_CANDIDATE, and
 * with a slot, which is not below 0, ZKL_SLOT; g_strfreev() frees it. */
char **command_environment(const struct hold_options *o, const char *node, uint64_t token,
                           int64_t session_id, int slot);

#endif
