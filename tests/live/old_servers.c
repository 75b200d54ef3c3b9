/* Servers that do not know containers, or create2, either: everything works, the tokens are those
 * of the nodes, and the log says once what is different. */
#include "live.h"
#include "membership.h"
#include "proxy.h"
#include "runner.h"

TEST_SUITE(old_servers, .init = live_init);

struct scene {
    struct live *t;
    struct proxy *proxy;
    zkl_session *session;
    uint64_t token; /* the last one */
};

static void begin(struct scene *c, void (*lack)(struct proxy *p, int op), bool create2)
{
    c->t = live_begin();
    c->proxy = proxy_start(c->t->port);
    REQUIRE(c->proxy != NULL);
    lack(c->proxy, PROXY_OP_CREATE_CONTAINER);
    if (create2)
        lack(c->proxy, PROXY_OP_CREATE2);
    c->session = live_open(c->t, proxy_connect(c->proxy), NULL);
    c->token = 0;
}

static void end(struct scene *c, int said)
{
    CHECK_INT(live_logged(c->t, "the servers "), said);
    live_end(c->t);
    proxy_stop(c->proxy);
}

/* A resource compares it with the others: nothing but the czxid will do. */
static void check_token(struct scene *c, uint64_t token, const char *node)
{
    struct Stat stat;

    REQUIRE(raw_exists(c->t->admin, node, &stat) == ZOK);
    CHECK_INT(token, (uint64_t)stat.czxid);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(c->session));
    CHECK(token > c->token);
    c->token = token;
}

static void lock(struct scene *c)
{
    zkl_mutex *m = live_mutex(c->session, c->t->lock);
    const zkl_grant *g = NULL;

    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
        check_token(c, zkl_grant_token(g), zkl_grant_node(g));
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
}

/* Not at the path of the lock, which it would wait for. */
static char *below(const struct scene *c, const char *name)
{
    return g_strdup_printf("%s/%s/deep", c->t->path, name);
}

static void lead(struct scene *c)
{
    char *path = below(c, "election"), id[16];
    zkl_election *e = NULL;
    zkl_grant *g = NULL;
    uint64_t token = 0;

    REQUIRE(zkl_election_new(&e, c->session, path, "me", NULL) == 0);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    check_token(c, zkl_grant_token(g), zkl_grant_node(g));
    CHECK_INT(zkl_election_leader(e, id, sizeof id, &token), 0);
    CHECK_STR(id, "me");
    CHECK_INT(token, c->token);
    zkl_grant_release(g);
    zkl_election_free(e);
    g_free(path);
}

static void take_permits(struct scene *c)
{
    char *path = below(c, "semaphore");
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m = NULL;
    zkl_grant *g = NULL;

    o.limit = 2;
    o.numbered = 1;
    REQUIRE(zkl_semaphore_new(&m, c->session, path, &o) == 0);
    REQUIRE(zkl_semaphore_acquire(m, 2, ZKL_FOREVER, &g) == 0);
    check_token(c, zkl_grant_token(g), zkl_grant_node(g));
    zkl_grant_release(g);
    zkl_semaphore_free(m);
    g_free(path);
}

static void join(struct scene *c)
{
    char *path = below(c, "group"), *node = g_strdup_printf("%s/me", path);
    zkl_member *m = NULL;

    REQUIRE(zkl_member_join(&m, c->session, path, "me", "here", 4, NULL) == 0);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    check_token(c, membership_token(m), node);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    zkl_member_free(m);
    g_free(node);
    g_free(path);
}

static void read_and_write(struct scene *c)
{
    char *path = below(c, "rwlock");
    zkl_rwlock *l = NULL;
    const zkl_grant *g = NULL;

    REQUIRE(zkl_rwlock_new(&l, c->session, path, NULL) == 0);
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, &g), 0);
    check_token(c, zkl_grant_token(g), zkl_grant_node(g));
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, &g), 0);
    check_token(c, zkl_grant_token(g), zkl_grant_node(g));
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    zkl_rwlock_free(l);
    g_free(path);
}

static void work(struct scene *c)
{
    lock(c);
    lead(c);
    take_permits(c);
    join(c);
    read_and_write(c);
}

TEST_CASE(no_containers)
{
    struct scene c;

    begin(&c, proxy_refuse, false);
    work(&c);
    CHECK(proxy_requests(c.proxy, PROXY_OP_CREATE2) > 0);
    end(&c, 1);
}

TEST_CASE(no_create2)
{
    struct scene c;
    struct proxy_stats stats;

    begin(&c, proxy_refuse, true);
    work(&c);
    proxy_get_stats(c.proxy, &stats);
    CHECK_INT(stats.refused, 1); /* what it knows it does not ask again */
    CHECK_INT(proxy_requests(c.proxy, PROXY_OP_CREATE2), 0);
    end(&c, 1);
}

/* Some servers end the connection rather than say so. */
TEST_CASE(hung_up_on)
{
    struct scene c;

    begin(&c, proxy_hang_up_on, true);
    work(&c);
    end(&c, 1);
}
