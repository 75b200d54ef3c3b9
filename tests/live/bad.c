/* What a lock cannot be made of or with: permissions that are missing, servers that are none,
 * numbers and watches that are used up, paths that cannot be, directories that others use. What is
 * refused is named, and what was made is not left behind. */
#include "live.h"
#include "mutex_actors.h"
#include "ports.h"
#include "proxy.h"
#include "runner.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { NEARLY_USED_UP = 2147483645 };

/* A server of its own, whose directories stand two numbers before the end. */
static struct zk_server *server;
static struct raw *raw;

static void visit(zkl_session *s, const char *path, zkl_parents parents)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    o.parents = parents;
    zkl_mutex *m = live_mutex_options(s, path, &o);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

/* Two directories as the library makes them, and one with somebody's data in it. */
static void prepare(struct live *t)
{
    static const char *const paths[] = {"/container", "/persistent", "/used"};
    if (server)
        return;
    server = zk_server_start(NULL);
    REQUIRE(server != NULL);
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    visit(s, paths[0], ZKL_PARENTS_CONTAINER);
    visit(s, paths[1], ZKL_PARENTS_PERSISTENT);
    visit(s, paths[2], ZKL_PARENTS_CONTAINER);
    live_close(t, s);
    raw = raw_open(zk_server_connect(server));
    REQUIRE(raw && raw_create(raw, "/used/x", NULL, -1, 0, NULL) == ZOK);
    raw_close(raw);
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        REQUIRE(zk_server_set_cversion(server, paths[i], NEARLY_USED_UP));
    raw = raw_open(zk_server_connect(server));
    REQUIRE(raw != NULL);
}

static int finish(void)
{
    raw_close(raw);
    zk_server_stop(server);
    return 0;
}

TEST_SUITE(bad, .init = live_init, .done = finish);

/* ---- permissions ---- */

/* A directory in which everybody may do no more than that. */
static void make_directory(struct live *t, const char *path, int32_t perms)
{
    struct ACL entry = {perms | ZOO_PERM_ADMIN, ZOO_ANYONE_ID_UNSAFE};
    const struct ACL_vector acl = {1, &entry};
    REQUIRE(raw_create(t->admin, path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_set_acl(t->admin, path, &acl) == ZOK);
}

/* So that it can be deleted again. */
static void open_directory(struct live *t, const char *path)
{
    REQUIRE(raw_set_acl(t->admin, path, &ZOO_OPEN_ACL_UNSAFE) == ZOK);
}

/* why: which permission was missing for what. */
static void check_no_access(zkl_session *s, const char *path, const char *named, const char *why)
{
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(s, path);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EACCES);
    CHECK_ERROR(ZKL_EACCES, named);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EACCES);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EACCES);
    CHECK_STR(c.error.path, named);
    CHECK(strstr(c.error.text, why) != NULL);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
}

/* The directory is there, or is to be made in one that is. */
TEST_CASE(no_create)
{
    struct live *t = live_begin();
    char *below = g_strdup_printf("%s/a/b/c", t->lock), *first = g_strdup_printf("%s/a", t->lock);
    char *parent = g_strdup_printf(" a child of %s: the permission create (c) ", t->lock);
    make_directory(t, t->path, ZOO_PERM_ALL);
    make_directory(t, t->lock, ZOO_PERM_READ);
    check_no_access(t->session, t->lock, t->lock, " a child of it: the permission create (c) ");
    check_no_access(t->session, below, first, parent);
    open_directory(t, t->lock);
    g_free(below);
    g_free(first);
    g_free(parent);
    live_end(t);
}

/* The create is answered, the list is not: the node made goes again. */
TEST_CASE(no_list)
{
    struct live *t = live_begin();
    static const char no_read[] = "list the children of it: the permission read (r) is missing";
    zkl_queue *q;
    make_directory(t, t->path, ZOO_PERM_ALL);
    make_directory(t, t->lock, ZOO_PERM_CREATE | ZOO_PERM_DELETE);
    check_no_access(t->session, t->lock, t->lock, no_read);
    CHECK_INT(zkl_queue_read(&q, t->session, t->lock, NULL, ZKL_FOREVER), ZKL_EACCES);
    CHECK_ERROR(ZKL_EACCES, no_read);
    open_directory(t, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

/* Nobody may delete: the session goes, and its nodes with it, once nothing else is held by it. */
TEST_CASE(no_delete)
{
    struct live *t = live_begin();
    char *other = g_strdup_printf("%s/other", t->path);
    zkl_mutex *m = live_mutex(t->session, t->lock), *held = live_mutex(t->session, other);
    const zkl_grant *g;
    make_directory(t, t->path, ZOO_PERM_ALL);
    make_directory(t, t->lock, ZOO_PERM_CREATE | ZOO_PERM_READ);
    int64_t id = zkl_session_id(t->session);
    REQUIRE(zkl_mutex_lock(held, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_logged(t, "the permission delete (d) is missing") == 1);
    CHECK_INT(live_logged(t, t->lock), 1);
    session_settle(t, t->session);
    CHECK_INT(live_contenders(t, t->lock), 1);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_session_id(t->session), id);
    CHECK_INT(zkl_mutex_unlock(held), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    LIVE_UNTIL(zkl_session_wait(t->session, 0) == 0);
    CHECK(zkl_session_id(t->session) != id);
    CHECK_INT(live_logged(t, "permission"), 1);
    open_directory(t, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    g_free(other);
    live_end(t);
}

/* What waits behind the node that cannot be deleted is no reason to keep it. */
TEST_CASE(no_delete_and_again)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    make_directory(t, t->path, ZOO_PERM_ALL);
    make_directory(t, t->lock, ZOO_PERM_CREATE | ZOO_PERM_READ);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    open_directory(t, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

static zkl_session *open_as(struct live *t, const char *user)
{
    const zkl_credential credential = {"digest", user};
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.credentials = &credential;
    o.credential_count = 1;
    o.acl = "auth::cdrwa";
    return live_open(t, t->connect, &o);
}

/* Two processes of one user share a lock that another user, and anybody, is refused. */
TEST_CASE(one_user)
{
    struct live *t = live_begin();
    zkl_session *a = open_as(t, "alice:secret"), *b = open_as(t, "alice:secret");
    zkl_session *eve = open_as(t, "eve:guess");
    zkl_mutex *m = live_mutex(a, t->lock), *n = live_mutex(b, t->lock);
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    check_no_access(eve, t->lock, t->lock, "create (c)");
    check_no_access(t->session, t->lock, t->lock, "create (c)");
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    REQUIRE(zoo_add_auth(raw_handle(t->admin), "digest", "alice:secret", 12, NULL, NULL) == ZOK);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

/* A session has the permissions of all its credentials. */
TEST_CASE(several_users)
{
    static const zkl_credential both[] = {{"digest", "alice:secret"}, {"digest", "eve:guess"}};
    struct live *t = live_begin();
    char *other = g_strconcat(t->lock, "-eve", NULL);
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *alice = open_as(t, "alice:secret"), *eve = open_as(t, "eve:guess");
    const char *const paths[] = {t->lock, other};
    zkl_session *const users[] = {alice, eve};

    o.credentials = both;
    o.credential_count = G_N_ELEMENTS(both);
    zkl_session *s = live_open(t, t->connect, &o);
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    for (size_t i = 0; i < 2; i++) {
        zkl_mutex *own = live_mutex(users[i], paths[i]), *m = live_mutex(s, paths[i]);
        CHECK_INT(zkl_mutex_lock(own, ZKL_FOREVER, NULL), 0);
        check_no_access(users[1 - i], paths[i], paths[i], "create (c)");
        CHECK_INT(zkl_mutex_unlock(own), 0);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    for (size_t i = 0; i < 2; i++)
        REQUIRE(zoo_add_auth(raw_handle(t->admin), "digest", both[i].auth,
                             (int)strlen(both[i].auth), NULL, NULL) == ZOK);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0 && live_contenders(t, other) == 0);
    g_free(other);
    live_end(t);
}

/* Credentials of a kind that the server does not know are refused for good. */
TEST_CASE(unknown_scheme)
{
    struct live *t = live_begin();
    const zkl_credential credential = {"no-such-scheme", "x:y"};
    struct completion c = COMPLETION_INIT;
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_queue *q;
    o.credentials = &credential;
    o.credential_count = 1;
    zkl_session *early = live_open_only(t, t->connect, &o);
    CHECK_INT(zkl_queue_read(&q, early, t->lock, NULL, ZKL_FOREVER), ZKL_EAUTH);
    zkl_session *s = live_open_only(t, t->connect, &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EAUTH);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), ZKL_EAUTH);
    CHECK_ERROR(ZKL_EAUTH, t->connect);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EAUTH);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EAUTH);
    CHECK_INT(zkl_queue_read(&q, s, t->lock, NULL, ZKL_FOREVER), ZKL_EAUTH);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EAUTH);
    live_end(t);
}

/* What the server answers to whoever has none is not that nobody answers. */
TEST_CASE(credentials_demanded)
{
    static const char *const jvm[] = {"-Dzookeeper.enforce.auth.enabled=true",
                                      "-Dzookeeper.enforce.auth.schemes=digest", NULL};
    static const zkl_credential alice = {"digest", "alice:secret"};
    struct live *t = live_begin();
    struct zk_server *strict = zk_server_start(&(struct zk_server_options){.jvm = jvm});
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    REQUIRE(strict != NULL);
    const char *connect = zk_server_connect(strict);
    zkl_session *s = live_open_only(t, connect, NULL);
    CHECK_INT(zkl_mutex_lock(live_mutex(s, "/l"), ZKL_FOREVER, NULL), ZKL_EAUTH);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), ZKL_EAUTH);
    o.credentials = &alice;
    o.credential_count = 1;
    zkl_session *known = live_open(t, connect, &o);
    zkl_mutex *m = live_mutex(known, "/l");
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_session_claim claim;
    REQUIRE(zkl_session_get_claim(known, &claim) == 0);
    CHECK_INT(zkl_session_end(connect, NULL, &claim, ZKL_FOREVER), ZKL_EAUTH);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK(zkl_session_id(known) == claim.id);
    CHECK_INT(zkl_session_end(connect, &o, &claim, ZKL_FOREVER), 0);
    LIVE_UNTIL(zkl_session_id(known) != claim.id);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    live_end(t);
    zk_server_stop(strict);
}

/* The server begins to demand some, of a holder without any whose handle stays open. It lets the
 * holder connect as often as it tries, and each time prolongs its session. */
TEST_CASE(credentials_demanded_later)
{
    static const zkl_credential alice = {"digest", "alice:secret"};
    struct live *t = live_begin();
    struct zk_server *strict = zk_server_start(NULL);
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    const zkl_grant *g;
    REQUIRE(strict != NULL);
    const char *connect = zk_server_connect(strict);
    o.session_timeout_ms = 3000;
    zkl_session *s = live_open(t, connect, &o);
    zkl_mutex *m = live_mutex(s, "/l");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    char *config = g_strconcat(zk_server_dir(strict, 0), "/zoo.cfg", NULL);
    FILE *f = fopen(config, "a");
    REQUIRE(f && fputs("enforce.auth.enabled=true\nenforce.auth.schemes=digest\n", f) >= 0);
    REQUIRE(fclose(f) == 0 && zk_server_restart(strict, 0));
    LIVE_UNTIL(zkl_session_outage(s) == ZKL_OUTAGE_AUTH);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    o.credentials = &alice;
    o.credential_count = 1;
    zkl_mutex *next = live_mutex(live_open(t, connect, &o), "/l");
    CHECK_INT(zkl_mutex_lock(next, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(next), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    g_free(config);
    live_end(t);
    zk_server_stop(strict);
}

/* The directory of the lock is all that fits. */
TEST_CASE(quota_exceeded)
{
    static const char *const jvm[] = {"-Dzookeeper.enforceQuota=true", NULL};
    static const char limits[] = "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2";
    static const char stats[] = "count=1,bytes=0";
    struct live *t = live_begin();
    struct zk_server *strict = zk_server_start(&(struct zk_server_options){.jvm = jvm});
    REQUIRE(strict != NULL);
    struct raw *admin = raw_open(zk_server_connect(strict));
    const struct {
        const char *path, *data;
    } nodes[] = {{"/q", ""},
                 {"/zookeeper/quota/q", ""},
                 {"/zookeeper/quota/q/zookeeper_stats", stats},
                 {"/zookeeper/quota/q/zookeeper_limits", limits}};
    for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++)
        REQUIRE(raw_create(admin, nodes[i].path, nodes[i].data, (int)strlen(nodes[i].data), 0,
                           NULL) == ZOK);
    raw_close(admin);
    zkl_session *s = live_open(t, zk_server_connect(strict), NULL);
    CHECK_INT(zkl_mutex_lock(live_mutex(s, "/q/l"), ZKL_FOREVER, NULL), ZKL_EACCES);
    zkl_error e;
    zkl_last_error(&e);
    CHECK_STR(e.text,
              "/q/l: the server refused to create a child of it: a quota would be exceeded");
    live_end(t);
    zk_server_stop(strict);
}

/* Well written, but nothing that the server takes from this session. */
TEST_CASE(invalid_acl)
{
    static const char *const acls[] = {"digest:nobody:cdrwa", "no-such-scheme:x:cdrwa"};
    struct live *t = live_begin();
    for (size_t i = 0; i < G_N_ELEMENTS(acls); i++) {
        zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
        o.acl = acls[i];
        zkl_mutex *m = live_mutex(live_open(t, t->connect, &o), t->lock);
        int code = zkl_mutex_lock(m, ZKL_FOREVER, NULL);
        CHECK(code == ZKL_EINVAL || code == ZKL_EACCES);
        CHECK_ERROR(code, "acl");
    }
    live_end(t);
}

/* What the library has made at path has that ACL, as far as permissions go. */
static void check_perms(struct live *t, const char *path, int32_t perms)
{
    struct ACL_vector acl = {0, NULL};
    struct Stat stat;

    REQUIRE(zoo_get_acl(raw_handle(t->admin), path, &acl, &stat) == ZOK);
    CHECK_INT(acl.count, 1);
    CHECK_INT(acl.data[0].perms, perms);
    deallocate_ACL_vector(&acl);
}

/* Directories, contenders and what the user makes. */
TEST_CASE(of_every_node)
{
    struct live *t = live_begin();
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    char *connect = g_strconcat(t->connect, t->lock, NULL);
    const zkl_grant *g;

    o.acl = "world:anyone:cdrw";
    live_make_directory(t);
    zkl_session *s = live_open(t, connect, &o);
    zkl_mutex *m = live_mutex(s, "/a/lock");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    const zkl_change change = {ZKL_CHANGE_CREATE, -1, "/a/x", NULL, 0};
    REQUIRE(zkl_grant_multi(g, &change, 1, 0, ZKL_FOREVER) == 0);
    const char *const made[] = {"/a", "/a/lock", zkl_grant_node(g), "/a/x"};
    for (size_t i = 0; i < G_N_ELEMENTS(made); i++) {
        char *path = g_strconcat(t->lock, made[i], NULL);
        check_perms(t, path, ZOO_PERM_ALL & ~ZOO_PERM_ADMIN);
        g_free(path);
    }
    CHECK_INT(zkl_mutex_unlock(m), 0);
    g_free(connect);
    live_end(t);
}

/* ---- servers ---- */

/* The server has its say about the session's timeout, in both directions. */
TEST_CASE(negotiated)
{
    struct live *t = live_begin(); /* limits 1 s and 60 s */
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = 1000000000;
    zkl_session *s = live_open_only(t, t->connect, &o);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_session_timeout_ms(s), 60000);
    zkl_mutex *m = live_mutex(s, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    o.session_timeout_ms = 500;
    s = live_open_only(t, t->connect, &o);
    int wanted = zkl_session_timeout_ms(s); /* unless it is there already */
    CHECK(wanted == 500 || wanted == 1000);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_session_timeout_ms(s), 1000);
    live_end(t);
}

/* Everything with a limit comes back with the reason, and names the server. */
static void check_no_server(struct live *t, const char *connect, int code, const char *named)
{
    struct completion c = COMPLETION_INIT;
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_queue *q = NULL;
    o.session_timeout_ms = 600; /* which is how long a try lasts */
    zkl_session *s = live_open_only(t, connect, &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    LIVE_UNTIL(zkl_session_wait(s, 100) == code); /* a name server may take its time */
    CHECK_ERROR(code, named);
    CHECK_INT(zkl_session_wait(s, 0), code);
    CHECK_INT(zkl_mutex_lock(m, 100, NULL), code);
    CHECK_ERROR(code, named);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), code);
    CHECK_INT(zkl_queue_read(&q, s, t->lock, NULL, 100), code);
    REQUIRE(zkl_mutex_lock_async(m, 100, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), code);
    CHECK_INT(zkl_session_id(s), 0);
    live_close(t, s);
}

TEST_CASE(unknown_host)
{
    struct live *t = live_begin();
    check_no_server(t, "no-such-host.invalid:2181", ZKL_EHOST, "no-such-host.invalid");
    live_end(t);
}

TEST_CASE(unreachable_port)
{
    struct live *t = live_begin();
    struct held_port port;
    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d", port.port);
    check_no_server(t, connect, ZKL_EUNREACHABLE, connect);
    g_free(connect);
    port_release(&port);
    live_end(t);
}

struct lines {
    atomic_int all, outage, connecting, refused, details;
};

static void on_line(const zkl_log_record *record, void *data)
{
    struct lines *lines = data;

    if (strcmp(record->event, "no-connection") == 0) {
        CHECK(strstr(record->text, ": 127.0.0.1:"));
        atomic_fetch_add(&lines->outage, 1);
    }
    atomic_fetch_add(&lines->refused, strstr(record->text, "refused") != NULL);
    atomic_fetch_add(&lines->connecting, strcmp(record->event, "libzookeeper-connect") == 0);
    if (strstr(record->text, ":ZOO_INFO@")) {
        CHECK_INT(record->level, ZKL_LOG_DEBUG);
        atomic_fetch_add(&lines->details, 1);
    }
    atomic_fetch_add(&lines->all, 1);
}

static zkl_session *open_logging(struct live *t, const char *connect, struct lines *lines,
                                 zkl_log_level level)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = 600;
    o.log = on_line;
    o.log_data = lines;
    o.log_level = level;
    return live_open_only(t, connect, &o);
}

/* libzookeeper tries a hundred times before the first line, or on a slow machine behind it. A
 * session that wants to read of the tries reads of some of them, and another session of the process
 * reads of none. */
TEST_CASE(absence_is_told_once)
{
    struct live *t = live_begin();
    struct lines usual = {.all = 0}, curious = {.all = 0}, elsewhere = {.all = 0};
    struct held_port port;

    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d", port.port);
    zoo_set_debug_level(ZOO_LOG_LEVEL_INFO); /* as it is but in tests */
    zkl_session *there = open_logging(t, t->connect, &elsewhere, ZKL_LOG_DEBUG);
    zkl_session *s = open_logging(t, connect, &usual, ZKL_LOG_WARN);
    zkl_session *c = open_logging(t, connect, &curious, ZKL_LOG_DEBUG);
    LIVE_UNTIL(atomic_load(&usual.outage) > 0 && atomic_load(&curious.outage) > 0 &&
               atomic_load(&curious.connecting) >= 10 && atomic_load(&elsewhere.details) > 0);
    CHECK_INT(atomic_load(&usual.all), 1);
    CHECK_INT(atomic_load(&curious.connecting), 10);
    CHECK(atomic_load(&curious.refused) > 0);
    CHECK_INT(atomic_load(&elsewhere.refused), 0);
    zoo_set_debug_level((ZooLogLevel)0);
    live_close(t, there);
    live_close(t, s);
    live_close(t, c);
    g_free(connect);
    port_release(&port);
    live_end(t);
}

/* Noise may be taken for a greeting, now and then, but not for what comes after it. */
static void check_rubbish(struct live *t, const char *connect)
{
    struct completion c = COMPLETION_INIT;
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_queue *q = NULL;
    o.session_timeout_ms = 600;
    zkl_session *s = live_open_only(t, connect, &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    for (int i = 0; i < 5; i++) {
        int code = zkl_mutex_lock(m, 200, NULL);
        CHECK(code == ZKL_EUNREACHABLE || code == ZKL_ETIMEDOUT);
        CHECK_ERROR(code, code == ZKL_ETIMEDOUT ? t->lock : connect);
    }
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EUNREACHABLE);
    CHECK(zkl_queue_read(&q, s, t->lock, NULL, 100) != 0);
    REQUIRE(zkl_mutex_lock_async(m, 100, completion_take, &c, NULL) == 0);
    CHECK(completion_wait(&c) != 0);
    live_close(t, s);
}

TEST_CASE(rubbish_server)
{
    struct live *t = live_begin();
    for (uint32_t seed = 1; seed <= 3; seed++) {
        struct proxy *p = rubbish_server_start(seed);
        REQUIRE(p != NULL);
        check_rubbish(t, proxy_connect(p));
        proxy_stop(p);
    }
    live_end(t);
}

TEST_CASE(mute_server)
{
    struct live *t = live_begin();
    struct proxy *p = mute_server_start();
    REQUIRE(p != NULL);
    check_no_server(t, proxy_connect(p), ZKL_EUNREACHABLE, proxy_connect(p));
    proxy_stop(p);
    live_end(t);
}

/* The good one among bad ones is found, and closing does not wait for the others. */
TEST_CASE(one_good)
{
    struct live *t = live_begin();
    struct held_port port;
    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d, %s", port.port, t->connect);
    zkl_session *s = live_open(t, connect, NULL);
    zkl_mutex *m = live_mutex(s, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    g_free(connect);
    port_release(&port);
    live_end(t);
}

/* ---- paths ---- */

static void check_path_refused(struct live *t, const char *path, const char *named)
{
    zkl_mutex *m = NULL;
    zkl_queue *q = NULL;
    CHECK_INT(zkl_mutex_new(&m, t->session, path, NULL), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, named);
    CHECK(m == NULL);
    CHECK_INT(zkl_queue_read(&q, t->session, path, NULL, 0), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, named);
    CHECK(q == NULL);
}

static char *long_path(const char *parent, size_t length)
{
    char *path = g_malloc(length + 1);
    memset(path, 'x', length);
    path[length] = '\0';
    memcpy(path, parent, strlen(parent));
    path[strlen(parent)] = '/';
    return path;
}

/* The limit of 8192 bytes is said, and nothing below it fails. */
TEST_CASE(path_lengths)
{
    struct live *t = live_begin();
    char *mib = long_path(t->path, 1 << 20), *over = long_path(t->path, 8193);
    char *most = long_path(t->path, 8192);
    zkl_error e;
    check_path_refused(t, mib, "8192");
    zkl_last_error(&e);
    CHECK(g_str_has_prefix(e.path, t->path) && g_str_has_suffix(e.path, "..."));
    check_path_refused(t, over, "8192");
    zkl_mutex *m = live_mutex(t->session, most);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    struct locker *l = locker_apart(t, t->session, most, 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    g_free(mib);
    g_free(over);
    g_free(most);
    live_end(t);
}

static void check_unlockable(zkl_session *s, const char *path, const char *named)
{
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(s, path);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EPATH);
    CHECK_ERROR(ZKL_EPATH, named);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EPATH);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EPATH);
    CHECK(strstr(c.error.text, named) || strstr(c.error.path, named));
}

/* The node itself, and one and two levels down. */
TEST_CASE(below_ephemeral)
{
    struct live *t = live_begin();
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, ZOO_EPHEMERAL, NULL) == ZOK);
    char *one = g_strdup_printf("%s/a", t->lock), *two = g_strdup_printf("%s/a/b", t->lock);
    check_unlockable(t->session, t->lock, t->lock);
    check_unlockable(t->session, one, one);
    check_unlockable(t->session, two, one);
    REQUIRE(raw_delete(t->admin, t->lock) == ZOK);
    g_free(one);
    g_free(two);
    live_end(t);
}

/* What cannot be made lies in the chroot: it is named by its full path. */
TEST_CASE(chroot_below_ephemeral)
{
    struct live *t = live_begin();
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(t->admin, t->lock, NULL, -1, ZOO_EPHEMERAL, NULL) == ZOK);
    char *first = g_strdup_printf("%s/first", t->lock);
    char *connect = g_strdup_printf("%s%s/a-second-one/a-third-one", t->connect, first);
    zkl_session *s = live_open(t, connect, NULL);
    check_unlockable(s, "/m", first);
    REQUIRE(raw_delete(t->admin, t->lock) == ZOK);
    g_free(first);
    g_free(connect);
    live_end(t);
}

/* ---- children ---- */

#define UUID "0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e"
#define HEX "5f0c54a1f7c44b5d8b6b0a3c52a0c9d1"

/* Other libraries' clients and ours in one queue, each in its turn. */
TEST_CASE(other_libraries)
{
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    char *curator = live_foreign_node(t, "_c_" UUID "-lock-", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    struct locker *first = locker_queue(t, m, t->lock, 2);
    char *kazoo = live_foreign_node(t, HEX "__lock__", ZOO_EPHEMERAL | ZOO_SEQUENCE);
    struct locker *second = locker_apart(t, t->session, t->lock, 4);
    LIVE_UNTIL(live_watches(t) == 3);
    CHECK(!locker_done(first) && !locker_done(second));
    REQUIRE(raw_delete(t->admin, curator) == ZOK);
    CHECK_INT(locker_result(first), 0);
    CHECK_INT(locker_end(first), 0);
    session_settle(t, t->session);
    CHECK(!locker_done(second));
    REQUIRE(raw_delete(t->admin, kazoo) == ZOK);
    CHECK_INT(locker_result(second), 0);
    CHECK_INT(locker_end(second), 0);
    g_free(curator);
    g_free(kazoo);
    live_end(t);
}

/* More names than one packet of requests could carry: 1 MiB of them in one list. */
TEST_CASE(a_long_list)
{
    enum { LENGTH = 4000, COUNT = 270 };
    struct live *t = live_begin();
    char name[LENGTH + 1];
    live_make_directory(t);
    memset(name, 'n', LENGTH);
    name[LENGTH] = '\0';
    for (int i = 0; i < COUNT; i++) {
        name[0] = (char)('A' + i % 26), name[1] = (char)('A' + i / 26);
        g_free(live_foreign_node(t, name, 0));
    }
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    live_end(t);
}

/* ---- limits ---- */

static int children(const char *path)
{
    char **names = raw_children(raw, path);
    int count = names ? (int)g_strv_length(names) : -1;
    g_strfreev(names);
    return count;
}

static void check_number(zkl_mutex *m, const char *number)
{
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    if (!g_str_has_suffix(zkl_grant_node(g), number))
        runner_fail(__FILE__, __LINE__, "%s is not number %s", zkl_grant_node(g), number);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

static void check_overflow(zkl_mutex *m, const char *path, int others)
{
    struct completion c = COMPLETION_INIT;
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EOVERFLOW);
    CHECK_ERROR(ZKL_EOVERFLOW, path);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EOVERFLOW);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_EOVERFLOW);
    CHECK_STR(c.error.path, path);
    LIVE_UNTIL(children(path) == others);
}

/* Somebody's child keeps the directory: it cannot be renewed. */
TEST_CASE(numbers_used_up_where_others_are)
{
    struct live *t = live_begin();
    prepare(t);
    zkl_mutex *m = live_mutex(live_open(t, zk_server_connect(server), NULL), "/used");
    check_number(m, "lock-2147483645");
    LIVE_UNTIL(live_logged(t, "2147483647") == 1); /* a warning, in time */
    check_number(m, "lock-2147483646");
    check_overflow(m, "/used", 1);
    live_end(t);
}

/* Nor one that was made to stay. */
TEST_CASE(numbers_used_up_for_good)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    prepare(t);
    o.parents = ZKL_PARENTS_PERSISTENT;
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    zkl_mutex *m = live_mutex_options(s, "/persistent", &o);
    check_number(m, "lock-2147483645");
    check_number(m, "lock-2147483646");
    check_overflow(m, "/persistent", 0);
    live_end(t);
}

/* A container is renewed as soon as it is empty, and the tokens go on. */
TEST_CASE(numbers_begin_anew)
{
    struct live *t = live_begin();
    const zkl_grant *g;
    prepare(t);
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    zkl_mutex *m = live_mutex(s, "/container"), *n = live_mutex(s, "/container");
    zkl_mutex *late = live_mutex(s, "/container");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    uint64_t token = zkl_grant_token(g);
    CHECK(g_str_has_suffix(zkl_grant_node(g), "lock-2147483645"));
    struct locker *l = locker_start(n, ZKL_FOREVER);
    LIVE_UNTIL(children("/container") == 2);
    CHECK_INT(zkl_mutex_lock(late, ZKL_FOREVER, NULL), ZKL_EOVERFLOW);
    LIVE_UNTIL(children("/container") == 2);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_str_has_suffix(l->node, "lock-2147483646"));
    CHECK_INT(locker_end(l), 0);
    LIVE_UNTIL(children("/container") == 0);
    int code = zkl_mutex_lock(m, ZKL_FOREVER, &g);
    CHECK_INT(code, 0);
    if (code == 0) {
        CHECK(g_str_has_suffix(zkl_grant_node(g), "lock-0000000000"));
        CHECK(zkl_grant_token(g) > token);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        check_number(m, "lock-0000000001");
    }
    live_end(t);
}

enum { WAITERS = 70, FITTING = 64, DIRECTORY = 8100 };

static int refused(struct completion *c)
{
    int count = 0;
    for (int i = 0; i < WAITERS; i++)
        count += completion_calls(&c[i]) == 1 && completion_wait(&c[i]) == ZKL_ELIMIT;
    return count;
}

static void check_elimit(struct live *t, struct completion *c)
{
    for (int i = 0; i < WAITERS; i++) {
        if (completion_calls(&c[i]) == 0)
            continue;
        CHECK_INT(completion_wait(&c[i]), ZKL_ELIMIT);
        CHECK(g_str_has_prefix(c[i].error.path, t->path));
    }
}

/* 64 names of 8 KiB are watched; more would make the packet that renews all watches too large. A
 * contender that waits already goes on waiting. */
TEST_CASE(too_many_watches)
{
    struct live *t = live_begin();
    struct completion c[WAITERS];
    zkl_op *op[WAITERS];
    char *name = g_strnfill(DIRECTORY - strlen(t->path), 'd');
    char *path = g_strdup_printf("%s/%s", t->path, name);
    zkl_mutex *holder = live_mutex(live_open(t, t->connect, NULL), path);
    zkl_mutex *m[WAITERS];
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < WAITERS; i++) {
        c[i] = (struct completion)COMPLETION_INIT;
        m[i] = live_mutex(t->session, path);
        REQUIRE(zkl_mutex_lock_async(m[i], ZKL_FOREVER, completion_take, &c[i], &op[i]) == 0);
    }
    LIVE_UNTIL(refused(c) == WAITERS - FITTING);
    check_elimit(t, c);
    LIVE_UNTIL(live_contenders(t, path) == 1 + FITTING);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    CHECK_INT(completion_wait(&c[0]), 0);
    for (int i = 1; i < WAITERS; i++) {
        zkl_op_cancel(op[i]);
        CHECK(completion_wait(&c[i]) != 0);
    }
    zkl_grant_release(c[0].grant);
    for (int i = 0; i < WAITERS; i++) {
        zkl_op_free(op[i]);
    }
    g_free(path);
    g_free(name);
    live_end(t);
}
