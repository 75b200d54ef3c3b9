/* The credentials of the tool, where its guard finds them when the tool is dead: in memory that no
 * core dump contains. */
#ifndef ZKL_TOOLS_CREDENTIALS_SHARED_H
#define ZKL_TOOLS_CREDENTIALS_SHARED_H

#include "tool.h"

/* Maps the memory. Call it before the fork of the process that may have to end the session. Returns
 * false with errno set. */
bool credentials_share(void);

/* Copies credentials, an array of zkl_credential, into the memory for that process. Does nothing
 * without credentials_share(). */
void credentials_leave(const GArray *credentials);

/* Returns what is in the memory, if anything: an array of zkl_credential, whose texts are those of
 * the memory. The caller frees the array. */
GArray *credentials_shared(void);

/* Unmaps the memory in this process, which does not need it any more. */
void credentials_unshare(void);

#endif
