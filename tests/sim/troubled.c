#include "troubled.h"

#include "blocked.h"
#include "runner.h"

#include <stdlib.h>

#define MS INT64_C(1000000)

enum { SERVERS = 3, LATENCY_US = 1000, TICK_MS = 500 };

static void trouble(struct troubled *t, unsigned victim)
{
    struct stage *stage = t->stage;
    struct client *c = t->clients[victim];

    const unsigned sort = stage_below(stage, 7);

    t->faults++;
    t->healed[victim] = NEVER;
    client_tell(c, "is in trouble %u", sort);
    switch (sort) {
    case 0:
        world_reset(c->host);
        break;
    case 1:
        world_reset_after_effect(c->host);
        break;
    case 2:
    case 3:
        world_break_at(c->host, 1 + stage_below(stage, 6), stage_chance(stage, 50));
        break;
    case 4:
        client_pause(c, false);
        break;
    case 5:
        t->lagging = (int)stage_below(stage, SERVERS);
        world_lag(stage->world, t->lagging, stage_between(stage, 10, 500) * MS);
        break;
    default:
        world_cut(c->host, -1, stage_chance(stage, 70), true);
    }
}

static void heal(struct troubled *t, unsigned victim)
{
    client_tell(t->clients[victim], "is healed");
    if (t->lagging >= 0)
        world_lag(t->stage->world, t->lagging, 0);
    t->lagging = -1;
    world_heal(t->clients[victim]->host, -1);
    if (host_is_paused(t->clients[victim]->host))
        client_resume(t->clients[victim]);
    t->healed[victim] = stage_now(t->stage);
}

static void on_fault(void *data)
{
    struct troubled *t = data;
    struct stage *stage = t->stage;
    int64_t pause_ms = stage_between(stage, 50, 1000);

    heal(t, t->victim);
    if (stage_chance(stage, 60)) {
        t->victim = stage_below(stage, t->count);
        trouble(t, t->victim);
        pause_ms = stage_chance(stage, 80) ? stage_between(stage, 1, 300)
                                           : stage_between(stage, 1, 2 * TROUBLED_TIMEOUT_MS);
    }
    t->fault.at = stage_now(stage) + pause_ms * MS;
}

/* ---- calls that block ---- */

static struct stage *playing;
static void (*looking)(void);

static bool has_ended(const void *done)
{
    if (looking)
        looking();
    return blocked_has_ended(done);
}

void blocked_go_on(sem_t *done)
{
    struct host *before = host_enter(NULL);

    stage_run(playing, NEVER - 1, has_ended, done);
    host_enter(before);
    CHECK_STR(playing->wrong, NULL); /* then it does not end */
}

/* ---- the schedule ---- */

uint64_t troubled_schedules(unsigned usual)
{
    const char *asked = getenv("ZKL_SCHEDULES");

    return asked ? g_ascii_strtoull(asked, NULL, 10) : usual;
}

bool troubled_is_late(uint64_t seed)
{
    return seed % 2 == 0;
}

void troubled_begin(struct troubled *t, unsigned clients, uint64_t seed, void (*look)(void))
{
    const struct world_config config = {.servers = SERVERS,
                                        .tick_ms = TICK_MS,
                                        .latency_min_us = LATENCY_US / 2,
                                        .latency_max_us = LATENCY_US,
                                        .late_ms = troubled_is_late(seed) ? WORLD_LATE_MS : 0};
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    *t = (struct troubled){.stage = stage_new(seed, config, NULL), .count = clients, .lagging = -1};
    playing = t->stage;
    looking = look;
    options.session_timeout_ms = TROUBLED_TIMEOUT_MS;
    for (unsigned i = 0; i < t->count; i++) {
        char name[] = {(char)('A' + i), '\0'};
        t->clients[i] = client_new(t->stage, name, 0, &options);
        client_open(t->clients[i]);
    }
    stage_run(t->stage, 1000 * MS, NULL, NULL);
    t->fault = (struct alarm){stage_now(t->stage), NULL, on_fault, t};
    stage_add_alarm(t->stage, &t->fault);
}

void troubled_heal(struct troubled *t)
{
    t->fault.at = NEVER;
    for (unsigned i = 0; i < t->count; i++)
        heal(t, i);
}

void troubled_end(struct troubled *t)
{
    for (unsigned i = 0; i < t->count; i++)
        client_close(t->clients[i]);
    stage_run(t->stage, stage_now(t->stage) + 4 * TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    CHECK_STR(t->stage->wrong, NULL);
    stage_free(t->stage);
}
