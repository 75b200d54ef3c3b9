/* Ends the session of a zkl that is dead. */
#ifndef ZKL_TOOLS_ORPHAN_H
#define ZKL_TOOLS_ORPHAN_H

#include "tool.h"

/* Forks a process that ends the session, and outlives us for that, so that the session's nodes go
 * at once. Call this in a process of one thread, when nothing runs any more that worked under the
 * session's locks. */
void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim);

#endif
