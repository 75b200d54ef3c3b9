/* An ensemble that is reconfigured under those who hold: no session is lost, though the list that
 * they were given names none of its servers in the end. And ensembles that lie about their
 * addresses, which does no harm. */
#include "fixture.h"
#include "membership.h"
#include "ports.h"
#include "runner.h"
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { TICK_MS = 250, TIMEOUT_MS = 20000, OLD = 3, NODES = 6, OTHERS = 1 << NODES };

/* ---- an administrator ---- */

static int start_ensemble(void)
{
    static const char *const jvm[] = {"-Dzookeeper.skipACL=yes", NULL};
    const struct zk_server_options options = {.nodes = NODES,
                                              .members = OLD,
                                              .tick_ms = TICK_MS,
                                              .max_session_timeout_ms = TIMEOUT_MS,
                                              .jvm = jvm};

    fault.server = zk_server_start(&options);
    if (!fault.server)
        return 1;
    fault.port = zk_server_port(fault.server, 0);
    return 0;
}

static int start_if_can(void)
{
    server_or_skip();
    return 0;
}

TEST_SUITE(scenario_follow, .init = start_if_can);

static void begin(void)
{
    REQUIRE(start_ensemble() == 0);
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); /* as it is but in tests */
    fault_begin();
}

static void end(void)
{
    fault_close_all();
    fault_stop();
    zoo_set_debug_level((ZooLogLevel)0);
}

static void log_no_line(const char *line)
{
    (void)line;
}

/* By a server that runs. An ensemble in an election refuses it. */
static void reconfigure(int node, const char *joining, const char *leaving)
{
    char connect[32], config[4096];
    struct Stat stat;
    int rc = ZCONNECTIONLOSS;

    g_snprintf(connect, sizeof connect, "127.0.0.1:%d", zk_server_port(fault.server, node));
    zhandle_t *zh =
        zookeeper_init2(connect, NULL, TIMEOUT_MS, NULL, NULL, ZOO_NO_LOG_CLIENTENV, log_no_line);
    REQUIRE(zh != NULL);
    /* Nobody tells when it would be taken. */
    while (rc != ZOK && !progress_is_late()) {
        int length = sizeof config;
        rc = zoo_reconfig(zh, joining, leaving, NULL, -1, config, &length, &stat);
        if (rc != ZOK)
            g_usleep(100000);
    }
    REQUIRE(rc == ZOK);
    progress_step();
    zookeeper_close(zh);
}

static void join(int by, int node)
{
    char *member = zk_server_member(fault.server, node);

    REQUIRE(zk_server_add(fault.server, node));
    reconfigure(by, member, NULL);
    g_free(member);
}

/* Those servers, as a user names them. */
static char *list_of(int first, int count)
{
    GString *list = g_string_new(NULL);

    for (int i = first; i < first + count; i++)
        g_string_append_printf(list, "%s127.0.0.1:%d", i > first ? "," : "",
                               zk_server_port(fault.server, i));
    return g_string_free(list, FALSE);
}

/* ---- a session, and what is seen of it ---- */

struct seen {
    zkl_session *session;
    int64_t id;
    atomic_int failed;        /* attempts */
    atomic_int lists;         /* of servers, other than the first */
    _Atomic uint64_t nodes;   /* in the last of them, a bit each */
    _Atomic int64_t down_at;  /* CLOCK_BOOTTIME */
    _Atomic int64_t worst_ms; /* without a connection */
    atomic_int times;
};

/* A bit for each of our servers in a list; those of others are beside them. */
static uint64_t nodes_of(const char *text)
{
    uint64_t nodes = 0;
    char **words = g_strsplit_set(text, " ,", -1);

    for (int w = 0; words[w]; w++) {
        uint64_t node = g_str_has_prefix(words[w], "127.0.0.") ? OTHERS : 0;
        for (int i = 0; i < NODES && node; i++)
            if (atoi(strchr(words[w], ':') + 1) == zk_server_port(fault.server, i))
                node = UINT64_C(1) << i;
        nodes |= node;
    }
    g_strfreev(words);
    return nodes;
}

static void on_seen_line(const zkl_log_record *record, void *data)
{
    struct seen *v = data;

    if (strcmp(record->event, "libzookeeper-connect") == 0 &&
        strstr(record->text, "refused to accept"))
        atomic_fetch_add(&v->failed, 1);
    if (strcmp(record->event, "servers-changed") != 0)
        return;
    const uint64_t nodes = nodes_of(record->text);
    CHECK(nodes != 0 && nodes < OTHERS);
    atomic_store(&v->nodes, nodes);
    atomic_fetch_add(&v->lists, 1);
}

static void on_seen_change(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct seen *v = data;

    (void)s, (void)id;
    if (event == ZKL_SESSION_SUSPENDED)
        atomic_store(&v->down_at, fault_boot_ns());
    if (event != ZKL_SESSION_CONNECTED || atomic_load(&v->down_at) == 0)
        return;
    const int64_t ms = (fault_boot_ns() - atomic_exchange(&v->down_at, 0)) / 1000000;
    atomic_fetch_add(&v->times, 1);
    if (ms > atomic_load(&v->worst_ms))
        atomic_store(&v->worst_ms, ms);
}

static void open_seen(struct seen *v, const char *list, int fixed)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    *v = (struct seen){.session = NULL};
    o.session_timeout_ms = TIMEOUT_MS;
    o.fixed_servers = fixed;
    o.log = on_seen_line;
    o.log_data = v;
    o.log_level = ZKL_LOG_DEBUG;
    v->session = fault_session_options(list, &o);
    CHECK_INT(zkl_session_wait(v->session, ZKL_FOREVER), 0);
    CHECK_INT(zkl_session_on_change(v->session, on_seen_change, v), 0);
    v->id = zkl_session_id(v->session);
}

static void print_seen(const struct seen *v, const char *what)
{
    printf("%s: %d lists, without a connection %d times, %d attempts refused, at worst %d ms\n",
           what, atomic_load(&v->lists), atomic_load(&v->times), atomic_load(&v->failed),
           (int)atomic_load(&v->worst_ms));
}

static bool has_node(const struct seen *v, int node)
{
    return atomic_load(&v->nodes) >> node & 1;
}

/* ---- server by server ---- */

/* One who holds, one who retains, and a member; and one who holds, with the rule switched off. */
struct crowd {
    struct seen seen[4];
    struct acquisition held, left_behind;
    zkl_mutex *retaining; /* without a turn, unless it is lost */
    zkl_member *member;
    atomic_int gone; /* the member */
};

static void on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                      void *data)
{
    (void)m, (void)news;
    atomic_fetch_add(&((struct crowd *)data)->gone, event == ZKL_MEMBER_LOST);
}

static void crowd_start(struct crowd *c, const char *list)
{
    zkl_mutex_options retain = ZKL_MUTEX_OPTIONS_INIT;
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    memset(c, 0, sizeof *c);
    for (int i = 0; i < 4; i++)
        open_seen(&c->seen[i], list, i == 3);
    acquisition_start(&c->held, fault_mutex(c->seen[0].session), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&c->held));
    retain.retain_ms = 3600000;
    c->retaining = fault_mutex_options(c->seen[1].session, "/follow/retained", &retain);
    REQUIRE(zkl_mutex_lock(c->retaining, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_mutex_unlock(c->retaining) == 0);
    options.fn = on_member;
    options.fn_data = c;
    REQUIRE(zkl_member_join(&c->member, c->seen[2].session, "/follow/group", "a", NULL, 0,
                            &options) == 0);
    EVENTUALLY(membership_state(c->member) == ZKL_HELD);
    acquisition_start(&c->left_behind,
                      fault_mutex_options(c->seen[3].session, "/follow/fixed", NULL), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&c->left_behind));
}

/* A session that follows has it in its list, and is connected and proved again when one is gone. */
static void crowd_knows(struct crowd *c, int node)
{
    for (int i = 0; i < 3; i++)
        EVENTUALLY(has_node(&c->seen[i], node));
}

static void crowd_is_well(struct crowd *c)
{
    for (int i = 0; i < 3; i++)
        EVENTUALLY(zkl_session_outage(c->seen[i].session) == ZKL_OUTAGE_NONE);
    EVENTUALLY(zkl_grant_state(c->held.grant) == ZKL_HELD);
    EVENTUALLY(membership_state(c->member) == ZKL_HELD);
}

static void crowd_end(struct crowd *c)
{
    static const char *const names[] = {"holder", "retained", "member", "fixed servers"};

    for (int i = 0; i < 4; i++) {
        print_seen(&c->seen[i], names[i]);
        CHECK(i == 3 || zkl_session_id(c->seen[i].session) == c->seen[i].id);
    }
    CHECK_INT(told_times(&c->held.told, ZKL_LOST), 0);
    CHECK_INT(atomic_load(&c->gone), 0);
    CHECK_INT(zkl_mutex_lock(c->retaining, 0, NULL), 0); /* its turn, without a request */
    CHECK_INT(zkl_mutex_unlock(c->retaining), 0);
    zkl_member_free(c->member);
    acquisition_end(&c->held);
    acquisition_end(&c->left_behind);
}

TEST_CASE(server_by_server)
{
    struct crowd c;

    begin();
    char *list = list_of(0, OLD);
    crowd_start(&c, list);
    for (int i = 0; i < OLD; i++) {
        char leaving[8];
        join(i, OLD + i);
        crowd_knows(&c, OLD + i);
        g_snprintf(leaving, sizeof leaving, "%d", i + 1);
        reconfigure(OLD + i, NULL, leaving);
        zk_server_halt(fault.server, i);
        crowd_is_well(&c);
    }
    EVENTUALLY(told_times(&c.left_behind.told, ZKL_LOST) == 1); /* the list alone is not enough */
    CHECK_INT(atomic_load(&c.seen[3].lists), 0);
    crowd_end(&c);
    end();
    g_free(list);
}

/* ---- all at once, and by a list that the user sets ---- */

/* The server to which the session is connected hears that it is no member any more. */
TEST_CASE(all_at_once)
{
    struct acquisition a;
    struct seen v;
    GString *joining = g_string_new(NULL);

    begin();
    char *list = list_of(0, OLD);
    open_seen(&v, list, 0);
    acquisition_start(&a, fault_mutex(v.session), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    for (int i = OLD; i < NODES; i++) {
        char *member = zk_server_member(fault.server, i);
        REQUIRE(zk_server_add(fault.server, i));
        g_string_append_printf(joining, "%s%s", joining->len ? "," : "", member);
        g_free(member);
    }
    g_usleep(2000000); /* the config of before has been looked at, which nothing tells */
    reconfigure(0, joining->str, "1,2,3");
    for (int i = OLD; i < NODES; i++)
        EVENTUALLY(has_node(&v, i));
    for (int i = 0; i < OLD; i++)
        zk_server_halt(fault.server, i);
    EVENTUALLY(zkl_session_outage(v.session) == ZKL_OUTAGE_NONE && atomic_load(&v.times) > 0);
    EVENTUALLY(zkl_grant_state(a.grant) == ZKL_HELD);
    print_seen(&v, "all at once");
    CHECK(zkl_session_id(v.session) == v.id);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    acquisition_end(&a);
    end();
    g_string_free(joining, TRUE);
    g_free(list);
}

/* The user's word costs nothing either, and hides no loss of a connection. The new servers have
 * another host, too, which alone would make libzookeeper leave the one that it has. */
TEST_CASE(set_by_the_user)
{
    struct acquisition a;
    struct seen v;

    begin();
    char *list = list_of(0, 1);
    char *other = g_strdup_printf("127.0.0.2:%d,127.0.0.2:%d", zk_server_port(fault.server, 1),
                                  zk_server_port(fault.server, 2));
    open_seen(&v, list, 1);
    acquisition_start(&a, fault_mutex(v.session), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    CHECK_INT(zkl_session_set_servers(v.session, other), 0);
    EVENTUALLY(atomic_load(&v.lists) >
               0); /* the list waits for a failure, not of this connection */
    zk_server_halt(fault.server, 0);
    EVENTUALLY(zkl_session_outage(v.session) == ZKL_OUTAGE_NONE && atomic_load(&v.times) > 0);
    EVENTUALLY(zkl_grant_state(a.grant) == ZKL_HELD);
    print_seen(&v, "set by the user");
    CHECK(zkl_session_id(v.session) == v.id);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    acquisition_end(&a);
    end();
    g_free(list);
    g_free(other);
}

/* ---- ensembles that lie ---- */

/* A member that does not run, at an address for clients of our choice. */
static void add_liar(int id, const char *address)
{
    struct held_port quorum, election;

    REQUIRE(port_hold(&quorum) && port_hold(&election));
    char *member = g_strdup_printf("server.%d=127.0.0.1:%d:%d:participant;%s", id, quorum.port,
                                   election.port, address);
    reconfigure(0, member, NULL);
    g_free(member);
    port_release(&quorum);
    port_release(&election);
}

/* Until the session has lost a connection. Five of eight servers are enough. */
static void restart_followers(struct seen *v)
{
    for (int i = 0; i < NODES && atomic_load(&v->times) == 0; i++) {
        EVENTUALLY(zkl_session_outage(v->session) == ZKL_OUTAGE_NONE);
        if (i != zk_server_wait_leader(fault.server))
            CHECK(zk_server_restart(fault.server, i));
    }
}

/* An address where nobody listens, and one where nobody answers: neither is in any list, which the
 * log tells (on_seen_line()), and whoever holds comes through the end of a server as ever. */
TEST_CASE(lies)
{
    struct acquisition a;
    struct held_port dead;
    struct seen v;
    char address[64];

    begin();
    char *list = list_of(0, 1);
    struct proxy *silent = mute_server_start();
    REQUIRE(silent && port_hold(&dead));
    for (int i = OLD; i < NODES; i++)
        join(0, i);
    g_snprintf(address, sizeof address, "127.0.0.1:%d", dead.port);
    add_liar(7, address);
    add_liar(8, proxy_connect(silent));
    open_seen(&v, list, 0);
    acquisition_start(&a, fault_mutex(v.session), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    for (int i = 1; i < NODES; i++)
        EVENTUALLY(has_node(&v, i));
    restart_followers(&v);
    print_seen(&v, "lies");
    EVENTUALLY(zkl_grant_state(a.grant) == ZKL_HELD);
    CHECK(zkl_session_id(v.session) == v.id);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    acquisition_end(&a);
    end();
    proxy_stop(silent);
    port_release(&dead);
    g_free(list);
}

/* Through an address that the ensemble does not know, as of a load balancer or NAT: its own ones
 * may be another's where we are. */
TEST_CASE(known_by_another_address)
{
    struct seen direct, proxied;

    begin();
    char *list = list_of(0, OLD);
    open_seen(&proxied, proxy_connect(fault.proxy), 0);
    open_seen(&direct, list, 0);
    join(0, OLD);
    EVENTUALLY(has_node(&direct, OLD));
    proxy_reset(fault.proxy);
    EVENTUALLY(atomic_load(&proxied.times) > 0);
    g_usleep(2000000); /* it would have been heard */
    CHECK_INT(atomic_load(&proxied.lists), 0);
    CHECK(zkl_session_id(proxied.session) == proxied.id);
    end();
    g_free(list);
}
