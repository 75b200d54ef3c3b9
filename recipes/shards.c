#include "shards.h"

static uint64_t add(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

uint64_t shard_weight(const char *id, uint64_t shard)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *id; id++)
        hash = add(hash, (unsigned char)*id);
    for (int i = 0; i < 8; i++)
        hash = add(hash, (unsigned char)(shard >> 8 * i & 0xff));
    return mix(hash);
}
