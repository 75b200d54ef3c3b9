/* The cases on real servers: store_zk behind a proxy for each client. */
#include "conform.h"

#include "fixture.h"
#include "fourletter.h"
#include "proxy.h"
#include "raw.h"
#include "server.h"

static struct zk_server *server;

static int init(void)
{
    server_or_skip();
    return 0;
}

/* Not left crashed or slow by a case that failed. */
static bool is_sound(void)
{
    for (int i = 0; i < zk_server_nodes(server); i++) {
        if (zk_server_pid(server, i) < 0)
            return false;
        if (zk_server_nodes(server) > 1)
            zk_server_slow(server, i, 0);
    }
    return true;
}

/* One server serves all cases in a row that want as many nodes. */
static bool begin(int servers, int round)
{
    static const char *const jvm[] = {"-Dznode.container.checkIntervalMs=100", NULL};
    const struct zk_server_options options = {.nodes = servers,
                                              .linked = servers > 1,
                                              .tick_ms = CONFORM_TICK_MS,
                                              .max_session_timeout_ms = 20 * CONFORM_TICK_MS,
                                              .jvm = jvm};

    (void)round;
    if (server && zk_server_nodes(server) == servers && is_sound())
        return true;
    zk_server_stop(server);
    server = zk_server_start(&options);
    return server && zk_server_wait_leader(server) >= 0;
}

static void end(void)
{
}

static int64_t now_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

/* ---- connections ---- */

static void *make_link(int node, const char **ret_hosts)
{
    struct proxy *p = proxy_start(zk_server_port(server, node));

    REQUIRE(p != NULL);
    *ret_hosts = proxy_connect(p);
    return p;
}

static void drop_link(void *link)
{
    proxy_stop(link);
}

static void enter(void *link)
{
    (void)link;
}

static void freeze(void *link, bool on)
{
    if (on)
        proxy_freeze(link, PROXY_BOTH);
    else
        proxy_thaw(link);
}

static void cut(void *link, bool on)
{
    if (on)
        proxy_cut(link);
    else
        proxy_heal(link);
}

static void reset(void *link)
{
    proxy_reset(link);
}

static void move(void *link, int node)
{
    proxy_target(link, zk_server_port(server, node));
    proxy_reset(link);
}

static void lose(void *link, enum store_kind kind, bool after_effect)
{
    static const int ops[] = {
        [STORE_CREATE] = PROXY_OP_CREATE2,
        [STORE_DELETE] = PROXY_OP_DELETE,
        [STORE_GET] = PROXY_OP_GET_DATA,
        [STORE_LIST] = PROXY_OP_GET_CHILDREN2,
        [STORE_SYNC] = PROXY_OP_SYNC,
        [STORE_SET] = PROXY_OP_SET_DATA,
        [STORE_UNWATCH] = PROXY_OP_REMOVE_WATCHES,
        [STORE_MULTI] = PROXY_OP_MULTI,
    };

    if (after_effect)
        proxy_lose_reply_to(link, ops[kind]);
    else
        proxy_lose_request_to(link, ops[kind]);
}

/* ---- administration ---- */

static bool expire(int64_t session)
{
    return raw_expire(zk_server_port(server, 0), session);
}

/* What is refused to everybody is a permission that nobody has. */
static bool refuse(enum store_kind kind, const char *path)
{
    struct ACL all = {.perms = ZOO_PERM_ALL, .id = ZOO_ANYONE_ID_UNSAFE};
    const struct ACL_vector acl = {.count = 1, .data = &all};

    all.perms &= ~(kind == STORE_CREATE   ? ZOO_PERM_CREATE
                   : kind == STORE_DELETE ? ZOO_PERM_DELETE
                   : kind == STORE_SET    ? ZOO_PERM_WRITE
                                          : ZOO_PERM_READ);
    struct raw *admin = raw_open(zk_server_connect(server));
    bool ok = admin && raw_set_acl(admin, path, &acl) == ZOK;
    raw_close(admin);
    return ok;
}

static void lack(void *link, bool create2)
{
    proxy_refuse(link, PROXY_OP_CREATE_CONTAINER);
    if (create2)
        proxy_refuse(link, PROXY_OP_CREATE2);
}

static bool count_from(const char *path, int32_t next)
{
    return zk_server_set_cversion(server, path, next);
}

static int leader(void)
{
    return zk_server_wait_leader(server);
}

static bool crash(int node, bool down)
{
    if (!down)
        return zk_server_launch(server, node) && zk_server_wait(server, node);
    zk_server_kill(server, node);
    return true;
}

static void lag(int node, int ms)
{
    zk_server_slow(server, node, ms);
}

static int watchers(const char *path)
{
    return fourletter_watches_on(zk_server_port(server, 0), path);
}

int main(int argc, char **argv)
{
    static const struct bench live = {
        .ops = &store_zk,
        .rounds = 1,
        .init = init,
        .begin = begin,
        .end = end,
        .pass = conform_wait,
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
    int status = conform_main(argc, argv, &live);

    zk_server_stop(server);
    return status;
}
