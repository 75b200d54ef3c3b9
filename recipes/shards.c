#include "shards.h"

#include <string.h>

#include "limit.h"

#define NONE UINT32_MAX

/* ---- scores ---- */

static uint64_t shards_add(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t hash_id(const char *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *id; id++)
        hash = shards_add(hash, (unsigned char)*id);
    return hash;
}

static uint64_t hash_shard(uint64_t hash, uint64_t shard)
{
    for (int i = 0; i < 8; i++)
        hash = shards_add(hash, (unsigned char)(shard >> 8 * i & 0xff));
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

uint64_t shard_hash(const char *id, uint64_t shard)
{
    return hash_shard(hash_id(id), shard);
}

#define ONE (UINT64_C(1) << 32)
#define LN_2 UINT64_C(2977044472) /* ln 2, in parts of ONE */

/* Returns -ln(x / ONE) for x from ONE / 2 to ONE - 1, by the series of the area tangent of (ONE -
 * x) / (ONE + x). The error is less than a millionth, and the result falls wherever x rises. */
static uint64_t minus_ln(uint64_t x)
{
    const uint64_t s = (ONE - x) * ONE / (ONE + x), q = s * s / ONE;
    uint64_t sum = ONE / 9;

    for (uint64_t i = 7; i != 1; i -= 2)
        sum = ONE / i + q * sum / ONE;
    sum = ONE + q * sum / ONE;
    return 2 * (s * sum / ONE);
}

uint64_t shard_score(uint64_t hash, uint32_t weight)
{
    uint64_t halvings = 0;

    for (hash |= 1; !(hash >> 63); hash <<= 1)
        halvings++;
    return ((halvings * LN_2 + minus_ln(hash / ONE)) << 24) / weight;
}

static uint64_t score_for(const struct shards_host *h, uint32_t shard)
{
    return shard_score(hash_shard(h->hash, shard), h->weight);
}

/* ---- one range of shards, which the same hosts take ---- */

struct range {
    struct shards_host *hosts;
    uint32_t host_count;
    struct shards_shard *shards;
    uint32_t from, to;
};

static bool takes_range(const struct range *r, const struct shards_host *h)
{
    return h->count > r->from;
}

/* Sets how many shards each host may have, and must have. A host may have 1.25 times its share,
 * rounded up; but one shard if its share is one at most. It must have half of its share, rounded
 * down; but one shard if its share is one at least. */
static void set_bounds(const struct range *r)
{
    const uint64_t count = r->to - r->from;
    uint64_t all = 0;

    for (uint32_t i = 0; i < r->host_count; i++)
        all += takes_range(r, &r->hosts[i]) ? r->hosts[i].weight : 0;
    for (uint32_t i = 0; i < r->host_count; i++) {
        struct shards_host *h = &r->hosts[i];
        const uint64_t share = count * h->weight; /* the share times all */
        h->most = share <= all ? 1 : (uint32_t)((5 * share + 4 * all - 1) / (4 * all));
        h->least = share / 2 < all ? share >= all : (uint32_t)(share / 2 / all);
        h->has = 0;
        h->first = NONE;
    }
}

static void hand_to(const struct range *r, uint32_t shard, uint32_t owner, uint64_t score)
{
    r->shards[shard] = (struct shards_shard){owner, r->hosts[owner].first, score};
    r->hosts[owner].first = shard;
    r->hosts[owner].has++;
}

static void hand_back(const struct range *r, uint32_t shard)
{
    struct shards_host *h = &r->hosts[r->shards[shard].owner];
    uint32_t *at = &h->first;

    while (*at != shard)
        at = &r->shards[*at].next;
    *at = r->shards[shard].next;
    h->has--;
}

/* Hands the shard to the best of the hosts that come after its present one. */
static void offer_on(const struct range *r, uint32_t shard)
{
    const struct shards_shard before = r->shards[shard];
    uint32_t best = NONE;
    uint64_t lowest = 0;

    for (uint32_t i = 0; i < r->host_count; i++) {
        if (!takes_range(r, &r->hosts[i]))
            continue;
        const uint64_t s = score_for(&r->hosts[i], shard);
        const bool is_next =
            before.owner == NONE || s > before.score || (s == before.score && i > before.owner);
        if (is_next && (best == NONE || s < lowest)) {
            best = i;
            lowest = s;
        }
    }
    hand_to(r, shard, best, lowest);
}

/* Returns the shard of the host that has the highest score. */
static uint32_t worst_of(const struct range *r, const struct shards_host *h)
{
    uint32_t worst = h->first;

    for (uint32_t k = h->first; k != NONE; k = r->shards[k].next)
        if (r->shards[k].score > r->shards[worst].score ||
            (r->shards[k].score == r->shards[worst].score && k > worst))
            worst = k;
    return worst;
}

/* Finds a host for the shard, and for those that hosts give up for it. All hosts together may have
 * all shards, so this ends. */
static void place_shard(const struct range *r, uint32_t shard)
{
    for (;;) {
        offer_on(r, shard);
        const struct shards_host *h = &r->hosts[r->shards[shard].owner];
        if (h->has <= h->most)
            return;
        shard = worst_of(r, h);
        hand_back(r, shard);
    }
}

/* Hands the host the best shard that its owner can spare. There is one, since the hosts together
 * must have no more shards than there are. */
static void fetch_one(const struct range *r, uint32_t host)
{
    uint32_t best = NONE;
    uint64_t lowest = 0;

    for (uint32_t k = r->from; k < r->to; k++) {
        const struct shards_host *owner = &r->hosts[r->shards[k].owner];
        if (owner->has <= owner->least)
            continue;
        const uint64_t s = score_for(&r->hosts[host], k);
        if (best == NONE || s < lowest) {
            best = k;
            lowest = s;
        }
    }
    hand_back(r, best);
    hand_to(r, best, host, lowest);
}

static void share_range(const struct range *r)
{
    set_bounds(r);
    for (uint32_t k = r->from; k < r->to; k++)
        r->shards[k].owner = NONE;
    for (uint32_t k = r->from; k < r->to; k++)
        place_shard(r, k);
    for (uint32_t i = 0; i < r->host_count; i++)
        while (takes_range(r, &r->hosts[i]) && r->hosts[i].has < r->hosts[i].least)
            fetch_one(r, i);
}

/* ---- all of them ---- */

void shards_plan(struct shards_host *hosts, uint32_t host_count, struct shards_shard *shards)
{
    struct range r = {hosts, host_count, shards, 0, 0};

    for (uint32_t i = 0; i < host_count; i++)
        hosts[i].hash = hash_id(hosts[i].id);
    for (;;) {
        r.to = NONE;
        for (uint32_t i = 0; i < host_count; i++)
            if (takes_range(&r, &hosts[i]) && hosts[i].count < r.to)
                r.to = hosts[i].count;
        if (r.to == NONE)
            return;
        share_range(&r);
        r.from = r.to;
    }
}

/* ---- what a member says ---- */

/* Reads a number and the blank after it, and moves *text on. Returns 0 if it is not from 1 to
 * most. */
static uint32_t next_figure(const char **text, const char *end, uint32_t most)
{
    const char *space = memchr(*text, ' ', (size_t)(end - *text));
    const char *stop = space ? space : end;
    const int32_t number = limit_read(*text, (size_t)(stop - *text));

    *text = space ? space + 1 : end;
    return number <= (int32_t)most ? (uint32_t)number : 0;
}

bool shards_read(const char *data, size_t size, struct shards_host *ret)
{
    static const char word[] = "zkl-shards ";
    const char *end = data + size, *line = end;

    while (line > data && line[-1] != '\n')
        line--;
    if ((size_t)(end - line) < sizeof word || memcmp(line, word, sizeof word - 1) != 0)
        return false;
    line += sizeof word - 1;
    ret->count = next_figure(&line, end, SHARDS_MAX);
    ret->weight = line == end ? 1 : next_figure(&line, end, SHARDS_WEIGHT_MAX);
    return ret->count != 0 && ret->weight != 0;
}
