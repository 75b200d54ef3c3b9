/* One server that stands alone. */
#include "puppet.h"
#include "runner.h"

TEST_SUITE(one);

static void begin_one(void)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
}

/* Nobody is to rely on the order of children. */
TEST_CASE(list)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    GString *orders[2] = {g_string_new(NULL), g_string_new(NULL)};
    for (int i = 0; i < 20; i++)
        CHECK_INT(QUEUE_UP(p, "/x-"), STORE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(DO(p, .kind = STORE_LIST, .path = "/"), STORE_OK);
        CHECK_INT(p->names->len, 21);
        for (guint k = 0; k < p->names->len; k++)
            g_string_append(orders[i], p->names->pdata[k]);
    }
    CHECK(!g_string_equal(orders[0], orders[1]));
    g_string_free(orders[0], TRUE);
    g_string_free(orders[1], TRUE);
    end_world();
}

/* Each is a transaction, too. */
TEST_CASE(refused_write)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    uint64_t writes = world_counts(world).writes;
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/zookeeper/zkl-none", .version = INT32_MAX),
              STORE_NONODE);
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/zookeeper", .version = INT32_MAX),
              STORE_BADVERSION);
    CHECK_INT(world_counts(world).writes, writes + 2);
    end_world();
}

TEST_CASE(admin)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK(world_admin_create(world, "/a", "data", false));
    CHECK(!world_admin_create(world, "/a", "data", false));
    CHECK(world_admin_create(world, "/a/b", NULL, false));
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_STR(p->data, "data");
    size_t length = 0;
    CHECK(world_data(world, "/a", &length) != NULL && length == 4);
    world_refuse(world, STORE_CREATE, "/a");
    world_refuse(world, STORE_GET, "/a/b");
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_NOAUTH);
    CHECK_INT(CREATE(p, "/ab"), STORE_OK);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_INT(GET(p, "/a/b"), STORE_NOAUTH);
    world_refuse(world, STORE_SYNC, NULL);
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK(world_admin_delete(world, "/a"));
    CHECK(!world_admin_delete(world, "/a"));
    CHECK_INT(world_node_count(world), 1);
    end_world();
}

/* Stopped and started, it has forgotten when it last heard of whom. */
TEST_CASE(restart)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(WATCH(p, "/a"), STORE_OK);
    world_crash_server(world, 0, true);
    CHECK_INT(world_leader(world), -1);
    pass(100 * SECOND);
    CHECK(!p->up && !p->expired);
    CHECK_INT(world_watch_count(world), 0);
    world_crash_server(world, 0, false);
    UNTIL(p->up);
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/a", .version = -1), STORE_OK);
    HEARD(p, "/a=0 /a=0 down up changed:/a /a=0 ");
    end_world();
}
