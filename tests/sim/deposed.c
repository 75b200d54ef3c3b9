/* The answer to a create is lost while a deposed leader still serves. What that leader shows tells
 * nothing about what the next one has taken in. Handshakes that it answers, or that are answered
 * late, do not say until when a session lives. */
#include "client.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "runner.h"
#include "stage.h"

TEST_SUITE(deposed);

#define MS INT64_C(1000000)

enum { SERVERS = 5, LATENCY_US = 1000, TIMEOUT_MS = 20000, LIMIT_MS = 60000, TRIES = 100 };

static struct show {
    struct stage *stage;
    struct client *client;
    int deposed;
    int first, second; /* servers that follow whoever comes next */
} show;

static struct world *world(void)
{
    return show.stage->world;
}

static void pass_us(int64_t us)
{
    stage_run(show.stage, stage_now(show.stage) + us * 1000, NULL, NULL);
}

static bool wait_for(bool (*done)(const void *data), const void *data)
{
    return stage_run(show.stage, stage_now(show.stage) + LIMIT_MS * MS, done, data);
}

static bool is_granted(const void *acquisition)
{
    return ((const struct acquisition *)acquisition)->grant != NULL;
}

static bool is_up(void)
{
    return show.client->session->up;
}

/* A server that is out of reach is left for the next one, long before the client would. */
static bool connect(void)
{
    for (int i = 0; i < TRIES && !is_up(); i++) {
        world_reset(show.client->host);
        pass_us(20 * LATENCY_US);
    }
    return is_up();
}

static bool is_led_anew(const void *unused)
{
    (void)unused;
    return world_leader(world()) >= 0 && world_leader(world()) != show.deposed;
}

static uint64_t lists(void)
{
    return world_counts(world()).requests[STORE_LIST];
}

static bool is_listing(const void *count)
{
    return lists() == *(const uint64_t *)count;
}

static struct acquisition *enter(void)
{
    return acquisition_enter(show.client, 0, ZKL_FOREVER, NULL, NULL);
}

static void reach(int server, bool reachable)
{
    if (reachable)
        world_heal(show.client->host, server);
    else
        world_cut(show.client->host, server, true, true);
}

static void depose(void)
{
    world_cut_server(world(), show.deposed, true);
    for (int i = 0; i < SERVERS; i++) {
        if (i == show.deposed)
            continue;
        world_crash_server(world(), i, true);
        world_crash_server(world(), i, false);
    }
    REQUIRE(wait_for(is_led_anew, NULL));
    REQUIRE(world_leader(world()) != show.first && world_leader(world()) != show.second);
}

/* all: the client knows of three servers, or of the first alone. */
static void open_show(bool all)
{
    const struct world_config config = {.servers = SERVERS,
                                        .tick_ms = 2000,
                                        .latency_min_us = LATENCY_US,
                                        .latency_max_us = LATENCY_US};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    show = (struct show){.stage = stage_new(5, config, NULL)};
    show.deposed = world_leader(world());
    show.first = show.deposed == 0;
    show.second = show.first + 1 + (show.deposed == show.first + 1);
    options.session_timeout_ms = TIMEOUT_MS;
    show.client = client_new(show.stage, "A", 0, &options);
    show.client->warm_ms = 0; /* else each reconnect would show it something of the leader */
    char *hosts = all ? g_strdup_printf("server%d:1,server%d:1,server%d:1", show.first, show.second,
                                        show.deposed)
                      : g_strdup_printf("server%d:1", show.first);
    show.client->hosts = hosts;
    reach(show.second, false);
    reach(show.deposed, false);
    client_open(show.client);
    g_free(hosts);
    REQUIRE(connect());
}

/* The lock's directory is there, and of a later leader the client has seen nothing. */
static void begin(void)
{
    open_show(true);
    struct acquisition *visitor = enter();
    REQUIRE(wait_for(is_granted, visitor));
    acquisition_release(visitor);
    pass_us(100 * LATENCY_US);
    depose();
    REQUIRE(connect());
    pass_us(100 * LATENCY_US);
}

/* The node is made, but its server is gone before it could say so. */
static struct acquisition *lose_create(void)
{
    struct acquisition *it = enter();

    pass_us(5 * LATENCY_US / 2);
    world_crash_server(world(), show.first, true);
    pass_us(5 * LATENCY_US);
    char **names = world_children(world(), client_paths[0]);
    CHECK_INT(g_strv_length(names), 1);
    g_strfreev(names);
    return it;
}

/* All serve again: the next one is granted, and its node is the only one. */
static void end(void)
{
    world_cut_server(world(), show.deposed, false);
    for (int i = 0; i < SERVERS; i++)
        reach(i, true);
    world_crash_server(world(), show.first, false);
    struct acquisition *next = enter();
    CHECK(wait_for(is_granted, next));
    char **names = world_children(world(), client_paths[0]);
    CHECK_INT(g_strv_length(names), 1);
    g_strfreev(names);
    acquisition_release(next);
    client_close(show.client);
    pass_us(2 * TIMEOUT_MS * 1000);
    CHECK_STR(show.stage->wrong, NULL);
    stage_free(show.stage);
}

TEST_CASE(tells_nothing_of_a_create)
{
    begin();
    acquisition_cancel(lose_create());
    reach(show.deposed, true);
    REQUIRE(connect());
    pass_us(200 * LATENCY_US);
    CHECK(is_up());
    end();
}

/* A contender that goes on makes another node, and keeps one of the two. */
TEST_CASE(tells_nothing_to_who_goes_on)
{
    begin();
    struct acquisition *it = lose_create();
    reach(show.deposed, true);
    REQUIRE(connect());
    pass_us(200 * LATENCY_US);
    CHECK(!it->grant);
    world_cut_server(world(), show.deposed, false);
    CHECK(wait_for(is_granted, it));
    acquisition_release(it);
    end();
}

/* The first list there was sent right behind the create. The second one counts, and its server is
 * lost. A server that lags behind what the client was answered does not let the client in. */
TEST_CASE(does_not_take_who_has_passed)
{
    begin();
    acquisition_cancel(lose_create());
    reach(show.second, true);
    REQUIRE(wait_for(is_listing, &(uint64_t){lists() + 2}));
    world_reset(show.client->host); /* its answer is on the way */
    world_crash_server(world(), show.second, true);
    reach(show.deposed, true);
    CHECK(!connect());
    world_crash_server(world(), show.second, false);
    end();
}

/* ---- until when ---- */

static struct instant believed_until(void)
{
    return show.client->session->proofs.deadline;
}

static bool is_proved(const void *before)
{
    return believed_until().boot > ((const struct instant *)before)->boot;
}

static bool is_ended(const void *unused)
{
    (void)unused;
    return world_session_count(world()) == 0;
}

/* A holder believes in it no longer. */
static void outlive(struct acquisition *it)
{
    for (int i = 0; i < SERVERS; i++)
        reach(i, false);
    REQUIRE(wait_for(is_ended, NULL));
    CHECK(proofs_deadline(&show.client->session->proofs, host_clock(show.client->host)) ==
          DEADLINE_NONE);
    acquisition_release(it);
    world_cut_server(world(), show.first, false);
    end();
}

static struct acquisition *hold_there(void)
{
    struct acquisition *it = enter();

    REQUIRE(wait_for(is_granted, it));
    pass_us(500 * LATENCY_US);
    return it;
}

/* The leader has touched the session long before it answered, and its answer was to an earlier
 * handshake. After that it hears of nothing. */
TEST_CASE(handshake_answered_late)
{
    open_show(false);
    struct acquisition *it = hold_there();
    world_deafen_server(world(), show.first, true);
    world_reset(show.client->host);
    pass_us(1000 * LATENCY_US);
    world_reset(show.client->host);
    pass_us(7000 * LATENCY_US);
    CHECK(!is_up());
    struct instant before = believed_until();
    world_deafen_server(world(), show.first, false);
    REQUIRE(wait_for(is_proved, &before));
    world_cut_server(world(), show.first, true);
    outlive(it);
}

/* It lets the session in, again and again, and answers what it reads there. */
TEST_CASE(handshakes_of_a_deposed_leader)
{
    open_show(true);
    struct acquisition *it = hold_there();
    struct instant before = believed_until();
    reach(show.first, false);
    depose();
    reach(show.deposed, true);
    for (int i = 0; i < 3; i++) {
        world_reset(show.client->host);
        REQUIRE(connect());
        pass_us((i == 0 ? 6000 : 500) * LATENCY_US);
        CHECK(is_up() && !is_proved(&before));
    }
    outlive(it);
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    return runner_main(argc, argv);
}
