/* The file of a shard: it is locked while somebody works on the shard, and has a line for each who
 * did. What must not be is written to the file "overlaps". */
#ifndef LIVE_SHARD_FILE_H
#define LIVE_SHARD_FILE_H

#include <stdint.h>

/* Opens and locks the file of the shard, in the present folder, and adds the line of a host that
 * works on it with that token. Returns a descriptor: to close it unlocks the file. */
int shard_file_take(int shard, const char *host, uint64_t token);

#endif
