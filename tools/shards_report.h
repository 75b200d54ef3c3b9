/* What the processes of zkl shards tell the first of them: memory mapped before the forks, behind
 * which they wake it. */
#ifndef ZKL_TOOLS_SHARDS_REPORT_H
#define ZKL_TOOLS_SHARDS_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shard_report {
    atomic_bool owned; /* by the member's process; the others by the shard's: */
    atomic_bool granted;
    atomic_bool wanted;  /* another contender waits for its lock */
    atomic_bool revoked; /* it was asked to give way */
    atomic_int cause;    /* an exit_cause: why the command has ended */
    _Atomic uint64_t token;
};

struct shards_report {
    atomic_bool confirmed;           /* the last view of the members has us in it, as we are */
    _Atomic int64_t confirmed_since; /* since when it is so, or is not */
    struct shard_report shards[];
};

#endif
