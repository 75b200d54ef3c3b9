/* Reads and shows the names of a path's children, of any kind: for people, and for shells that
 * complete paths. */
#ifndef ZKL_TOOLS_CHILDREN_H
#define ZKL_TOOLS_CHILDREN_H

#include "tool.h"

/* Reads the names of path's children, sorted, into *ret, which the caller frees. path may be "/".
 * Waits --connect-timeout at most. Returns STATUS_OK; STATUS_CONFLICT, without a message, if there
 * is no such path; or another status after a message. */
int children_read(const struct settings *settings, zkl_session *session, const char *path,
                  GPtrArray **ret);

/* Says that there is no such path; returns STATUS_CONFLICT. */
int say_path_is_missing(const char *path);

/* Writes the names of path's children, sorted, a line each or as a JSON array. path may be "/".
 * Returns the exit status, after a message if it is not STATUS_OK. */
int children_show(const struct settings *settings, zkl_session *session, const char *path,
                  bool json);

#endif
