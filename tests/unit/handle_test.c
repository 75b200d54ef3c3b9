/* What handles answer to those who may not, or not now. */
#include "fake_store.h"
#include "runner.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <zkl-glib.h>
#include <zkl-zookeeper.h>

TEST_SUITE(handle);

TEST_CASE(bad_semaphore)
{
    zkl_session *s = fake_session();
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;
    zkl_grant *g;
    int limit;

    CHECK_INT(zkl_semaphore_new(&m, NULL, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_new(&m, s, "a", NULL), ZKL_EINVAL);
    o.limit = -1;
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_semaphore_options)ZKL_SEMAPHORE_OPTIONS_INIT;
    o.numbered = 2;
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_semaphore_options)ZKL_SEMAPHORE_OPTIONS_INIT;
    o.name = "\xff";
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    o.name = NULL;
    o.parents = (zkl_parents)7;
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_semaphore_options){.size = 0};
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    REQUIRE(zkl_semaphore_new(&m, s, "/a", NULL) == 0);
    CHECK_INT(zkl_semaphore_acquire(NULL, 1, 0, &g), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire(m, 0, 0, &g), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire_async(NULL, 1, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire_async(m, 1, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_get_limit(NULL, 0, &limit), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_get_limit(m, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_set_limit(NULL, 1, 0), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_set_limit(m, 0, 0), ZKL_EINVAL);
    zkl_semaphore_free(m);
    zkl_semaphore_free(NULL);
    zkl_session_close(s);
}

static void on_permits(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)error;
    (void)data;
    zkl_grant_release(grant);
}

/* Numbers are a line of the node's data, and have to fit into it. */
TEST_CASE(bad_numbered_semaphore)
{
    zkl_session *s = fake_session();
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;
    zkl_grant *g;

    o.name = "who\nzkl numbers 0";
    REQUIRE(zkl_semaphore_new(&m, s, "/a", &o) == 0);
    zkl_semaphore_free(m);
    o.numbered = 1;
    CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), ZKL_EINVAL);
    o.name = "who";
    REQUIRE(zkl_semaphore_new(&m, s, "/a", &o) == 0);
    CHECK_INT(zkl_semaphore_acquire(m, 1001, 0, &g), ZKL_EINVAL);
    CHECK_INT(zkl_semaphore_acquire_async(m, INT_MAX, 0, on_permits, NULL, NULL), ZKL_EINVAL);
    zkl_semaphore_free(m);
    zkl_session_close(s);
}

TEST_CASE(limit_in_curators_layout)
{
    zkl_session *s = fake_session();
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    zkl_semaphore *m;
    zkl_error why;
    int limit = 3;

    o.layout = ZKL_SEMAPHORE_CURATOR;
    o.limit = 1;
    REQUIRE(zkl_semaphore_new(&m, s, "/a", &o) == 0);
    CHECK_INT(zkl_semaphore_get_limit(m, 0, &limit), ZKL_EINVAL);
    CHECK_INT(limit, 3);
    CHECK_INT(zkl_semaphore_set_limit(m, 1, 0), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "/a: Curator's layout keeps no limit");
    zkl_semaphore_free(m);
    zkl_session_close(s);
}

/* What is wrong is named, and what is not is taken. */
TEST_CASE(semaphore_layouts)
{
    static const struct {
        int numbered, limit, layout;
        const char *wrong; /* in the text of the error; NULL: nothing */
    } rows[] = {
        {0, 0, 0, NULL},
        {1, 1, 0, NULL},
        {-1, 0, 0, "numbered must be"},
        {2, 0, 0, "numbered must be"},
        {0, -1, 0, "limit must not be negative"},
        {0, 1, -1, "layout is none"},
        {0, 1, ZKL_SEMAPHORE_CURATOR + 1, "layout is none"},
        {0, 1, ZKL_SEMAPHORE_CURATOR, NULL},
        {0, 0, ZKL_SEMAPHORE_CURATOR, "limit must be given"},
        {1, 1, ZKL_SEMAPHORE_CURATOR, "has no numbers"},
    };
    zkl_session *s = fake_session();
    zkl_semaphore *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
        o.numbered = rows[i].numbered;
        o.limit = rows[i].limit;
        o.layout = (zkl_semaphore_layout)rows[i].layout;
        CHECK_INT(zkl_semaphore_new(&m, s, "/a", &o), rows[i].wrong ? ZKL_EINVAL : 0);
        zkl_last_error(&why);
        if (rows[i].wrong)
            CHECK(strstr(why.text, rows[i].wrong) != NULL);
        else
            zkl_semaphore_free(m);
    }
    zkl_session_close(s);
}

TEST_CASE(semaphore_permits)
{
    static const struct {
        zkl_semaphore_options o;
        int most;
        const char *wrong;
    } rows[] = {
        {{sizeof(zkl_semaphore_options), .limit = 1}, INT_MAX, "/a: permits must be 1 or more"},
        {{sizeof(zkl_semaphore_options), .numbered = 1}, 1000, "/a: permits must be 1 to 1000"},
        {{sizeof(zkl_semaphore_options), .limit = 1, .layout = ZKL_SEMAPHORE_CURATOR},
         64,
         "/a: permits must be 1 to 64 in Curator's layout"},
    };
    zkl_session *s = fake_session();
    zkl_semaphore *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const int wrong[] = {-1, 0, rows[i].most == INT_MAX ? INT_MIN : rows[i].most + 1};

        REQUIRE(zkl_semaphore_new(&m, s, "/a", &rows[i].o) == 0);
        for (size_t k = 0; k < G_N_ELEMENTS(wrong); k++) {
            CHECK_INT(zkl_semaphore_acquire_async(m, wrong[k], 0, on_permits, NULL, NULL),
                      ZKL_EINVAL);
            zkl_last_error(&why);
            CHECK_STR(why.text, rows[i].wrong);
            CHECK_STR(why.path, "/a");
        }
        CHECK_INT(zkl_semaphore_acquire_async(m, 1, 0, on_permits, NULL, NULL), 0);
        CHECK_INT(zkl_semaphore_acquire_async(m, rows[i].most, 0, on_permits, NULL, NULL), 0);
        zkl_semaphore_free(m);
    }
    zkl_session_close(s);
}

TEST_CASE(bad_mutex)
{
    zkl_session *s = fake_session();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    char longer[1026];
    zkl_mutex *m;

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_INT(zkl_mutex_new(&m, NULL, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(NULL, s, "/a", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(&m, s, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(&m, s, "a", NULL), ZKL_EINVAL);
    o.name = longer;
    CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), ZKL_EINVAL);
    o.name = "\xff";
    CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), ZKL_EINVAL);
    o.name = NULL;
    o.parents = (zkl_parents)7;
    CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), ZKL_EINVAL);
    o = (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT;
    for (int peer = -1; peer <= 2; peer += 3) {
        o.peer = (zkl_peer)peer;
        CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), ZKL_EINVAL);
    }
    CHECK_INT(zkl_mutex_lock(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_unlock(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_mutex_free(NULL);
    zkl_session_close(s);
}

/* Whom the node of a mutex is named for. */
TEST_CASE(peers)
{
    static const struct {
        zkl_peer peer;
        const char *begin, *end;
    } rows[] = {{ZKL_PEER_CURATOR, "/a/_c_", "-lock-"}, {ZKL_PEER_KAZOO, "/a/", "__lock__"}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        zkl_session *s = fake_session();
        zkl_mutex *m;
        o.peer = rows[i].peer;
        REQUIRE(zkl_mutex_new(&m, s, "/a", &o) == 0);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_permits, NULL, NULL) == 0);
        const char *path = fake_request(STORE_CREATE, "/a/").path;
        CHECK(path && g_str_has_prefix(path, rows[i].begin));
        CHECK(path && g_str_has_suffix(path, rows[i].end));
        CHECK_INT(zkl_mutex_yield(m), 0); /* it retains nothing */
        zkl_mutex_free(m);
        zkl_session_close(s);
    }
}

TEST_CASE(bad_retention)
{
    static const struct {
        int64_t retain_ms;
        int fence64;
        const char *wrong; /* NULL: nothing */
    } rows[] = {
        {-1, 0, "retain_ms must be 0 to 86400000"},
        {86400001, 0, "retain_ms must be 0 to 86400000"},
        {1, -1, "fence64 must be 0 or 1"},
        {1, 2, "fence64 must be 0 or 1"},
        {86400000, 1, NULL},
        {0, 0, NULL},
    };
    zkl_session *s = fake_session();
    zkl_mutex *m;
    zkl_error why;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        o.retain_ms = rows[i].retain_ms;
        o.fence64 = rows[i].fence64;
        CHECK_INT(zkl_mutex_new(&m, s, "/a", &o), rows[i].wrong ? ZKL_EINVAL : 0);
        zkl_last_error(&why);
        if (rows[i].wrong)
            CHECK_STR(why.text, rows[i].wrong);
        else
            zkl_mutex_free(m);
    }
    zkl_session_close(s);
}

TEST_CASE(no_grant_given)
{
    CHECK_INT(zkl_grant_token(NULL), 0);
    CHECK(zkl_grant_node(NULL) == NULL);
    CHECK_INT(zkl_grant_session_id(NULL), 0);
    CHECK_INT(zkl_grant_remaining_ms(NULL), 0);
    CHECK_INT(zkl_grant_state(NULL), ZKL_LOST);
    CHECK_INT(zkl_grant_deadline(NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_on_change(NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(NULL, NULL, 0, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi_async(NULL, NULL, 0, 0, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_check_op(NULL, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_part(NULL, 0, NULL), ZKL_EINVAL);
    zkl_grant_release(NULL);
    zkl_op_cancel(NULL);
    zkl_op_free(NULL);
}

TEST_CASE(no_session_given)
{
    zkl_election *e;
    zkl_watch *w;
    zkl_queue *q;

    CHECK_INT(zkl_session_wait(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_session_on_change(NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_fd(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_dispatch(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_timeout_ms(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_call(NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_id(NULL), 0);
    CHECK(zkl_glib_source_new(NULL) == NULL);
    CHECK_INT(zkl_election_new(&e, NULL, "/a", "id", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, NULL, "/a", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, NULL, "/a", NULL, NULL), ZKL_EINVAL);
    zkl_session_close(NULL);
}

TEST_CASE(no_election_given)
{
    zkl_election_status status = {.size = sizeof status};

    CHECK_INT(zkl_election_campaign(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_campaign_async(NULL, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_resign(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_start(NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_yield(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_get_status(NULL, &status), ZKL_EINVAL);
    CHECK_INT(zkl_election_leader(NULL, NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_proclaim(NULL, NULL, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_election_proclaim_async(NULL, NULL, 0, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_watch(NULL, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_election_free(NULL);
}

TEST_CASE(no_queue_given)
{
    CHECK_INT(zkl_queue_count(NULL), 0);
    CHECK(zkl_queue_get(NULL, 0) == NULL);
    zkl_queue_free(NULL);
    zkl_watch_free(NULL);
}

struct inside {
    zkl_session *s;
    zkl_mutex *m;
    atomic_int done;
};

/* Everything that waits, called in a callback. */
static void call_what_waits(zkl_grant *g, const zkl_error *error, void *data)
{
    struct inside *in = data;
    zkl_queue *q;

    CHECK_INT(error->code, ZKL_EACCES);
    CHECK(g == NULL);
    CHECK_INT(zkl_mutex_lock(in->m, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_session_wait(in->s, 0), ZKL_EDEADLK);
    CHECK_INT(zkl_queue_read(&q, in->s, "/b", NULL, 0), ZKL_EDEADLK);
    CHECK_INT(zkl_grant_multi(g, NULL, 0, 0, 0), ZKL_EDEADLK);
    atomic_store(&in->done, 1);
}

TEST_CASE(inside_a_callback)
{
    struct inside in = {.s = fake_session()};
    zkl_mutex *other;

    REQUIRE(zkl_mutex_new(&in.m, in.s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(in.m, ZKL_FOREVER, call_what_waits, &in, NULL) == 0);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_NOAUTH);
    while (!atomic_load(&in.done))
        g_usleep(1000);
    zkl_session_close(in.s);
    CHECK_INT(zkl_mutex_lock(in.m, 0, NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock_async(in.m, 0, call_what_waits, &in, NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_new(&other, in.s, "/b", NULL), ZKL_ECLOSED); /* m has the handle still */
    zkl_mutex_free(in.m);
}

/* What was made of the options is what the server is asked for. */
TEST_CASE(parents_as_asked)
{
    static const struct {
        zkl_parents parents;
        enum store_mode mode;
    } rows[] = {{ZKL_PARENTS_CONTAINER, STORE_CONTAINER},
                {ZKL_PARENTS_PERSISTENT, STORE_PERSISTENT}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        zkl_session *s = fake_session();
        zkl_mutex *m;
        o.parents = rows[i].parents;
        REQUIRE(zkl_mutex_new(&m, s, "/l", &o) == 0);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_permits, NULL, NULL) == 0);
        ANSWER(STORE_CREATE, "/l/", .rc = STORE_NONODE);
        CHECK_STR(fake_request(STORE_CREATE, "/l").path, "/l");
        CHECK_INT(fake_request(STORE_CREATE, "/l").mode, rows[i].mode);
        zkl_mutex_free(m);
        zkl_session_close(s);
    }
}
