/* The session of a zkl that is dead. */
#ifndef ZKL_TOOLS_ORPHAN_H
#define ZKL_TOOLS_ORPHAN_H

#include "tool.h"

/* Has it ended by a process that outlives us for a while, so that its nodes go at once: when
 * nothing runs any more that worked under its locks. By a process of one thread. */
void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim);

#endif
