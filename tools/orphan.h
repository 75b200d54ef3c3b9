/* The session of a zkl that is dead. */
#ifndef ZKL_TOOLS_ORPHAN_H
#define ZKL_TOOLS_ORPHAN_H

#include "tool.h"

/* Lets another process, which outlives us for a while, end the session, so that its nodes go at
 * once. Call this when nothing runs any more that worked under its locks, in a process of one
 * thread. */
void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim);

#endif
