/* Which member has which shard. ZKL_CURVES=1 prints how even it is, and how many shards a change
 * moves. */
#include "lib/member/members.h"
#include "recipes/shards.h"
#include "runner.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_SUITE(shards);

/* Computed by another program: a daemon in another language has the same. */
TEST_CASE(hashes)
{
    static const struct {
        const char *id;
        uint64_t shard, hash;
    } rows[] = {
        {"a", 0, UINT64_C(0xc068191b31746073)},
        {"a", 1, UINT64_C(0x527012aa73281cff)},
        {"b", 0, UINT64_C(0x40317e3a49c799d1)},
        {"host-1", 31, UINT64_C(0x7bfd0c04a947e57c)},
        {"", 0, UINT64_C(0x7bd3144f29c0cc9e)},
        {"\xc3\xa4", UINT64_C(1) << 40, UINT64_C(0x492e8c52331fdd47)},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CHECK(shard_hash(rows[i].id, rows[i].shard) == rows[i].hash);
}

TEST_CASE(scores)
{
    static const struct {
        uint64_t hash;
        uint32_t weight;
        uint64_t score;
    } rows[] = {
        {UINT64_C(0xc068191b31746073), 1, UINT64_C(0x491ae1b2000000)},
        {UINT64_C(0x527012aa73281cff), 1, UINT64_C(0x122150a52000000)},
        {UINT64_C(0x7bfd0c04a947e57c), 3, UINT64_C(0x3ddd9fd8aaaaaa)},
        {UINT64_C(0x7bd3144f29c0cc9e), 1000, UINT64_C(0x2f997e2b020c)},
        {0, 1, UINT64_C(0x2c5c85eafa000000)},
        {UINT64_MAX, 1, 0},
        {UINT64_C(1) << 63, 1, UINT64_C(0xb17204f2000000)},
        {(UINT64_C(1) << 63) - 1, 1, UINT64_C(0xb17217f8000000)},
    };
    uint64_t last = shard_score(0, 1);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CHECK(shard_score(rows[i].hash, rows[i].weight) == rows[i].score);
    for (uint64_t hash = 1; hash < UINT64_MAX / 9 * 8; hash += hash / 8 + 1) {
        CHECK(shard_score(hash, 1) <= last);
        last = shard_score(hash, 1);
    }
}

/* ---- members ---- */

static void add_saying(GPtrArray *boxes, const char *id, const char *says)
{
    struct store_reply reply = {.czxid = 1, .data = says, .length = (int)strlen(says)};

    g_ptr_array_add(boxes, member_box_new(id, ZKL_MEMBER_GROUP, &reply));
}

/* "a" owns it, and so on, in the order of the ids; "-": nobody. */
static char *owners_of(const zkl_members *ms, size_t count)
{
    const zkl_member_info **owners = g_new0(const zkl_member_info *, count);
    char *text = g_malloc0(count + 1);

    CHECK_INT(zkl_shards_plan(owners, count, ms), 0);
    for (size_t k = 0; k < count; k++) {
        text[k] = '-';
        for (size_t i = 0; i < zkl_members_count(ms); i++)
            if (owners[k] == zkl_members_get(ms, i))
                text[k] = (char)('a' + i);
    }
    g_free(owners);
    return text;
}

/* Computed by another program, in another way: all pairs in the order of their scores. */
TEST_CASE(plans)
{
    static const struct {
        const char *says[3]; /* of host-0 and so on; NULL: it is not there */
        size_t count;
        const char *owners;
    } rows[] = {
        {{"", "", ""}, 3, "abc"}, /* and not bbc */
        {{"", "", ""}, 32, "abcaacbbcccbcaabbcbccbcaabcacbcc"},
        {{"zkl-shards 32", "zkl-shards 32 1", "its own\nzkl-shards 32 1 more later"},
         32,
         "abcaacbbcccbcaabbcbccbcaabcacbcc"},
        {{"zkl-shards 24 1", "zkl-shards 24 2", "zkl-shards 24 5"}, 24, "cbccccbbcccccccbccbccbca"},
        /* some take more than others, whatever is asked for */
        {{"zkl-shards 16", "zkl-shards 32", "zkl-shards 32"},
         32,
         "abcaacbbcccbcaabbcbccbcbcbcccbcc"},
        {{"zkl-shards 16", "zkl-shards 32", "zkl-shards 32"}, 16, "abcaacbbcccbcaab"},
        {{"zkl-shards 16", "zkl-shards 32", "zkl-shards 32"},
         34,
         "abcaacbbcccbcaabbcbccbcbcbcccbcc--"},
        /* who says nothing has nothing, if anybody says something */
        {{"", "zkl-shards 4", "what it likes"}, 4, "bbbb"},
        {{NULL, NULL, NULL}, 2, "--"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        GPtrArray *boxes = g_ptr_array_new();
        for (int k = 2; k >= 0; k--) {
            char *id = g_strdup_printf("host-%d.example.com", k);
            if (rows[i].says[k])
                add_saying(boxes, id, rows[i].says[k]);
            g_free(id);
        }
        zkl_members *ms = members_new(boxes);
        char *owners = owners_of(ms, rows[i].count);
        if (!CHECK_STR(owners, rows[i].owners))
            runner_fail(__FILE__, __LINE__, "row %d", (int)i);
        g_free(owners);
        zkl_members_free(ms);
    }
}

TEST_CASE(ten_hosts)
{
    static const char *const expected[] = {"hegafabdifcigcjd", "feicfcbeifciccibhiefihff"};

    for (int row = 0; row < 2; row++) {
        GPtrArray *boxes = g_ptr_array_new();
        for (int i = 0; i < 10; i++) {
            char *id = g_strdup_printf("host-%02d", i);
            char *says = row ? g_strdup_printf("zkl-shards 24 %d", 1 + i % 3 * 7)
                             : g_strdup("zkl-shards 16 1");
            add_saying(boxes, id, says);
            g_free(says);
            g_free(id);
        }
        zkl_members *ms = members_new(boxes);
        char *owners = owners_of(ms, strlen(expected[row]));
        CHECK_STR(owners, expected[row]);
        g_free(owners);
        zkl_members_free(ms);
    }
}

/* Members of a party may have the same id. */
TEST_CASE(same_ids)
{
    static const char *const nodes[] = {"b__party__", "a__party__"};
    const zkl_member_info *owners[4];
    GPtrArray *boxes = g_ptr_array_new();
    char id[] = "twin";

    for (int i = 0; i < 2; i++) {
        struct store_reply reply = {.czxid = 1, .data = id, .length = (int)strlen(id)};
        g_ptr_array_add(boxes, member_box_new(nodes[i], ZKL_MEMBER_PARTY, &reply));
    }
    zkl_members *ms = members_new(boxes);
    CHECK_INT(zkl_shards_plan(owners, 1, ms), 0);
    CHECK_STR(owners[0]->node, "a__party__");
    CHECK_INT(zkl_shards_plan(owners, 4, ms), 0);
    CHECK_STR(owners[3]->node, "b__party__"); /* one cannot have them all */
    zkl_members_free(ms);
}

TEST_CASE(invalid)
{
    const zkl_member_info *owners[1];
    zkl_members *none = members_new(g_ptr_array_new());

    CHECK_INT(zkl_shards_plan(NULL, 1, none), ZKL_EINVAL);
    CHECK_INT(zkl_shards_plan(owners, 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_shards_plan(owners, 0, none), ZKL_EINVAL);
    CHECK_INT(zkl_shards_plan(owners, ZKL_SHARDS_MAX + 1, none), ZKL_EINVAL);
    zkl_members_free(none);
}

TEST_CASE(shares)
{
    static const struct {
        const char *data;
        uint32_t count, weight; /* 0: it is none */
    } rows[] = {
        {"zkl-shards 1", 1, 1},
        {"zkl-shards 64 3", 64, 3},
        {"web1:80\nzkl-shards 64 3", 64, 3},
        {"zkl-shards 64 3\nzkl-shards 65536 1000 and more", 65536, 1000},
        {"", 0, 0},
        {"zkl-shards", 0, 0},
        {"zkl-shards ", 0, 0},
        {"zkl-shards 0 1", 0, 0},
        {"zkl-shards 65537 1", 0, 0},
        {"zkl-shards 64 0", 0, 0},
        {"zkl-shards 64 1001", 0, 0},
        {"zkl-shards 64 x", 0, 0},
        {"zkl-shards -64", 0, 0},
        {"zkl-shards 64\n", 0, 0},
        {"zkl-shards 99999999999999999999 1", 0, 0},
        {"xzkl-shards 64", 0, 0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const zkl_member_info m = {.data = rows[i].data, .size = strlen(rows[i].data)};
        zkl_shards_share share = {7, 7};
        CHECK_INT(zkl_shards_share_of(&m, &share), rows[i].count != 0);
        CHECK_INT(share.count, rows[i].count);
        if (!CHECK_INT(share.weight, rows[i].weight))
            runner_fail(__FILE__, __LINE__, "row %d", (int)i);
    }
}

/* ---- how even, and what moves ---- */

enum { MOST_HOSTS = 51, MOST_SHARDS = 1000 };

static struct shards_host hosts[MOST_HOSTS];
static struct shards_shard shards[MOST_SHARDS];

static void name_hosts(int group)
{
    for (int i = 0; i < MOST_HOSTS; i++) {
        g_free((char *)(uintptr_t)hosts[i].id);
        hosts[i].id = g_strdup_printf("host-%d.group-%d.example.com", i, group);
        hosts[i].weight = 1;
    }
}

static void free_hosts(void)
{
    for (int i = 0; i < MOST_HOSTS; i++)
        g_clear_pointer((char **)(uintptr_t)&hosts[i].id, g_free);
}

static void share_among(int host_count, int count)
{
    for (int i = 0; i < host_count; i++)
        hosts[i].count = (uint32_t)count;
    shards_plan(hosts, (uint32_t)host_count, shards);
}

/* What the header promises of each host. */
static bool are_fair(int host_count, int count)
{
    int has[MOST_HOSTS] = {0}, all = 0;
    bool fair = true;

    for (int i = 0; i < host_count; i++)
        all += (int)hosts[i].weight;
    for (int k = 0; k < count; k++)
        has[shards[k].owner]++;
    for (int i = 0; i < host_count; i++) {
        const int share = count * (int)hosts[i].weight; /* times all */
        const int most = share <= all ? 1 : (5 * share + 4 * all - 1) / (4 * all);
        fair = fair && has[i] <= most && has[i] >= share / 2 / all && (share < all || has[i] > 0);
    }
    return fair;
}

struct curve {
    double most, least;             /* of any host, in shares; averages */
    double plain_most, plain_least; /* if each shard were where its score is lowest */
    double worst_most, worst_least;
    double moves, worst_moves, between; /* by a join: in n + 1'ths of all shards */
};

enum { GROUPS = 20 };

static void add_plain(struct curve *c, int host_count, int count)
{
    const double share = (double)count / host_count;
    int has[MOST_HOSTS] = {0}, most = 0, least = count;

    for (int k = 0; k < count; k++) {
        int best = 0;
        for (int i = 1; i < host_count; i++)
            if (shard_hash(hosts[i].id, (uint64_t)k) > shard_hash(hosts[best].id, (uint64_t)k))
                best = i;
        has[best]++;
    }
    for (int i = 0; i < host_count; i++) {
        most = MAX(most, has[i]);
        least = MIN(least, has[i]);
    }
    c->plain_most += most / share / (double)GROUPS;
    c->plain_least += least / share / (double)GROUPS;
}

static struct curve draw_curve(int host_count, int count)
{
    static uint32_t before[MOST_SHARDS];
    const double share = (double)count / host_count, unit = (double)count / (host_count + 1);
    struct curve c = {.worst_least = 1};

    for (int group = 0; group < GROUPS; group++) {
        int has[MOST_HOSTS] = {0}, most = 0, least = count, moves = 0;
        name_hosts(group);
        share_among(host_count, count);
        for (int k = 0; k < count; k++)
            has[before[k] = shards[k].owner]++;
        for (int i = 0; i < host_count; i++) {
            most = MAX(most, has[i]);
            least = MIN(least, has[i]);
        }
        add_plain(&c, host_count, count);
        share_among(host_count + 1, count);
        for (int k = 0; k < count; k++) {
            moves += shards[k].owner != before[k];
            c.between += shards[k].owner != before[k] && shards[k].owner != (uint32_t)host_count;
        }
        c.most += most / share / (double)GROUPS;
        c.least += least / share / (double)GROUPS;
        c.worst_most = MAX(c.worst_most, most / share);
        c.worst_least = MIN(c.worst_least, least / share);
        c.moves += moves / unit / (double)GROUPS;
        c.worst_moves = MAX(c.worst_moves, moves / unit);
    }
    c.between /= unit * (double)GROUPS;
    return c;
}

TEST_CASE(curves)
{
    static const int counts[] = {3, 10, 16, 64, 128, 256, 1000};
    static const int sizes[] = {3, 5, 8, 10, 20, 50};
    const bool print = getenv("ZKL_CURVES") != NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (size_t k = 0; k < G_N_ELEMENTS(counts); k++) {
            const struct curve c = draw_curve(sizes[i], counts[k]);
            /* 1 is what must move; half a shard more counts where there are few */
            CHECK(c.moves < 1.4 || c.moves * counts[k] / (sizes[i] + 1) < 3);
            if (print)
                printf("%2d hosts, %4d shards: of a share %.2f to %.2f (plain %.2f to %.2f), at"
                       " worst %.2f to %.2f; moves %.2f, at worst %.2f, between others %.2f\n",
                       sizes[i], counts[k], c.least, c.most, c.plain_least, c.plain_most,
                       c.worst_least, c.worst_most, c.moves, c.worst_moves, c.between);
        }
    }
    const gint64 before = g_get_monotonic_time();
    share_among(50, MOST_SHARDS);
    if (print)
        printf("50 hosts, %d shards: %d us\n", MOST_SHARDS, (int)(g_get_monotonic_time() - before));
    free_hosts();
}

TEST_CASE(each_has_its_share)
{
    for (int n = 1; n <= 50; n += n < 12 ? 1 : 7) {
        for (int count = 1; count <= MOST_SHARDS; count += count / 3 + 1) {
            name_hosts(n);
            share_among(n, count);
            bool fair = are_fair(n, count);
            for (int i = 0; i < n; i++)
                hosts[i].weight = (uint32_t)(1 + i * i % 7 + 20 * (i % 11 == 0));
            share_among(n, count);
            if (!CHECK(fair && are_fair(n, count)))
                runner_fail(__FILE__, __LINE__, "%d hosts, %d shards", n, count);
        }
    }
    free_hosts();
}

/* Twice as much weight, twice as many shards, a little more or less. */
TEST_CASE(weights_count)
{
    int has[10] = {0};

    for (int group = 0; group < GROUPS; group++) {
        name_hosts(group);
        hosts[0].weight = 2;
        share_among(10, MOST_SHARDS);
        for (int k = 0; k < MOST_SHARDS; k++)
            has[shards[k].owner]++;
    }
    /* of 11 parts */
    CHECK(abs(has[0] - GROUPS * MOST_SHARDS * 2 / 11) < GROUPS * MOST_SHARDS / 110);
    for (int i = 1; i < 10; i++)
        CHECK(abs(has[i] - GROUPS * MOST_SHARDS / 11) < GROUPS * MOST_SHARDS / 110);
    free_hosts();
}

/* A host that has twice as many from now on gets them, and nobody else has others. */
TEST_CASE(more_shards_move_none)
{
    int moves = 0;

    name_hosts(0);
    share_among(8, 64);
    uint32_t before[64];
    for (int k = 0; k < 64; k++)
        before[k] = shards[k].owner;
    for (int changed = 1; changed < 8; changed++) {
        hosts[changed - 1].count = 128;
        shards_plan(hosts, 8, shards);
        for (int k = 0; k < 128; k++) {
            moves += k < 64 && shards[k].owner != before[k];
            CHECK(k < 64 || shards[k].owner < (uint32_t)changed);
        }
    }
    CHECK_INT(moves, 0);
    free_hosts();
}
