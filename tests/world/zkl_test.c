/* A real session and a real mutex over the world, run by hand. */
#include "lib/session/core.h"
#include "puppet.h"
#include "runner.h"

TEST_SUITE(zkl);

enum { TIMEOUT_MS = 10000 };

struct actor {
    struct host *host;
    zkl_session *session;
    zkl_mutex *mutex;
    zkl_grant *grant;
    int error;
};

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct actor *a = data;

    a->grant = grant;
    a->error = err ? err->code : 0;
}

static void open_actor(struct actor *a, const char *name)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.dispatch = 1;
    options.session_timeout_ms = TIMEOUT_MS;
    *a = (struct actor){.host = world_host(world, name, 0)};
    struct host *before = host_enter(a->host);
    REQUIRE(zkl_session_open(&a->session, "any:1", &options, NULL) == 0);
    REQUIRE(zkl_mutex_new(&a->mutex, a->session, "/dir/lock", NULL) == 0);
    host_enter(before);
}

static void close_actor(struct actor *a)
{
    struct host *before = host_enter(a->host);

    zkl_mutex_free(a->mutex);
    zkl_session_close(a->session);
    host_enter(before);
}

static void lock(struct actor *a)
{
    struct host *before = host_enter(a->host);

    CHECK_INT(zkl_mutex_lock_async(a->mutex, ZKL_FOREVER, on_acquired, a, NULL), 0);
    host_enter(before);
}

static void unlock(struct actor *a)
{
    struct host *before = host_enter(a->host);

    zkl_grant_release(a->grant);
    a->grant = NULL;
    host_enter(before);
}

static int64_t next_timer(struct actor *a)
{
    session_lock(a->session);
    int64_t due = timers_next(a->session->timers);
    session_unlock(a->session);
    return due == INT64_MAX || host_is_paused(a->host) ? INT64_MAX : host_when(a->host, due);
}

static void run_actor(struct actor *a)
{
    if (host_is_paused(a->host))
        return;
    struct host *before = host_enter(a->host);
    session_lock(a->session);
    timers_run(a->session->timers);
    session_unlock(a->session);
    zkl_session_dispatch(a->session);
    host_enter(before);
}

/* One thing that happens, and what the actors make of it. */
static void step(struct actor *actors, int count, int64_t until)
{
    for (int i = 0; i < count; i++)
        until = MIN(until, next_timer(&actors[i]));
    world_run_next(world, MAX(until, world_now(world)));
    for (int i = 0; i < count; i++)
        run_actor(&actors[i]);
}

static void run_for(struct actor *actors, int count, int64_t ns)
{
    int64_t end = world_now(world) + ns;

    while (world_now(world) < end)
        step(actors, count, end);
}

static void begin_play(struct actor *actors, int count, int servers)
{
    begin_world((struct world_config){.seed = 3, .servers = servers, .reap_ms = 60000});
    timers_by_hand = true;
    session_store = &world_store;
    for (int i = 0; i < count; i++)
        open_actor(&actors[i], i ? "b" : "a");
}

static void end_play(struct actor *actors, int count)
{
    for (int i = 0; i < count; i++)
        close_actor(&actors[i]);
    pass(SECOND);
    CHECK_INT(world_session_count(world), 0);
    CHECK_INT(world_watch_count(world), 0);
    end_world();
    session_store = &store_zk;
    timers_by_hand = false;
}

static void play_handover(int servers)
{
    struct actor actors[2], *a = &actors[0], *b = &actors[1];

    begin_play(actors, 2, servers);
    lock(a);
    run_for(actors, 2, SECOND);
    REQUIRE(a->grant != NULL);
    lock(b);
    run_for(actors, 2, 60 * SECOND);
    CHECK(b->grant == NULL);
    struct host *before = host_enter(a->host);
    CHECK(zkl_grant_remaining_ms(a->grant) > TIMEOUT_MS / 4);
    host_enter(before);
    uint64_t token = zkl_grant_token(a->grant);
    unlock(a);
    run_for(actors, 2, SECOND);
    REQUIRE(b->grant != NULL);
    CHECK(zkl_grant_token(b->grant) > token);
    unlock(b);
    run_for(actors, 2, SECOND);
    char **left = world_children(world, "/dir/lock");
    CHECK_INT(g_strv_length(left), 0);
    g_strfreev(left);
    end_play(actors, 2);
}

TEST_CASE(alone)
{
    play_handover(1);
}

TEST_CASE(trio)
{
    play_handover(3);
}

/* The holder stands still: its grant ends by its own clock before the other's begins. */
TEST_CASE(pause)
{
    struct actor actors[2], *a = &actors[0], *b = &actors[1];

    begin_play(actors, 2, 3);
    lock(a);
    run_for(actors, 2, SECOND);
    REQUIRE(a->grant != NULL);
    lock(b);
    run_for(actors, 2, SECOND);
    host_pause(a->host, false);
    while (!b->grant && world_now(world) < 60 * SECOND)
        step(actors, 2, INT64_MAX);
    REQUIRE(b->grant != NULL);
    struct host *before = host_enter(a->host);
    CHECK_INT(zkl_grant_remaining_ms(a->grant), 0);
    host_enter(before);
    host_resume(a->host);
    run_for(actors, 2, 20 * SECOND);
    unlock(a);
    unlock(b);
    end_play(actors, 2);
}
