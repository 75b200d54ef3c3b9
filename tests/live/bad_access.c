/* Permissions: what is refused is named, and what was made is not left behind. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(bad_access, .init = live_init);

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
static void check_refused(zkl_session *s, const char *path, const char *named, const char *why)
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
    zkl_mutex_free(m);
}

/* The directory is there, or is to be made in one that is. */
TEST_CASE(no_create)
{
    struct live *t = live_begin();
    char *below = g_strdup_printf("%s/a/b/c", t->lock), *first = g_strdup_printf("%s/a", t->lock);
    char *parent = g_strdup_printf(" a child of %s: the permission create (c) ", t->lock);
    make_directory(t, t->path, ZOO_PERM_ALL);
    make_directory(t, t->lock, ZOO_PERM_READ);
    check_refused(t->session, t->lock, t->lock, " a child of it: the permission create (c) ");
    check_refused(t->session, below, first, parent);
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
    check_refused(t->session, t->lock, t->lock, no_read);
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
    zkl_mutex_free(m);
    zkl_mutex_free(held);
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
    zkl_mutex_free(m);
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
TEST_CASE(users)
{
    struct live *t = live_begin();
    zkl_session *a = open_as(t, "alice:secret"), *b = open_as(t, "alice:secret");
    zkl_session *eve = open_as(t, "eve:guess");
    zkl_mutex *m = live_mutex(a, t->lock), *n = live_mutex(b, t->lock);
    REQUIRE(raw_create(t->admin, t->path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    check_refused(eve, t->lock, t->lock, "create (c)");
    check_refused(t->session, t->lock, t->lock, "create (c)");
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
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
        check_refused(users[1 - i], paths[i], paths[i], "create (c)");
        CHECK_INT(zkl_mutex_unlock(own), 0);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        zkl_mutex_free(own);
        zkl_mutex_free(m);
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
    zkl_mutex_free(m);
    live_end(t);
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
        zkl_mutex_free(m);
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
    zkl_mutex_free(m);
    g_free(connect);
    live_end(t);
}
