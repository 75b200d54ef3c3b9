/* One server that stands alone. */
#include <string.h>

#include "puppet.h"
#include "runner.h"

TEST_SUITE(one);

static void begin_one(void)
{
    begin_world((struct world_config){.seed = 1, .servers = 1});
}

TEST_CASE(basics)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(p->timeout_ms, 10000);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(CREATE(p, "/a"), STORE_EXISTS);
    CHECK_INT(CREATE(p, "/no/a"), STORE_NONODE);
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK_STR(p->path, "/a/x-0000000000");
    CHECK_INT(p->ephemeral_owner, p->session);
    CHECK_INT(CREATE(p, "/a/x-0000000000/b"), STORE_NOCHILDREN);
    CHECK_INT(CREATE(p, "/"), STORE_EXISTS);
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK_STR(p->path, "/a/x-0000000001");
    CHECK_INT(DO(p, .kind = STORE_LIST, .path = "/a"), STORE_OK);
    CHECK_INT(p->names->len, 2);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a"), STORE_NOTEMPTY);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a/x-0000000000"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a/x-0000000000"), STORE_NONODE);
    CHECK_INT(DO(p, .kind = STORE_LIST, .path = "/no"), STORE_NONODE);
    CHECK_INT(QUEUE_UP(p, "/a/"), STORE_OK);
    CHECK_STR(p->path, "/a/0000000002");
    CHECK_INT(world_node_count(world), 3);
    end_world();
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

TEST_CASE(data)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/a", .data = "xy", .length = 2, .version = 1),
              STORE_BADVERSION);
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/a", .data = "xy", .length = 2, .version = 0),
              STORE_OK);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_STR(p->data, "xy");
    CHECK_INT(GET(p, "/zookeeper/config"), STORE_OK);
    CHECK_INT(p->length, 0);
    /* A refused write is a transaction, too. */
    uint64_t writes = world_counts(world).writes;
    CHECK_INT(DO(p, .kind = STORE_SET, .path = "/zookeeper", .version = INT32_MAX),
              STORE_BADVERSION);
    CHECK_INT(world_counts(world).writes, writes + 1);
    end_world();
}

TEST_CASE(order)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    SEND(p, .kind = STORE_CREATE, .path = "/a");
    SEND(p, .kind = STORE_GET, .path = "/a");
    SEND(p, .kind = STORE_SYNC, .path = "/a");
    SEND(p, .kind = STORE_DELETE, .path = "/a");
    SEND(p, .kind = STORE_LIST, .path = "/a");
    UNTIL(p->unanswered == 0);
    HEARD(p, "/a=0 /a=0 /a=0 /a=0 /a=1 ");
    end_world();
}

TEST_CASE(watch)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000), *q = puppet_at("b", 0, 10000);
    CHECK_INT(CREATE(q, "/a"), STORE_OK);
    CHECK_INT(WATCH(p, "/a"), STORE_OK);
    CHECK_INT(WATCH(p, "/b"), STORE_NONODE);
    CHECK_INT(world_watch_count(world), 1);
    CHECK_INT(world_watchers(world, "/a"), 1);
    CHECK_INT(DO(q, .kind = STORE_SET, .path = "/a", .version = -1), STORE_OK);
    CHECK_INT(DO(q, .kind = STORE_SET, .path = "/a", .version = -1), STORE_OK);
    CHECK_INT(CREATE(q, "/b"), STORE_OK);
    pass(SECOND);
    HEARD(p, "/a=0 /b=1 changed:/a ");
    CHECK_INT(WATCH(p, "/a"), STORE_OK);
    /* Its own change is told before the answer that shows it. */
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a"), STORE_OK);
    HEARD(p, "/a=0 gone:/a /a=0 ");
    CHECK_INT(WATCH(p, "/b"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_UNWATCH, .path = "/b"), STORE_OK);
    CHECK_INT(world_watch_count(world), 0);
    CHECK_INT(DO(p, .kind = STORE_UNWATCH, .path = "/b"), STORE_BAD);
    CHECK_INT(DO(q, .kind = STORE_DELETE, .path = "/b"), STORE_OK);
    pass(SECOND);
    HEARD(p, "/b=0 /b=0 /b=7 ");
    end_world();
}

TEST_CASE(counter)
{
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK(!world_set_counter(world, "/no", 1));
    CHECK(world_set_counter(world, "/a", 2147483646));
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK_STR(p->path, "/a/x-2147483646");
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK_STR(p->path, "/a/x-2147483647");
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_EXISTS);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a/x-2147483647"), STORE_OK);
    CHECK_INT(QUEUE_UP(p, "/a/x-"), STORE_OK);
    CHECK_STR(p->path, "/a/x-2147483647");
    end_world();
}

TEST_CASE(containers)
{
    begin_world((struct world_config){.seed = 1, .servers = 1, .reap_ms = 1000});
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(DO(p, .kind = STORE_CREATE, .path = "/a", .mode = STORE_CONTAINER), STORE_OK);
    CHECK_INT(CREATE(p, "/b"), STORE_OK);
    CHECK_INT(CREATE(p, "/b/c"), STORE_OK);
    pass(2 * SECOND);
    CHECK_INT(GET(p, "/a"), STORE_OK); /* it has never had children */
    CHECK_INT(CREATE(p, "/a/c"), STORE_OK);
    pass(2 * SECOND);
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/a/c"), STORE_OK);
    CHECK_INT(DO(p, .kind = STORE_DELETE, .path = "/b/c"), STORE_OK);
    pass(2 * SECOND);
    CHECK_INT(GET(p, "/a"), STORE_NONODE);
    CHECK_INT(GET(p, "/b"), STORE_OK);
    CHECK_INT(CREATE(p, "/a/c"), STORE_NONODE);
    end_world();
}

static enum store_rc multi(struct puppet *p, int count, const struct store_change *changes)
{
    return DO(p, .kind = STORE_MULTI, .path = "/", .count = count, .changes = changes);
}

TEST_CASE(multi)
{
    const struct store_change good[] = {{STORE_SET, "/a", "x", 1, 0},
                                        {STORE_CREATE, "/b", NULL, 0, -1},
                                        {STORE_CREATE, "/b/c", NULL, 0, -1},
                                        {STORE_GET, "/a", NULL, 0, 1},
                                        {STORE_DELETE, "/b/c", NULL, 0, 0}};
    const struct store_change bad[] = {{STORE_DELETE, "/b", NULL, 0, -1},
                                       {STORE_SET, "/a", "y", 1, 7},
                                       {STORE_CREATE, "/d", NULL, 0, -1}};
    begin_one();
    struct puppet *p = puppet_at("a", 0, 10000);
    CHECK_INT(CREATE(p, "/a"), STORE_OK);
    CHECK_INT(multi(p, G_N_ELEMENTS(good), good), STORE_OK);
    CHECK(world_exists(world, "/b", NULL, NULL) && !world_exists(world, "/b/c", NULL, NULL));
    CHECK_INT(multi(p, G_N_ELEMENTS(bad), bad), STORE_BADVERSION);
    CHECK_INT(p->failed, 1);
    CHECK(world_exists(world, "/b", NULL, NULL) && !world_exists(world, "/d", NULL, NULL));
    CHECK_INT(GET(p, "/a"), STORE_OK);
    CHECK_STR(p->data, "x");
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
