/* The library in a simulated world, under random schedules: see schedule.h and oracle.h.
 *
 *   sim [--schedules N] [--seconds S] [--from SEED]    many seeds, on all processors
 *   sim --seed N                                       that one, with its trace
 *   sim --retain ...                                   the same, and a third of the mutexes retain
 *   sim --share ...                                    the same with read-write locks
 *   sim --permits ...                                  the same with semaphores
 *   sim --leases ...                                   the same with semaphores in Curator's layout
 *   sim --lacking ...                                  on servers that do not know all operations
 *   sim --members ...                                  members of groups and observers instead
 *
 *   sim [--full]                                       some of each sort
 *
 * Without a sort it plays a quarter as many again with --retain, and with --share, and some with
 * --permits, with --leases, with --lacking (with --retain, too) and with --members.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "schedule.h"
#include "seeds.h"
#include "workers.h"
#include "world/world.h"

/* With those of play_others() 5,000, or 10,000. FEW: by chance they may lack what is rare. */
enum { SCHEDULES = 2660, SCHEDULES_FULL = 5300, SCHEDULES_INSTRUMENTED = 300, FEW = 530 };

static struct {
    gint64 schedules, seconds, from, seed;
    gboolean retain, share, permits, leases, lacking, members, full;
} asked = {.schedules = 0, .seconds = 0, .from = 1, .seed = -1};

static const GOptionEntry entries[] = {
    {"schedules", 0, 0, G_OPTION_ARG_INT64, &asked.schedules, "how many", "N"},
    {"seconds", 0, 0, G_OPTION_ARG_INT64, &asked.seconds, "for how long", "S"},
    {"from", 0, 0, G_OPTION_ARG_INT64, &asked.from, "the first seed", "SEED"},
    {"seed", 0, 0, G_OPTION_ARG_INT64, &asked.seed, "play that one and write its trace", "SEED"},
    {"retain", 0, 0, G_OPTION_ARG_NONE, &asked.retain, "a third of the mutexes retain", NULL},
    {"share", 0, 0, G_OPTION_ARG_NONE, &asked.share, "all mutexes are read-write locks", NULL},
    {"permits", 0, 0, G_OPTION_ARG_NONE, &asked.permits, "or semaphores", NULL},
    {"leases", 0, 0, G_OPTION_ARG_NONE, &asked.leases, "or those in Curator's layout", NULL},
    {"lacking", 0, 0, G_OPTION_ARG_NONE, &asked.lacking, "servers do not know all operations",
     NULL},
    {"members", 0, 0, G_OPTION_ARG_NONE, &asked.members, "or members of groups", NULL},
    {"full", 0, 0, G_OPTION_ARG_NONE, &asked.full, "twice as many of each sort", NULL},
    G_OPTION_ENTRY_NULL,
};

static bool parse(int argc, char **argv)
{
    GOptionContext *context = g_option_context_new("- random schedules in a simulated world");
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    bool good = g_option_context_parse(context, &argc, &argv, &error);
    if (!good)
        fprintf(stderr, "sim: %s\n", error->message);
    g_clear_error(&error);
    g_option_context_free(context);
    return good;
}

static uint64_t usual_schedules(void)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");

    if (asked.full)
        return SCHEDULES_FULL;
    return instrumented && *instrumented ? SCHEDULES_INSTRUMENTED : SCHEDULES;
}

static struct workers_plan make_plan(void)
{
    struct workers_plan plan = {.from = (uint64_t)asked.from,
                                .schedules = (uint64_t)asked.schedules,
                                .seconds = asked.seconds,
                                .workers = MIN(g_get_num_processors(), WORKERS_MAX)};

    if (plan.schedules == 0)
        plan.schedules = plan.seconds ? UINT64_MAX : usual_schedules();
    return plan;
}

static void report(const struct workers_result *result, int64_t began)
{
    double seconds = (double)(g_get_monotonic_time() - began) / G_USEC_PER_SEC;

    printf("%" G_GUINT64_FORMAT " schedules in %.1f s: %.0f schedules/s, %.0f steps/s\n",
           result->schedules, seconds, (double)result->schedules / seconds,
           (double)result->tally.steps / seconds);
    tally_print(&result->tally);
}

static void explain(const struct workers_result *result)
{
    for (unsigned i = 0; i < result->failures; i++)
        printf("seed %" G_GUINT64_FORMAT ": %s\n", result->failed[i].seed, result->failed[i].text);
    if (result->failures == 0)
        return;
    workers_replay(result->failed[0].seed);
    printf("Again: tests/sim/sim%s%s --seed %" G_GUINT64_FORMAT "\n",
           schedule_lacking ? " --lacking" : "",
           client_retaining  ? " --retain"
           : client_sharing  ? " --share"
           : client_leasing  ? " --leases"
           : client_counting ? " --permits"
           : client_grouping ? " --members"
                             : "",
           result->failed[0].seed);
}

static unsigned play_known(const struct known_seed *known, size_t count)
{
    struct workers_result result;
    unsigned failures = 0;

    for (size_t i = 0; i < count; i++) {
        workers_play(&(struct workers_plan){.from = known[i].seed, .schedules = 1, .workers = 1},
                     &result);
        if (result.failures > 0)
            printf("%s\n", known[i].found);
        explain(&result);
        failures += result.failures;
    }
    return failures;
}

/* How many of two things failed: the schedules, and that they have seen enough. */
static unsigned play_plan(const struct workers_plan *plan)
{
    struct workers_result result;
    int64_t began = g_get_monotonic_time();

    workers_play(plan, &result);
    report(&result, began);
    explain(&result);
    const bool enough = result.schedules < FEW || tally_suffices(&result.tally, result.schedules);
    return (result.failures > 0 ? 1U : 0U) + (enough ? 0U : 1U);
}

/* One of these, or none: as it is without. */
enum sort { SORT_MIXED, SORT_RETAIN, SORT_SHARE, SORT_PERMITS, SORT_LEASES, SORT_MEMBERS };

static enum sort asked_sort(void)
{
    return asked.retain    ? SORT_RETAIN
           : asked.share   ? SORT_SHARE
           : asked.permits ? SORT_PERMITS
           : asked.leases  ? SORT_LEASES
           : asked.members ? SORT_MEMBERS
                           : SORT_MIXED;
}

static void choose(enum sort sort)
{
    client_retaining = sort == SORT_RETAIN;
    client_sharing = sort == SORT_SHARE;
    client_leasing = sort == SORT_LEASES;
    client_counting = sort == SORT_PERMITS || client_leasing;
    client_grouping = sort == SORT_MEMBERS;
}

static unsigned play_sort(const struct workers_plan *plan, enum sort sort)
{
    choose(sort);
    return play_plan(plan);
}

/* Without arguments: the sorts that have arguments of their own. */
static unsigned play_others(struct workers_plan plan)
{
    const uint64_t schedules = plan.schedules;
    unsigned failed = 0;

    plan.schedules = schedules / 4;
    failed += play_sort(&plan, SORT_RETAIN);
    failed += play_sort(&plan, SORT_SHARE);
    plan.schedules = schedules / 30;
    failed += play_sort(&plan, SORT_PERMITS);
    failed += play_sort(&plan, SORT_LEASES);
    plan.schedules = schedules / 5;
    schedule_lacking = true;
    failed += play_sort(&plan, SORT_MIXED);
    failed += play_sort(&plan, SORT_RETAIN);
    schedule_lacking = false;
    return failed + play_sort(&plan, SORT_MEMBERS);
}

static int play_many(void)
{
    struct workers_plan plan = make_plan();
    unsigned failed = 0, played = (unsigned)(seeds_count + retain_seeds_count + member_seeds_count +
                                             lacking_seeds_count) +
                                  2;

    schedule_lacking = false;
    choose(SORT_MIXED);
    failed += play_known(seeds, seeds_count);
    choose(SORT_RETAIN);
    failed += play_known(retain_seeds, retain_seeds_count);
    choose(SORT_MEMBERS);
    failed += play_known(member_seeds, member_seeds_count);
    choose(SORT_MIXED);
    schedule_lacking = true;
    failed += play_known(lacking_seeds, lacking_seeds_count);
    schedule_lacking = asked.lacking;
    failed += play_sort(&plan, asked_sort());
    if (asked_sort() == SORT_MIXED && !asked.lacking && asked.schedules == 0 &&
        asked.seconds == 0) {
        failed += play_others(plan);
        played += 14;
    }
    printf("%u passed, %u failed, 0 skipped\n", played - failed, failed);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv))
        return 99;
    timers_by_hand = true;
    session_store = &world_store;
    choose(asked_sort());
    schedule_lacking = asked.lacking;
    if (asked.seed >= 0)
        return workers_replay((uint64_t)asked.seed) ? 0 : 1;
    return play_many();
}
