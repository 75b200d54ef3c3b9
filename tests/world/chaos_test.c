/* Servers fail at random: whatever was acknowledged stays, at every server, and is there once. */
#include "puppet.h"
#include "runner.h"

TEST_SUITE(chaos);

enum { PUPPETS = 4, STEPS = 400, SEEDS = 20, TIMEOUT_MS = 10000 };

struct chaos {
    int servers;
    struct puppet *puppets[PUPPETS];
    GPtrArray *made; /* paths acknowledged */
    unsigned sent;
    GRand *rand;
};

static unsigned made; /* by all plays */

static void collect(struct chaos *c, struct puppet *p)
{
    if (p->rc == STORE_OK && p->path)
        g_ptr_array_add(c->made, g_steal_pointer(&p->path));
}

/* A node of its own each time, persistent, so that it must be there at the end. */
static void act(struct chaos *c)
{
    struct puppet *p = c->puppets[g_rand_int_range(c->rand, 0, PUPPETS)];

    if (!p->up || p->unanswered > 0)
        return;
    collect(c, p);
    char *path = g_strdup_printf("/n%u", c->sent++);
    puppet_send(p, (struct store_request){.kind = STORE_CREATE, .path = path});
    g_free(path);
}

static void fail_something(struct chaos *c)
{
    int server = g_rand_int_range(c->rand, 0, c->servers);
    bool on = g_rand_boolean(c->rand);

    switch (g_rand_int_range(c->rand, 0, 8)) {
    case 0:
        world_cut_server(world, server, on);
        break;
    case 1:
        world_pause_server(world, server, on);
        break;
    case 2:
        world_crash_server(world, server, on);
        break;
    case 3:
        world_lag(world, server, on ? SECOND : 0);
        break;
    case 4:
        world_reset_after_effect(c->puppets[server % PUPPETS]->host);
        break;
    default:
        break;
    }
}

static void heal(const struct chaos *c)
{
    for (int i = 0; i < c->servers; i++) {
        world_cut_server(world, i, false);
        world_pause_server(world, i, false);
        world_crash_server(world, i, false);
        world_lag(world, i, 0);
    }
    pass(60 * SECOND);
}

/* Each server says the same, and has all that was acknowledged. */
static void compare(const struct chaos *c)
{
    for (int i = 0; i < c->servers; i++) {
        struct puppet *p = puppet_at("observer", i, TIMEOUT_MS);
        for (guint k = 0; k < c->made->len; k++)
            CHECK_INT(GET(p, c->made->pdata[k]), STORE_OK);
        CHECK_INT(DO(p, .kind = STORE_LIST, .path = "/"), STORE_OK);
        CHECK_INT(p->names->len, world_node_count(world) + 1);
    }
}

static void play_one(struct chaos *c, uint64_t seed)
{
    begin_world((struct world_config){.seed = seed, .servers = c->servers});
    c->rand = g_rand_new_with_seed((guint32)seed);
    c->made = g_ptr_array_new_with_free_func(g_free);
    c->sent = 0;
    for (int i = 0; i < PUPPETS; i++)
        c->puppets[i] = puppet_new("puppet", "any:1", TIMEOUT_MS);
    for (int i = 0; i < STEPS; i++) {
        act(c);
        if (i % 10 == 0)
            fail_something(c);
        pass(g_rand_int_range(c->rand, 1, 600) * MILLI / (i % 5 ? 100 : 1));
    }
    heal(c);
    for (int i = 0; i < PUPPETS; i++)
        collect(c, c->puppets[i]);
    made += c->made->len;
    CHECK(world_leader(world) >= 0);
    compare(c);
    g_ptr_array_unref(c->made);
    g_rand_free(c->rand);
    end_world();
}

static void play(int servers)
{
    struct chaos c = {.servers = servers};

    made = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play_one(&c, seed);
    CHECK(made > SEEDS * STEPS / 10);
}

TEST_CASE(trio)
{
    play(3);
}

TEST_CASE(five)
{
    play(5);
}
