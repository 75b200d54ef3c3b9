/* Shares shards out among members by rendezvous hashing. Each member has a weight for each shard,
 * and the heaviest one is the shard's owner. A member that joins so takes about 1/n of the shards,
 * and none changes hands between two others; one that leaves gives up its own alone.
 *
 * The weight never changes: programs of all versions, and in other languages, must agree on it. */
#ifndef RECIPES_SHARDS_H
#define RECIPES_SHARDS_H

#include <stdint.h>

/* FNV-1a with 64 bits of the id and then the shard's eight bytes, the lowest first; mixed by the
 * end of MurmurHash3, since FNV alone leaves ids that are alike in order. */
uint64_t shard_weight(const char *id, uint64_t shard);

#endif
