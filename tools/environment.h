/* What the command is told about its lock. */
#ifndef ZKL_TOOLS_ENVIRONMENT_H
#define ZKL_TOOLS_ENVIRONMENT_H

#include <zkl.h>

/* Ours with ZKL_PATH, ZKL_NODE, ZKL_TOKEN and ZKL_SESSION set; g_strfreev() frees it. */
char **command_environment(const char *path, const zkl_grant *grant);

#endif
