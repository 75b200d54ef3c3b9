/* Shares shards out among hosts: weighted rendezvous hashing with bounded loads.
 *
 * Each pair of a host and a shard has a score. A shard would be with the host for which its score
 * is lowest; a host that has more than it may gives up those with the highest scores, which go to
 * the next best. The result is the same in whatever order this is done (it is the stable matching
 * of Gale and Shapley, since both sides go by the same scores). At last a host that has too little
 * takes the shards of the lowest score from hosts that have enough. docs/design/shards.md says what
 * then holds.
 *
 * None of it ever changes: programs of all versions, and in other languages, must agree on it. So
 * the numbers are integers. */
#ifndef RECIPES_SHARDS_H
#define RECIPES_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the hash of a pair: FNV-1a with 64 bits of the id and then of the shard's eight bytes,
 * the lowest first. The end of MurmurHash3 mixes the result, since FNV alone leaves similar ids in
 * order. */
uint64_t shard_hash(const char *id, uint64_t shard);

/* Returns the score, -ln(hash / 2^64) / weight: if two hosts have the weights v and w, the first
 * has the lower score in v of v + w cases. The score has 56 binary places. The last 24 are only the
 * division's. */
uint64_t shard_score(uint64_t hash, uint32_t weight);

enum { SHARDS_MAX = 65536, SHARDS_WEIGHT_MAX = 1000 };

struct shards_host {
    const char *id;
    uint32_t weight; /* 1 to SHARDS_WEIGHT_MAX */
    uint32_t count;  /* it takes the shards with numbers below that, 1 to SHARDS_MAX */
    /* while the plan is made */
    uint64_t hash; /* the hash of .id */
    uint32_t most, least, has;
    uint32_t first; /* the first of its shards */
};

struct shards_shard {
    uint32_t owner; /* the number of its host */
    uint32_t next;  /* the next one of its owner's shards */
    uint64_t score; /* the score of the owner and this shard */
};

/* Shares out the shards: as many as the highest count. The hosts are in an order that all know.
 * Shards that the same hosts take are shared out apart from all others. If some hosts take 64 and
 * others 128, these are the shards below 64, and those from 64 to 127. */
void shards_plan(struct shards_host *hosts, uint32_t host_count, struct shards_shard *shards);

/* Reads the count and the weight of a member from the last line of its data. Returns false if that
 * line is none. */
bool shards_read(const char *data, size_t size, struct shards_host *ret);

#endif
