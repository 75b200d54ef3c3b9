/* Which of the members owns which shard. */
#include <glib.h>
#include <zkl.h>

#include "lib/base/error.h"
#include "recipes/shards.h"

int zkl_shards_share_of(const zkl_member_info *member, zkl_shards_share *ret)
{
    struct shards_host host;
    const bool says = member && shards_read(member->data, member->size, &host);

    *ret = says ? (zkl_shards_share){host.count, host.weight} : (zkl_shards_share){0, 0};
    return says;
}

/* Returns how many shards there are. If no member says anything, all take part. Otherwise a member
 * that says nothing, such as zkl member, works on no shards. If it owned some, nobody else would
 * seek them. */
static uint32_t read_hosts(struct shards_host *hosts, const zkl_members *ms, uint32_t count)
{
    uint32_t highest = 0;

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        const zkl_member_info *m = zkl_members_get(ms, i);
        hosts[i] = (struct shards_host){.id = m->id};
        if (!shards_read(m->data, m->size, &hosts[i]))
            hosts[i].count = 0;
        highest = MAX(highest, hosts[i].count);
    }
    for (size_t i = 0; i < zkl_members_count(ms) && highest == 0; i++) {
        hosts[i].count = count;
        hosts[i].weight = 1;
    }
    return highest ? highest : count;
}

int zkl_shards_plan(const zkl_member_info **owners, size_t count, const zkl_members *ms)
{
    const uint32_t members = (uint32_t)zkl_members_count(ms);

    if (!owners || !ms || count == 0 || count > ZKL_SHARDS_MAX)
        return error_set(ZKL_EINVAL, NULL, "zkl_shards_plan: %s",
                         owners && ms ? "count is not 1 to 65536" : "owners or ms is NULL");
    struct shards_host *hosts = g_new(struct shards_host, members);
    const uint32_t all = read_hosts(hosts, ms, (uint32_t)count);
    struct shards_shard *shards = g_new(struct shards_shard, all);
    shards_plan(hosts, members, shards);
    for (size_t k = 0; k < count; k++)
        owners[k] = members > 0 && k < all ? zkl_members_get(ms, shards[k].owner) : NULL;
    g_free(shards);
    g_free(hosts);
    return 0;
}
