/* The library in a simulated world, under random schedules: see schedule.h and oracle.h.
 *
 *   sim [--schedules N] [--seconds S] [--from SEED]    many seeds, on all processors
 *   sim --seed N                                       that one, with its trace
 *   sim --retain ...                                   the same, and a third of the mutexes retain
 *   sim --share ...                                    the same with read-write locks
 *   sim --permits ...                                  the same with semaphores
 *   sim --leases ...                                   the same with semaphores in Curator's layout
 *   sim --lacking ...                                  on servers that do not know all operations
 *   sim --odd ...                                      on odd ones: see struct world_config
 *   sim --late ...                                     on those where requests come late
 *   sim --members ...                                  members of groups and observers instead
 *   sim --cool ...                                     waiters wait for long
 *
 *   sim [--full]                                       some of each sort
 *
 * Without a sort it plays a quarter as many again with --retain, and with --share, and some with
 * --permits, with --leases, with --lacking (with --retain, too), with --odd, with --members,
 * with --cool, and with --late (with --members, too).
 *
 * First it plays the schedules that tests/mutants/faults.txt names: each of them sees that a rule
 * is taken out (tests/lint/schedules.sh). They depend on how schedules are drawn, and on what the
 * library asks: a change of that needs new ones.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "schedule.h"
#include "world/world.h"

/* ---- sorts ---- */

/* One of these, or none: as it is without. */
enum sort {
    SORT_MIXED,
    SORT_RETAIN,
    SORT_SHARE,
    SORT_PERMITS,
    SORT_LEASES,
    SORT_MEMBERS,
    SORT_COOL,
    SORTS
};

static const char *const sort_options[SORTS] = {
    [SORT_MIXED] = "",           [SORT_RETAIN] = " --retain",
    [SORT_SHARE] = " --share",   [SORT_PERMITS] = " --permits",
    [SORT_LEASES] = " --leases", [SORT_MEMBERS] = " --members",
    [SORT_COOL] = " --cool",
};

static enum sort chosen;

static const char *const servers_options[] = {[SERVERS_USUAL] = "",
                                              [SERVERS_LACKING] = " --lacking",
                                              [SERVERS_ODD] = " --odd",
                                              [SERVERS_LATE] = " --late"};

static void choose(enum sort sort, enum servers servers)
{
    chosen = sort;
    client_retaining = sort == SORT_RETAIN;
    client_sharing = sort == SORT_SHARE;
    client_leasing = sort == SORT_LEASES;
    client_counting = sort == SORT_PERMITS || client_leasing;
    client_grouping = sort == SORT_MEMBERS;
    client_cooling = sort == SORT_COOL;
    schedule_servers = servers;
}

/* Without a sort these are played as well, so many of all schedules. */
static const struct {
    enum sort sort;
    enum servers servers;
    unsigned part;
} others[] = {{SORT_RETAIN, SERVERS_USUAL, 4},   {SORT_SHARE, SERVERS_USUAL, 4},
              {SORT_PERMITS, SERVERS_USUAL, 30}, {SORT_LEASES, SERVERS_USUAL, 30},
              {SORT_MIXED, SERVERS_LACKING, 5},  {SORT_RETAIN, SERVERS_LACKING, 5},
              {SORT_MIXED, SERVERS_ODD, 5},      {SORT_RETAIN, SERVERS_ODD, 20},
              {SORT_MEMBERS, SERVERS_USUAL, 5},  {SORT_MIXED, SERVERS_LATE, 20},
              {SORT_MEMBERS, SERVERS_LATE, 20},  {SORT_COOL, SERVERS_USUAL, 10}};

/* ---- child processes that play schedules, each its share of the seeds ---- */

struct workers_plan {
    uint64_t from, schedules; /* seeds: schedules of them, UINT64_MAX: without end */
    int64_t seconds;          /* stop after that, 0: not */
    unsigned workers;
};

enum { WORKERS_MAX = 64, WORKERS_TEXT = 400 };

struct workers_result {
    uint64_t schedules; /* that ended well */
    struct tally tally;
    unsigned failures;
    struct {
        uint64_t seed;
        char text[WORKERS_TEXT];
    } failed[WORKERS_MAX];
};

/* Shared with its child. */
struct share {
    uint64_t seed; /* that it is at */
    uint64_t schedules;
    struct tally tally;
    char text[WORKERS_TEXT];
};

static void play_share(const struct workers_plan *plan, unsigned worker, struct share *share)
{
    int64_t until =
        plan->seconds ? g_get_monotonic_time() + plan->seconds * G_USEC_PER_SEC : INT64_MAX;

    for (uint64_t i = worker; i < plan->schedules; i += plan->workers) {
        share->seed = plan->from + i;
        char *wrong = schedule_play(share->seed, NULL, &share->tally);
        if (wrong) {
            g_strlcpy(share->text, wrong, sizeof share->text);
            _exit(1);
        }
        share->schedules++;
        if (g_get_monotonic_time() > until)
            break;
    }
    _exit(0);
}

static void *share_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        g_error("mmap: %s", g_strerror(errno));
    return memory;
}

static pid_t start(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        g_error("fork: %s", g_strerror(errno));
    return pid;
}

static void collect(const struct share *share, int status, struct workers_result *ret)
{
    ret->schedules += share->schedules;
    tally_add(&ret->tally, &share->tally);
    if (status == 0)
        return;
    ret->failed[ret->failures].seed = share->seed;
    if (share->text[0])
        g_strlcpy(ret->failed[ret->failures].text, share->text, WORKERS_TEXT);
    else
        snprintf(ret->failed[ret->failures].text, WORKERS_TEXT, "its process ended by %s %d",
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ret->failures++;
}

/* A child that finds something wrong, or crashes, ends; the seed it was at is known. */
static void workers_play(const struct workers_plan *plan, struct workers_result *ret)
{
    size_t size = sizeof(struct share) * plan->workers;
    struct share *shares = share_memory(size);
    pid_t pids[WORKERS_MAX];
    int status;

    *ret = (struct workers_result){0};
    for (unsigned i = 0; i < plan->workers; i++) {
        pids[i] = start();
        if (pids[i] == 0)
            play_share(plan, i, &shares[i]);
    }
    for (unsigned i = 0; i < plan->workers; i++) {
        waitpid(pids[i], &status, 0);
        collect(&shares[i], status, ret);
    }
    munmap(shares, size);
}

static bool replay(uint64_t seed)
{
    struct tally tally = {0};
    struct trace *trace = trace_new(stdout, true);
    char *wrong = schedule_play(seed, trace, &tally);

    printf("seed %" G_GUINT64_FORMAT ": %s\n", seed, wrong ? wrong : "all is well");
    tally_print(&tally);
    fflush(stdout);
    trace_free(trace);
    bool well = !wrong;
    g_free(wrong);
    return well;
}

/* Plays the schedule of that seed in a child process, so that we survive its crash. The child
 * writes the trace to stdout. Returns whether it ended well. */
static bool workers_replay(uint64_t seed)
{
    int status;
    pid_t pid = start();

    if (pid == 0)
        _exit(replay(seed) ? 0 : 1);
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("seed %" G_GUINT64_FORMAT ": killed by signal %d\n", seed, WTERMSIG(status));
    return status == 0;
}

/* ---- what is asked for ---- */

/* With those of play_others() 5,000, or 10,000. FEW: by chance they may lack what is rare. */
enum { SCHEDULES = 2660, SCHEDULES_FULL = 5300, SCHEDULES_INSTRUMENTED = 300, FEW = 530 };

static struct asked {
    gint64 schedules, seconds, from, seed;
    gboolean sorts[SORTS], lacking, odd, late, full;
} asked;

static const struct asked asked_nothing = {.schedules = 0, .seconds = 0, .from = 1, .seed = -1};

static const GOptionEntry entries[] = {
    {"schedules", 0, 0, G_OPTION_ARG_INT64, &asked.schedules, "how many", "N"},
    {"seconds", 0, 0, G_OPTION_ARG_INT64, &asked.seconds, "for how long", "S"},
    {"from", 0, 0, G_OPTION_ARG_INT64, &asked.from, "the first seed", "SEED"},
    {"seed", 0, 0, G_OPTION_ARG_INT64, &asked.seed, "play that one and write its trace", "SEED"},
    {"retain", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_RETAIN], "a third of the mutexes retain",
     NULL},
    {"share", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_SHARE], "all mutexes are read-write locks",
     NULL},
    {"permits", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_PERMITS], "or semaphores", NULL},
    {"leases", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_LEASES], "or those in Curator's layout",
     NULL},
    {"lacking", 0, 0, G_OPTION_ARG_NONE, &asked.lacking, "servers do not know all operations",
     NULL},
    {"odd", 0, 0, G_OPTION_ARG_NONE, &asked.odd, "servers are odd", NULL},
    {"late", 0, 0, G_OPTION_ARG_NONE, &asked.late, "requests come late", NULL},
    {"members", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_MEMBERS], "or members of groups", NULL},
    {"cool", 0, 0, G_OPTION_ARG_NONE, &asked.sorts[SORT_COOL], "waiters wait for long", NULL},
    {"full", 0, 0, G_OPTION_ARG_NONE, &asked.full, "twice as many of each sort", NULL},
    G_OPTION_ENTRY_NULL,
};

static enum sort asked_sort(void)
{
    enum sort sort = SORTS - 1;

    while (sort > SORT_MIXED && !asked.sorts[sort])
        sort--;
    return sort;
}

static enum servers asked_servers(void)
{
    return asked.late      ? SERVERS_LATE
           : asked.odd     ? SERVERS_ODD
           : asked.lacking ? SERVERS_LACKING
                           : SERVERS_USUAL;
}

static bool parse(char **arguments)
{
    GOptionContext *context = g_option_context_new("- random schedules in a simulated world");
    GError *error = NULL;
    char **words = g_strdupv(arguments);

    asked = asked_nothing;
    g_option_context_add_main_entries(context, entries, NULL);
    bool good = g_option_context_parse_strv(context, &words, &error);
    g_strfreev(words);
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
           servers_options[schedule_servers], sort_options[chosen], result->failed[0].seed);
}

/* Plays the schedule of a line of faults.txt: "@", and what we are asked for to play it. */
static unsigned play_known(const char *line, const char *fault)
{
    struct workers_result result;
    const struct asked own = asked;
    char **arguments = g_strsplit(line, " ", -1);

    if (!parse(arguments))
        g_error("faults.txt: %s", line);
    choose(asked_sort(), asked_servers());
    workers_play(&(struct workers_plan){.from = (uint64_t)asked.seed, .schedules = 1, .workers = 1},
                 &result);
    asked = own;
    g_strfreev(arguments);
    if (result.failures > 0)
        printf("%s\n", fault);
    explain(&result);
    return result.failures;
}

static unsigned play_all_known(unsigned *ret_played)
{
    const char *root = g_getenv("top_srcdir"), *fault = "";
    char *file = g_build_filename(root ? root : ".", "tests", "mutants", "faults.txt", NULL);
    char *text;
    unsigned failed = 0;

    *ret_played = 0;
    if (!g_file_get_contents(file, &text, NULL, NULL))
        g_error("there is no %s", file);
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "* "))
            fault = *line + 2;
        if (!g_str_has_prefix(*line, "@ "))
            continue;
        failed += play_known(*line, fault);
        ++*ret_played;
    }
    g_strfreev(lines);
    g_free(text);
    g_free(file);
    return failed;
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

static unsigned play_others(struct workers_plan plan)
{
    const uint64_t schedules = plan.schedules;
    unsigned failed = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        plan.schedules = schedules / others[i].part;
        choose(others[i].sort, others[i].servers);
        failed += play_plan(&plan);
    }
    return failed;
}

static int play_many(void)
{
    struct workers_plan plan = make_plan();
    const enum sort sort = asked_sort();
    unsigned played, failed = play_all_known(&played);

    choose(sort, asked_servers());
    failed += play_plan(&plan);
    played += 2;
    if (sort == SORT_MIXED && asked_servers() == SERVERS_USUAL && asked.schedules == 0 &&
        asked.seconds == 0) {
        failed += play_others(plan);
        played += 2 * G_N_ELEMENTS(others);
    }
    printf("%u passed, %u failed, 0 skipped\n", played - failed, failed);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!parse(argv))
        return 99;
    timers_by_hand = true;
    session_store = &world_store;
    choose(asked_sort(), asked_servers());
    if (asked.seed >= 0)
        return workers_replay((uint64_t)asked.seed) ? 0 : 1;
    return play_many();
}
