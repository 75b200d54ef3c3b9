#include "schedule.h"

#include "foreign_node.h"
#include "lib/contender/contender.h"
#include "lib/member/members.h"
#include "permits.h"
#include "recipes/head_hint.h"
#include "roles.h"
#include "unit/seeded.h"
#include "write.h"

#define MS INT64_C(1000000)

/* The longest pause between two tries to delete what was refused is 30 s. */
enum { CALM_MS = 60000, END_MS = 20000, LINGER_MS = 200 };

/* How many times as long a schedule with cool waiters is. */
enum { COOL_TIMES = 4 };

/* So few are a long queue in every other schedule. */
enum { LONG_ALREADY = 2 };

enum { RATE_PPM = 95000 };
enum { LATENCIES_MIN = 60 }; /* that a session timeout must be worth */

enum servers schedule_servers;

/* ---- streams ---- */

void stream_begin(struct stream *s, struct roles *roles, uint64_t salt, void (*fn)(void *data))
{
    *s = (struct stream){roles, roles->seed ^ salt, {NEVER, NULL, fn, s}};
    if (fn)
        stage_add_alarm(roles->stage, &s->act);
}

uint32_t stream_below(struct stream *s, uint32_t below)
{
    return seeded_below(&s->chance, below);
}

bool stream_chance(struct stream *s, uint32_t percent)
{
    return stream_below(s, 100) < percent;
}

int64_t stream_up_to(struct stream *s, int64_t most)
{
    return (int64_t)(seeded_next(&s->chance) % (uint64_t)(most + 1));
}

int64_t stream_soon(struct stream *s, int part)
{
    return stage_now(s->roles->stage) +
           stream_up_to(s, s->roles->timeout_ms * INT64_C(1000) / part) * 1000;
}

void stream_wait_exactly(struct stream *s, int64_t ns)
{
    s->act.at = stage_now(s->roles->stage) + ns;
}

void stream_wait(struct stream *s, int64_t most_ns)
{
    stream_wait_exactly(s, stream_up_to(s, most_ns));
}

/* ---- what is drawn ---- */

static void draw_lacks(struct world_config *config, uint64_t seed)
{
    if (schedule_servers != SERVERS_LACKING)
        return;
    config->lacks = seed % 2 ? LACKS_CREATE2 : LACKS_CONTAINERS;
    config->hangs_up = seed % 4 > 1;
}

static struct world_config draw_world(uint64_t *random, int *ret_timeout_ms)
{
    static const int latencies[][2] = {{100, 500}, {100, 5000}, {1000, 1000}, {5000, 30000}};
    static const int ticks[] = {200, 500, 1000, 2000};
    static const int servers[] = {1, 1, 1, 3, 3, 5};
    enum { TIMEOUT_LEAST = 600 }; /* below, no grant could be renewed in time */
    struct world_config config = {0};
    uint32_t latency = seeded_below(random, G_N_ELEMENTS(latencies));

    config.servers = servers[seeded_below(random, G_N_ELEMENTS(servers))];
    config.tick_ms = ticks[seeded_below(random, G_N_ELEMENTS(ticks))];
    config.sync_limit = 2 + (int)seeded_below(random, 5);
    const int timeout_ms = config.tick_ms * (2 + (int)seeded_below(random, 5));
    *ret_timeout_ms = MAX(timeout_ms, TIMEOUT_LEAST);
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

static void draw_options(struct roles *roles, struct member *m)
{
    static const int64_t warmths[] = {0, 1000, 60000};
    struct stage *stage = roles->stage;

    m->options = (zkl_session_options)ZKL_SESSION_OPTIONS_INIT;
    m->options.session_timeout_ms = roles->timeout_ms;
    if (stage_chance(stage, 20))
        m->options.session_timeout_ms += roles->tick_ms;
    m->options.tick_ms = stage_chance(stage, 50) ? roles->tick_ms : 0;
    m->warm_ms = warmths[stage_below(stage, G_N_ELEMENTS(warmths))];
    m->rate_ppm = draw_rate(stage);
    if (client_cooling)
        m->warm_ms = 0;
}

static void draw_roles(struct roles *roles, const struct world_config *config)
{
    struct stage *stage = roles->stage;

    roles->servers = config->servers;
    roles->tick_ms = config->tick_ms;
    roles->members = 1 + stage_below(stage, MEMBERS_MAX);
    roles->slots = 1 + stage_below(stage, SLOTS_MAX);
    roles->faults = 1 + stage_below(stage, FAULTS_MAX);
    roles->paths = stage_chance(stage, 70) ? 1 : 2;
    roles->lives = stage_chance(stage, 50);
    roles->writes = stage_chance(stage, 30);
    stage->hangs = stage_chance(stage, 40);
    stage->oracle.always = stage_chance(stage, 50);
    fault_draw(roles);
}

static bool is_settled(const void *data)
{
    const struct roles *roles = data;

    for (unsigned i = 0; i < roles->members; i++) {
        if (!member_is_done(&roles->member[i]))
            return false;
    }
    return actors_are_empty(roles) && groups_are_empty(roles) && write_all_answered(roles->stage) &&
           oracle_is_clean(roles->stage);
}

static bool is_over(const void *data)
{
    return world_session_count(((const struct roles *)data)->stage->world) == 0;
}

static bool is_served(const void *data)
{
    return permits_are_used(((const struct roles *)data)->stage);
}

/* A contender that finds room is served, though others hold on. */
static void linger(struct roles *roles)
{
    struct stage *stage = roles->stage;

    roles->lingering = true;
    for (unsigned i = 0; i < roles->members; i++)
        member_calm(&roles->member[i]);
    stage_run(stage, stage_now(stage) + LINGER_MS * MS, NULL, NULL);
    if (!stage_run(stage, stage_now(stage) + (CALM_MS + 4 * roles->timeout_ms) * MS, is_served,
                   roles))
        permits_at_rest(stage);
    roles->lingering = false;
}

/* All are in, one after the other where they want the same; then all leave. */
static void serve_groups(struct roles *roles)
{
    struct stage *stage = roles->stage;

    groups_calm(roles);
    if (!stage_run(stage, stage_now(stage) + (2 * CALM_MS + 4 * roles->timeout_ms) * MS,
                   groups_are_settled, roles))
        groups_at_rest(roles);
    groups_end(roles);
}

static void calm_down(struct roles *roles)
{
    struct stage *stage = roles->stage;

    trace_line(stage->trace, stage_now(stage), "-", "all is well again");
    stage->calm = true;
    fault_calm(roles);
    foreign_nodes_calm(roles);
    if (client_counting)
        linger(roles);
    for (unsigned i = 0; i < roles->members; i++)
        member_calm(&roles->member[i]);
    actors_calm(roles);
    if (roles->actors > 0 &&
        !stage_run(stage, stage_now(stage) + (CALM_MS + 4 * roles->timeout_ms) * MS,
                   actors_are_settled, roles))
        actors_at_rest(roles);
    actors_end(roles);
    if (client_grouping)
        serve_groups(roles);
    if (!stage_run(stage, stage_now(stage) + (CALM_MS + 4 * roles->timeout_ms) * MS, is_settled,
                   roles)) {
        groups_at_end(roles);
        oracle_at_rest(stage);
    }
    write_at_rest(stage);
}

/* Also when something is wrong: nothing can be freed before. */
static void end(struct roles *roles)
{
    struct stage *stage = roles->stage;

    for (unsigned i = 0; i < roles->members; i++)
        member_end(&roles->member[i]);
    stage_run(stage, stage_now(stage) + (END_MS + 4 * roles->timeout_ms) * MS, is_over, roles);
    oracle_at_end(stage);
}

static void play(struct roles *roles)
{
    struct stage *stage = roles->stage;

    write_prepare(stage);
    actors_start(roles);
    groups_start(roles);
    for (unsigned i = 0; i < roles->members; i++) {
        draw_options(roles, &roles->member[i]);
        member_start(roles, i);
    }
    for (unsigned i = 0; i < roles->faults; i++)
        fault_start(roles, i);
    stage_run(stage,
              stage_between(stage, 3, 10) * (client_cooling ? COOL_TIMES : 1) * roles->timeout_ms *
                  MS,
              NULL, NULL);
    calm_down(roles);
    end(roles);
}

/* Read-write locks, semaphores and groups have nobody else on their paths. With read-write locks
 * the servers' data do not go back either. */
static void leave_alone(struct roles *roles)
{
    roles->actors = 0;
    roles->styles = false;
    roles->foreign.act.at = NEVER;
    if (client_sharing)
        roles->restorer.act.at = NEVER;
}

char *schedule_play(uint64_t seed, struct trace *trace, struct tally *tally)
{
    uint64_t random = seed;
    struct roles *roles = g_new0(struct roles, 1);
    struct world_config config = draw_world(&random, &roles->timeout_ms);

    roles->seed = seed;
    draw_lacks(&config, seed);
    config.odd = schedule_servers == SERVERS_ODD;
    config.late_ms = schedule_servers == SERVERS_LATE ? WORLD_LATE_MS : 0;
    contender_long_queue = seed % 2 ? LONG_ALREADY : LONG_QUEUE;
    roles->stage = stage_new(random, config, trace);
    draw_roles(roles, &config);
    member_draw(roles);
    foreign_nodes_draw(roles);
    actors_draw(roles);
    admin_draw(roles);
    limbo_draw(roles, config.latency_max_us);
    deafness_draw(roles);
    meddling_draw(roles);
    restore_draw(roles);
    limits_draw(roles);
    if (client_sharing || client_counting || client_grouping)
        leave_alone(roles);
    if (client_grouping)
        groups_draw(roles, config.sync_limit);
    play(roles);
    tally_add(tally, &roles->stage->tally);
    char *wrong = g_steal_pointer(&roles->stage->wrong);
    stage_free(roles->stage);
    revoker_end(roles);
    g_free(roles);
    return wrong;
}
