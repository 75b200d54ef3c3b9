#include "schedule.h"

#include "cast.h"
#include "lib/lock/contender.h"
#include "neighbour.h"
#include "recipes/head_hint.h"
#include "unit/seeded.h"
#include "write.h"

#define MS INT64_C(1000000)

/* The longest pause between two tries to delete what was refused is 30 s. */
enum { CALM_MS = 60000, END_MS = 20000 };

/* So few are a long queue in every other schedule. */
enum { LONG_ALREADY = 2 };

enum { RATE_PPM = 95000 };
enum { LATENCIES_MIN = 60 }; /* that a session timeout must be worth */

static struct world_config draw_world(uint64_t *random, int *ret_timeout_ms)
{
    static const int latencies[][2] = {{100, 500}, {100, 5000}, {1000, 1000}, {5000, 30000}};
    static const int ticks[] = {200, 500, 1000, 2000};
    static const int servers[] = {1, 1, 1, 3, 3, 5};
    struct world_config config = {0};
    uint32_t latency = seeded_below(random, G_N_ELEMENTS(latencies));

    config.servers = servers[seeded_below(random, G_N_ELEMENTS(servers))];
    config.tick_ms = ticks[seeded_below(random, G_N_ELEMENTS(ticks))];
    config.sync_limit = 2 + (int)seeded_below(random, 5);
    *ret_timeout_ms = config.tick_ms * (2 + (int)seeded_below(random, 5));
    /* Where proofs are on their way for longer than they are good, nobody is granted anything. */
    if (latencies[latency][1] * LATENCIES_MIN > *ret_timeout_ms * 1000)
        latency = 0;
    config.latency_min_us = latencies[latency][0];
    config.latency_max_us = latencies[latency][1];
    config.reap_ms = seeded_below(random, 3) == 0 ? 500 : 0;
    return config;
}

/* Within the drift that the options allow; slow ones are the dangerous ones. */
static int draw_rate(struct stage *stage)
{
    uint32_t how = stage_below(stage, 100);

    return how < 40 ? 0 : how < 65 ? -RATE_PPM : (int)stage_between(stage, -RATE_PPM, RATE_PPM);
}

static void draw_options(struct cast *cast, struct member *m)
{
    static const int64_t warmths[] = {0, 1000, 60000};
    struct stage *stage = cast->stage;

    m->options = (zkl_session_options)ZKL_SESSION_OPTIONS_INIT;
    m->options.session_timeout_ms = cast->timeout_ms;
    if (stage_chance(stage, 20))
        m->options.session_timeout_ms += cast->tick_ms;
    m->options.tick_ms = stage_chance(stage, 50) ? cast->tick_ms : 0;
    m->options.warm_ms = warmths[stage_below(stage, G_N_ELEMENTS(warmths))];
    m->rate_ppm = draw_rate(stage);
}

static void draw_cast(struct cast *cast, const struct world_config *config)
{
    struct stage *stage = cast->stage;

    cast->servers = config->servers;
    cast->tick_ms = config->tick_ms;
    cast->members = 1 + stage_below(stage, MEMBERS_MAX);
    cast->slots = 1 + stage_below(stage, SLOTS_MAX);
    cast->faults = 1 + stage_below(stage, FAULTS_MAX);
    cast->paths = stage_chance(stage, 70) ? 1 : 2;
    cast->lives = stage_chance(stage, 50);
    cast->writes = stage_chance(stage, 30);
    stage->hangs = stage_chance(stage, 40);
    stage->oracle.always = stage_chance(stage, 50);
    fault_draw(cast);
}

static bool is_settled(const void *data)
{
    const struct cast *cast = data;

    for (unsigned i = 0; i < cast->members; i++) {
        if (!member_is_done(&cast->member[i]))
            return false;
    }
    return seats_are_empty(cast) && write_all_answered(cast->stage) && oracle_is_clean(cast->stage);
}

static bool is_over(const void *data)
{
    return world_session_count(((const struct cast *)data)->stage->world) == 0;
}

static void calm_down(struct cast *cast)
{
    struct stage *stage = cast->stage;

    trace_line(stage->trace, stage_now(stage), "-", "all is well again");
    stage->calm = true;
    fault_calm(cast);
    neighbours_calm(cast);
    for (unsigned i = 0; i < cast->members; i++)
        member_calm(&cast->member[i]);
    seats_calm(cast);
    if (cast->seats > 0 &&
        !stage_run(stage, stage_now(stage) + (CALM_MS + 4 * cast->timeout_ms) * MS,
                   seats_are_settled, cast))
        seats_at_rest(cast);
    seats_end(cast);
    if (!stage_run(stage, stage_now(stage) + (CALM_MS + 4 * cast->timeout_ms) * MS, is_settled,
                   cast))
        oracle_at_rest(stage);
    write_at_rest(stage);
}

/* Also when something is wrong: nothing can be freed before. */
static void end(struct cast *cast)
{
    struct stage *stage = cast->stage;

    for (unsigned i = 0; i < cast->members; i++)
        member_end(&cast->member[i]);
    stage_run(stage, stage_now(stage) + (END_MS + 4 * cast->timeout_ms) * MS, is_over, cast);
    oracle_at_end(stage);
}

static void play(struct cast *cast)
{
    struct stage *stage = cast->stage;

    write_prepare(stage);
    seats_start(cast);
    neighbours_start(cast);
    admin_start(cast);
    restore_start(cast);
    for (unsigned i = 0; i < cast->members; i++) {
        draw_options(cast, &cast->member[i]);
        member_start(cast, i);
    }
    for (unsigned i = 0; i < cast->faults; i++)
        fault_start(cast, i);
    stage_run(stage, stage_between(stage, 3, 10) * cast->timeout_ms * MS, NULL, NULL);
    calm_down(cast);
    end(cast);
}

char *schedule_play(uint64_t seed, struct trace *trace, struct tally *tally)
{
    uint64_t random = seed;
    struct cast *cast = g_new0(struct cast, 1);
    struct world_config config = draw_world(&random, &cast->timeout_ms);

    contender_long_queue = seed % 2 ? LONG_ALREADY : LONG_QUEUE;
    cast->stage = stage_new(random, config, trace);
    draw_cast(cast, &config);
    neighbours_draw(cast, seed);
    seats_draw(cast, seed);
    admin_draw(cast, seed);
    limbo_draw(cast, seed, config.latency_max_us);
    restore_draw(cast, seed);
    play(cast);
    tally_add(tally, &cast->stage->tally);
    char *wrong = g_steal_pointer(&cast->stage->wrong);
    stage_free(cast->stage);
    g_free(cast);
    return wrong;
}
