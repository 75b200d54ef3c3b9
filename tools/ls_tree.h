/* zkl ls -r: every queue below a path, a line each. */
#ifndef ZKL_TOOLS_LS_TREE_H
#define ZKL_TOOLS_LS_TREE_H

#include "tool.h"

/* Writes who holds and how many wait at path, which may be "/", and everywhere below it; each
 * request may take --connect-timeout. The exit status; after a message if it is not STATUS_OK. */
int ls_tree_show(const struct settings *settings, zkl_session *session, const char *path,
                 bool json);

#endif
