/* One shard of zkl shards, in a process of its own: a guard is forked before there are threads. */
#ifndef ZKL_TOOLS_SHARD_H
#define ZKL_TOOLS_SHARD_H

#include "events.h"
#include "shards_options.h"
#include "shards_report.h"

/* Waits for the lock of that shard, and runs the command under it, as zkl lock does; wakes above at
 * each change of the report. events has just been opened. Returns the exit status. */
int shard_run(const struct settings *settings, const struct shards_options *options, int number,
              struct events *events, struct events *above, struct shard_report *report);

#endif
