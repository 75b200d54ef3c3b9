/* The cases in a simulated ZooKeeper, in virtual time; each host has one client. */
#include "conform.h"

#include "world.h"

/* In ns. */
enum { MS = 1000000, HELP = 20 * MS };
#define LIMIT (60000 * INT64_C(1000000))

struct link {
    struct host *host;
    int server;
    bool shut; /* by freeze or cut */
    bool up;
    int64_t since; /* when it last changed, or was helped */
};

static struct world *world;
static int servers;
static GPtrArray *links; /* of struct link: what there is in this world */

static int init(void)
{
    return 0;
}

static void on_note(const struct note *note, void *data)
{
    (void)data;
    if (note->kind != NOTE_EVENT)
        return;
    for (guint i = 0; i < links->len; i++) {
        struct link *l = links->pdata[i];
        if (l->host == note->host) {
            l->up = note->event == STORE_EV_UP;
            l->since = world_now(world);
        }
    }
}

static bool begin(int count, int round)
{
    const struct world_config config = {.seed = (uint64_t)round + 1,
                                        .servers = count,
                                        .tick_ms = CONFORM_TICK_MS,
                                        .reap_ms = 100,
                                        .note = on_note};

    links = g_ptr_array_new_with_free_func(g_free);
    world = world_new(&config);
    servers = count;
    while (world_leader(world) < 0 && world_run_next(world, LIMIT))
        continue;
    return world_leader(world) >= 0;
}

static void end(void)
{
    world_free(world);
    g_ptr_array_unref(links);
}

/* Behind a cut there is silence, for which a client takes its time, and not the one server that
 * there is behind a proxy: so it is made to try the next. */
static void help(void)
{
    for (guint i = 0; i < links->len; i++) {
        struct link *l = links->pdata[i];
        if (l->up || l->shut || world_now(world) < l->since + HELP)
            continue;
        l->since = world_now(world);
        world_reset(l->host);
    }
}

static bool pass(unsigned said)
{
    int64_t limit = world_now(world) + LIMIT;

    while (conform_said() == said) {
        if (world_now(world) >= limit)
            return false;
        world_run_next(world, MIN(limit, world_now(world) + HELP));
        if (servers > 1)
            help();
    }
    return true;
}

static int64_t now_ms(void)
{
    return world_now(world) / MS;
}

/* ---- connections ---- */

static void apply(struct link *l)
{
    l->since = world_now(world);
    for (int i = 0; i < servers; i++) {
        if (l->shut || i != l->server)
            world_cut(l->host, i, true, true);
        else
            world_heal(l->host, i);
    }
}

static void *make_link(int server, const char **ret_hosts)
{
    struct link *l = g_new0(struct link, 1);

    l->host = world_host(world, "client", 0);
    l->server = server;
    apply(l);
    g_ptr_array_add(links, l);
    *ret_hosts = "127.0.0.1:2181";
    return l;
}

static void drop_link(void *link)
{
    g_ptr_array_remove(links, link);
}

static void enter(void *link)
{
    const struct link *l = link;

    host_enter(l ? l->host : NULL);
}

static void freeze(void *link, bool on)
{
    struct link *l = link;

    l->shut = on;
    apply(l);
}

static void reset(void *link)
{
    const struct link *l = link;

    world_reset(l->host);
}

static void cut(void *link, bool on)
{
    freeze(link, on);
    if (on)
        reset(link);
}

static void move(void *link, int server)
{
    struct link *l = link;

    l->server = server;
    apply(l);
    reset(l);
}

static void lose(void *link, enum store_kind kind, bool after_effect)
{
    const struct link *l = link;

    (void)kind;
    world_break_at(l->host, 1, after_effect);
}

/* ---- administration ---- */

static bool expire(int64_t session)
{
    return world_expire(world, session);
}

static bool refuse(enum store_kind kind, const char *path)
{
    world_refuse(world, kind, path);
    return true;
}

static void lack(void *link, bool create2)
{
    (void)link;
    world_lack(world, create2 ? LACKS_CREATE2 : LACKS_CONTAINERS);
}

static bool count_from(const char *path, int32_t next)
{
    return world_set_counter(world, path, next);
}

static int leader(void)
{
    return world_leader(world);
}

static bool crash(int server, bool down)
{
    world_crash_server(world, server, down);
    return true;
}

static void lag(int server, int ms)
{
    world_lag(world, server, (int64_t)ms * MS);
}

static int watchers(const char *path)
{
    return (int)world_watchers(world, path);
}

int main(int argc, char **argv)
{
    static const struct bench simulated = {
        .ops = &world_store,
        .rounds = 20,
        .init = init,
        .begin = begin,
        .end = end,
        .pass = pass,
        .now_ms = now_ms,
        .link = make_link,
        .unlink = drop_link,
        .enter = enter,
        .freeze = freeze,
        .cut = cut,
        .reset = reset,
        .move = move,
        .lose = lose,
        .expire = expire,
        .refuse = refuse,
        .lack = lack,
        .count_from = count_from,
        .leader = leader,
        .crash = crash,
        .lag = lag,
        .watchers = watchers,
    };

    return conform_main(argc, argv, &simulated);
}
