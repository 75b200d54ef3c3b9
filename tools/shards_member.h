/* The member of zkl shards, in a process of its own: the one that forks has neither threads nor a
 * session. */
#ifndef ZKL_TOOLS_SHARDS_MEMBER_H
#define ZKL_TOOLS_SHARDS_MEMBER_H

#include "events.h"
#include "shards_options.h"
#include "shards_report.h"

/* Joins PATH/members, and reports which shards are this member's; wakes above at each change. Until
 * a signal or a failure, whose exit status it returns. */
int shards_member_run(const struct settings *settings, const struct shards_options *options,
                      struct events *events, struct events *above, struct shards_report *report);

#endif
