/* The session of a zkl that is dead. */
#ifndef ZKL_TOOLS_ORPHAN_H
#define ZKL_TOOLS_ORPHAN_H

#include "tool.h"

/* Before the fork of who is to end it. false with errno set. */
bool orphan_prepare(void);

/* What it needs for that: an array of zkl_credential. Without orphan_prepare() nobody gets them. */
void orphan_leave_credentials(const GArray *credentials);

/* This process does not end it. */
void orphan_forget(void);

/* Lets another process, which outlives us for a while, end the session, so that its nodes go at
 * once. Call this when nothing runs any more that worked under its locks, in a process of one
 * thread. */
void orphan_end_session(const struct settings *settings, const zkl_session_claim *claim);

#endif
