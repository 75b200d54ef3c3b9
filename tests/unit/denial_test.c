/* What a server may refuse around an attempt: a number that is none any more, a delete. */
#include "fake_store.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(denial);

struct outcome {
    zkl_grant *grant;
    int code;
    atomic_int calls;
};

static void decided(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct outcome *o = data;

    o->grant = grant;
    o->code = error ? error->code : 0;
    atomic_fetch_add(&o->calls, 1);
}

static void wait_outcome(struct outcome *o)
{
    while (atomic_load(&o->calls) == 0)
        g_usleep(1000);
}

/* Enters below path, and is answered a node with that number. */
static char *enter(zkl_mutex *m, const char *path, int number, struct outcome *o)
{
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, o, NULL) == 0);
    char *name = fake_created_name(path, number);
    REQUIRE(name != NULL);
    ANSWER(STORE_CREATE, path, .rc = STORE_OK, .path = name, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    return name;
}

static zkl_grant *obtain(zkl_mutex *m, const char *path, char **ret_node)
{
    struct outcome o = {.calls = 0};
    char *node = *ret_node = enter(m, path, 0, &o), *child = strrchr(node, '/') + 1;

    ANSWER(STORE_LIST, path, .rc = STORE_OK, .names = &child, .count = 1);
    wait_outcome(&o);
    REQUIRE(o.grant != NULL);
    return o.grant;
}

/* The own node got the last number. The contender deletes it at once, and then the directory, if
 * that is empty and is one that we would make. */
TEST_CASE(last_number)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    struct outcome o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    char *node = enter(m, "/b", INT32_MAX, &o);
    ANSWER(STORE_DELETE, node, .rc = STORE_OK);
    ANSWER(STORE_GET, "/b", .rc = STORE_OK);
    ANSWER(STORE_DELETE, "/b", .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_CREATE, "/b")); /* numbers begin at 0 again */
    CHECK_INT(atomic_load(&o.calls), 0);
    zkl_mutex_free(m);
    wait_outcome(&o);
    CHECK_INT(o.code, ZKL_ECLOSED);
    zkl_session_close(s);
    g_free(node);
}

static void check_kept(zkl_parents parents, struct store_reply reply)
{
    zkl_session *s = fake_session();
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    struct outcome o = {.calls = 0};

    options.parents = parents;
    REQUIRE(zkl_mutex_new(&m, s, "/b", &options) == 0);
    char *node = enter(m, "/b", INT32_MAX, &o);
    ANSWER(STORE_DELETE, node, .rc = STORE_OK);
    CHECK(fake_answer(STORE_GET, "/b", reply));
    CHECK(!fake_is_asked(STORE_DELETE, "/b"));
    wait_outcome(&o);
    CHECK_INT(o.code, ZKL_EOVERFLOW);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(node);
}

/* A directory with others in it, with data, or made to stay is not ours to delete. */
TEST_CASE(others_directory)
{
    check_kept(ZKL_PARENTS_CONTAINER, (struct store_reply){.rc = STORE_OK, .children = 1});
    check_kept(ZKL_PARENTS_CONTAINER,
               (struct store_reply){.rc = STORE_OK, .data = "x", .length = 1});
    check_kept(ZKL_PARENTS_PERSISTENT, (struct store_reply){.rc = STORE_OK});
    check_kept(ZKL_PARENTS_CONTAINER, (struct store_reply){.rc = STORE_NOAUTH});
}

static void count_line(const zkl_log_record *record, void *data)
{
    if (record->level == ZKL_LOG_ERROR && strstr(record->text, "cannot delete it"))
        atomic_fetch_add((atomic_int *)data, 1);
}

/* While something else is held, the session must stay: the delete is tried again, told once. */
TEST_CASE(delete_refused_while_held)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *s;
    zkl_mutex *b, *c;
    char *node_b, *node_c;
    atomic_int lines = 0;

    options.log = count_line;
    options.log_data = &lines;
    session_store = &fake_ops;
    REQUIRE(zkl_session_open(&s, "fake:1", &options, NULL) == 0);
    session_store = &store_zk;
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    REQUIRE(zkl_mutex_new(&b, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_new(&c, s, "/c", NULL) == 0);
    zkl_grant *held = obtain(b, "/b", &node_b), *released = obtain(c, "/c", &node_c);
    zkl_grant_release(released);
    for (int i = 0; i < 2; i++) {
        fake_await(STORE_DELETE, node_c);
        ANSWER(STORE_DELETE, node_c, .rc = STORE_NOAUTH);
    }
    CHECK_INT(zkl_grant_state(held), ZKL_HELD);
    zkl_grant_release(held);
    /* Now nothing is held: the session is replaced, and takes the node along. */
    while (zkl_session_id(s) != 0)
        g_usleep(1000);
    zkl_mutex_free(b);
    zkl_mutex_free(c);
    zkl_session_close(s);
    CHECK_INT(lines, 1);
    g_free(node_b);
    g_free(node_c);
}

/* A list that the store refuses itself does not wait for the create before it: the attempt must end
 * all the same, and the node that is made must go. */
TEST_CASE(list_refused_before_create)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    struct outcome o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &o, NULL) == 0);
    char *node = fake_created_name("/b", 0);
    REQUIRE(node != NULL);
    ANSWER(STORE_LIST, "/b", .rc = STORE_BAD);
    wait_outcome(&o);
    CHECK_INT(o.code, ZKL_EPROTO);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    CHECK(fake_is_asked(STORE_DELETE, node));
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(node);
}
