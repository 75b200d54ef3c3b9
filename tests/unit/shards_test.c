/* Which member has which shard. */
#include "lib/member/members.h"
#include "recipes/shards.h"
#include "suites.h"

#include <glib.h>
#include <string.h>

enum { SHARDS = 4000 };

/* Computed by another program: a daemon in another language has the same. */
static void weights(void)
{
    static const struct {
        const char *id;
        uint64_t shard, weight;
    } rows[] = {
        {"a", 0, UINT64_C(0xc068191b31746073)},
        {"a", 1, UINT64_C(0x527012aa73281cff)},
        {"b", 0, UINT64_C(0x40317e3a49c799d1)},
        {"host-1", 31, UINT64_C(0x7bfd0c04a947e57c)},
        {"", 0, UINT64_C(0x7bd3144f29c0cc9e)},
        {"\xc3\xa4", UINT64_C(1) << 40, UINT64_C(0x492e8c52331fdd47)},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CHECK(shard_weight(rows[i].id, rows[i].shard) == rows[i].weight);
}

/* The members first to last - 1 but one, "host-1.example.com" and so on, last first. */
static zkl_members *some(int first, int last, int but)
{
    GPtrArray *boxes = g_ptr_array_new();

    for (int i = last - 1; i >= first; i--) {
        struct store_reply reply = {.czxid = (uint64_t)i + 1};
        char *name = g_strdup_printf("host-%d.example.com", i);
        if (i != but)
            g_ptr_array_add(boxes, member_box_new(name, ZKL_MEMBER_GROUP, &reply));
        g_free(name);
    }
    return members_new(boxes);
}

static int owner(const zkl_members *ms, uint64_t shard)
{
    return (int)zkl_shard_owner(ms, shard)->token - 1;
}

static void nobody(void)
{
    zkl_members *none = some(0, 0, -1), *one = some(3, 4, -1);

    CHECK(!zkl_shard_owner(NULL, 0));
    CHECK(!zkl_shard_owner(none, 0));
    CHECK_STR(zkl_shard_owner(one, 7)->id, "host-3.example.com");
    zkl_members_free(none);
    zkl_members_free(one);
}

static void owners(void)
{
    zkl_members *ms = some(0, 3, -1);
    char found[33] = {0};

    for (uint64_t shard = 0; shard < 32; shard++)
        found[shard] = (char)('a' + owner(ms, shard));
    CHECK_STR(found, "abcaacbbcccbcaabbcbccbcaabcacbcc");
    zkl_members_free(ms);
}

static void shares_are_even(void)
{
    for (int n = 2; n <= 64; n *= 2) {
        zkl_members *ms = some(0, n, -1);
        int counts[64] = {0}, least = SHARDS, most = 0;
        for (uint64_t shard = 0; shard < SHARDS; shard++)
            counts[owner(ms, shard)]++;
        for (int i = 0; i < n; i++) {
            least = MIN(least, counts[i]);
            most = MAX(most, counts[i]);
        }
        CHECK(least * 2 > SHARDS / n && most < SHARDS / n * 2);
        zkl_members_free(ms);
    }
}

/* Without one member its own shards move, and no other. */
static void a_change_moves_what_it_must(void)
{
    enum { N = 10 };
    zkl_members *all = some(0, N, -1);
    int moves = 0;

    for (int gone = 0; gone < N; gone++) {
        zkl_members *rest = some(0, N, gone);
        for (uint64_t shard = 0; shard < SHARDS; shard++) {
            const int before = owner(all, shard), after = owner(rest, shard);
            CHECK(before == gone ? after != gone : after == before);
            moves += before != after;
        }
        zkl_members_free(rest);
    }
    CHECK_INT(moves, SHARDS); /* each shard once in N changes: 1/N a change */
    zkl_members_free(all);
}

/* Members of a party may have the same id. */
static void same_ids(void)
{
    static const char *const nodes[] = {"b__party__", "a__party__"};
    GPtrArray *boxes = g_ptr_array_new();
    char id[] = "twin";

    for (int i = 0; i < 2; i++) {
        struct store_reply reply = {.czxid = 1, .data = id, .length = (int)strlen(id)};
        g_ptr_array_add(boxes, member_box_new(nodes[i], ZKL_MEMBER_PARTY, &reply));
    }
    zkl_members *ms = members_new(boxes);
    CHECK_STR(zkl_shard_owner(ms, 5)->node, "a__party__");
    zkl_members_free(ms);
}

static const struct test_case cases[] = {
    {"weights", weights},
    {"nobody", nobody},
    {"owners", owners},
    {"shares_are_even", shares_are_even},
    {"a_change_moves_what_it_must", a_change_moves_what_it_must},
    {"same_ids", same_ids},
    {NULL, NULL},
};
const struct test_suite shards_suite = {"shards", NULL, NULL, cases};
