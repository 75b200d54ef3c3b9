/* Which of the members owns a shard. */
#include <zkl.h>

#include "recipes/shards.h"

const zkl_member_info *zkl_shard_owner(const zkl_members *ms, uint64_t shard)
{
    const zkl_member_info *owner = NULL;
    uint64_t highest = 0;

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        const zkl_member_info *m = zkl_members_get(ms, i);
        const uint64_t weight = shard_weight(m->id, shard);

        /* Of equal ones the first: everybody has them in the same order. */
        if (!owner || weight > highest) {
            owner = m;
            highest = weight;
        }
    }
    return owner;
}
