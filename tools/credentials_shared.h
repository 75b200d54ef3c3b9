/* The credentials of the tool, where its guard finds them when the tool is dead: in memory that no
 * core dump contains. */
#ifndef ZKL_TOOLS_CREDENTIALS_SHARED_H
#define ZKL_TOOLS_CREDENTIALS_SHARED_H

#include "tool.h"

/* Is called before the fork of the process that may have to end the session. false with errno
 * set. */
bool credentials_share(void);

/* Leaves that process what it needs: an array of zkl_credential. Without credentials_share() nobody
 * gets them. */
void credentials_leave(const GArray *credentials);

/* What was left, if anything: an array of zkl_credential, whose texts are those of the memory. The
 * caller frees it. */
GArray *credentials_shared(void);

/* This process needs them no more. */
void credentials_unshare(void);

#endif
