/* A fenced transaction that is told to be unknown and decided much later: proposed to two of five
 * servers, it is committed when the others are back, and meanwhile the next one was sent. */
#include "client.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "runner.h"
#include "stage.h"
#include "write.h"

TEST_SUITE(undecided);

#define MS INT64_C(1000000)

enum { SERVERS = 5, LATENCY_US = 1000, TIMEOUT_MS = 20000, LIMIT_MS = 60000 };

static struct show {
    struct stage *stage;
    struct client *client;
    struct acquisition *acquisition;
    int followers[SERVERS - 1];
} show;

static void pass_us(int64_t us)
{
    stage_run(show.stage, stage_now(show.stage) + us * 1000, NULL, NULL);
}

static struct world *world(void)
{
    return show.stage->world;
}

/* The first follower is the client's server. The second is the only other one that the client
 * knows, and slow to be reached. The last two decide what is committed. */
static void cut_quorum(bool cut)
{
    world_cut_server(world(), show.followers[2], cut);
    world_cut_server(world(), show.followers[3], cut);
}

static void cut_second(bool cut)
{
    if (cut)
        world_cut(show.client->host, show.followers[1], true, true);
    else
        world_heal(show.client->host, show.followers[1]);
}

static bool is_granted(const void *unused)
{
    (void)unused;
    return show.acquisition->grant != NULL;
}

static void begin(void)
{
    const struct world_config config = {.servers = SERVERS,
                                        .tick_ms = 2000,
                                        .latency_min_us = LATENCY_US,
                                        .latency_max_us = LATENCY_US};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    int n = 0;

    show = (struct show){.stage = stage_new(5, config, NULL)};
    write_prepare(show.stage);
    for (int i = 0; i < SERVERS; i++) {
        if (i != world_leader(world()))
            show.followers[n++] = i;
    }
    options.session_timeout_ms = TIMEOUT_MS;
    show.client = client_new(show.stage, "A", 0, &options);
    char *hosts = g_strdup_printf("server%d:1,server%d:1", show.followers[0], show.followers[1]);
    show.client->hosts = hosts;
    cut_second(true);
    client_open(show.client);
    g_free(hosts);
    show.acquisition = acquisition_enter(show.client, 0, ZKL_FOREVER, NULL, NULL);
    REQUIRE(stage_run(show.stage, LIMIT_MS * MS, is_granted, NULL));
    cut_second(false);
    pass_us(100000);
}

static void end(void)
{
    acquisition_release(show.acquisition);
    client_close(show.client);
    pass_us(2 * TIMEOUT_MS * 1000);
    CHECK_STR(show.stage->wrong, NULL);
    stage_free(show.stage);
}

static const struct write *write_of(guint i)
{
    return show.stage->writes->pdata[i];
}

static bool is_answered(const void *write)
{
    return ((const struct write *)write)->answered;
}

/* The first transaction is proposed, and its server dies. The second asks for the version that the
 * first will take after all. The answer to the second, a refusal, is lost. */
TEST_CASE(overtaken)
{
    begin();
    cut_quorum(true);
    write_start(show.acquisition, false, 3);
    pass_us(5 * LATENCY_US / 2);
    world_crash_server(world(), show.followers[0], true);
    pass_us(60 * LATENCY_US);
    CHECK_INT(write_of(0)->code, ZKL_EUNKNOWN);
    CHECK(!write_of(0)->applied);
    write_start(show.acquisition, false, ZKL_FOREVER);
    pass_us(20 * LATENCY_US);
    world_reset(show.client->host);
    cut_second(true);
    cut_quorum(false);
    pass_us(200 * LATENCY_US);
    CHECK(write_of(0)->applied && !write_of(1)->applied);
    cut_second(false);
    CHECK(stage_run(show.stage, stage_now(show.stage) + LIMIT_MS * MS, is_answered, write_of(1)));
    CHECK_INT(write_of(1)->code, 0);
    CHECK(write_of(1)->applied);
    end();
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    return runner_main(argc, argv);
}
