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

/* Seeds that found something once, in a library with a rule taken out, or in an oracle that asked
 * for too much. They are played first each time. They depend on how schedules are drawn: a change
 * of that needs new seeds. */
static const struct known_seed {
    enum sort sort;
    enum servers servers;
    uint64_t seed;
    const char *found;
} seeds[] = {
    {SORT_MIXED, SERVERS_USUAL, 3933,
     "a deadline from an anchor that the leader was never told of (no relay period)"},
    {SORT_MIXED, SERVERS_USUAL, 131, "a deadline from one answered write"},
    {SORT_MIXED, SERVERS_USUAL, 58, "a deadline without margin for slow clocks"},
    {SORT_MIXED, SERVERS_USUAL, 15,
     "a deadline on one clock only; a list without the own node taken for a proof"},
    {SORT_MIXED, SERVERS_USUAL, 9,
     "a grant without proof of the own node after the predecessor went"},
    {SORT_MIXED, SERVERS_USUAL, 12, "a watch that is kept when its waiter has gone"},
    {SORT_MIXED, SERVERS_USUAL, 3, "a node left when the answer to its delete was lost"},
    {SORT_MIXED, SERVERS_USUAL, 120,
     "a grant kept although it was canceled before it was delivered"},
    {SORT_MIXED, SERVERS_USUAL, 13,
     "latches that wait for nobody; an observer told what another leader had proclaimed"},
    {SORT_MIXED, SERVERS_USUAL, 95, "what is proclaimed, not read again when it changes"},
    {SORT_MIXED, SERVERS_USUAL, 361,
     "a watch on children that is ignored when it fires; an incompatible node that came first "
     "passed by"},
    {SORT_MIXED, SERVERS_USUAL, 289,
     "an incompatible node that came first passed by, beside an election"},
    {SORT_MIXED, SERVERS_USUAL, 285, "a watch on an absent node that nobody remembers"},
    {SORT_MIXED, SERVERS_USUAL, 288,
     "a winner's node left when it resigned while it looked at its rivals"},
    {SORT_MIXED, SERVERS_USUAL, 20,
     "a winner that lets others pass, but stays in line; an observer that trusts an empty list "
     "without a watch on it"},
    {SORT_MIXED, SERVERS_USUAL, 11, "a lock that passes Apache's by"},
    {SORT_MIXED, SERVERS_USUAL, 62,
     "a transaction told to be applied because another one of the grant was"},
    {SORT_MIXED, SERVERS_USUAL, 441, "a lock that is refused behind Apache's"},
    {SORT_MIXED, SERVERS_USUAL, 1010,
     "a watch that was confirmed when its waiter had gone, and is kept"},
    {SORT_MIXED, SERVERS_USUAL, 97,
     "a grant when a deadline came at last, without another look at the own node"},
    {SORT_MIXED, SERVERS_USUAL, 777103316,
     "nothing: a waiter left behind a cut at a server that lagged, before its watch was confirmed"},
    {SORT_MIXED, SERVERS_USUAL, 29129,
     "a node of an unknown create, left where the list that was to find it was refused"},
    {SORT_MIXED, SERVERS_USUAL, 10629,
     "nothing: a proof behind the end of a node that the servers had back since"},
    {SORT_MIXED, SERVERS_USUAL, 70016577,
     "refused for a version that another transaction of the same grant had used up"},
    {SORT_MIXED, SERVERS_USUAL, 2000101526,
     "nothing: a deleted node that a restore brought back, when it had been passed by"},
    {SORT_MIXED, SERVERS_USUAL, 3000034872,
     "nothing: the grant was decided right before its session was proved"},
    {SORT_MIXED, SERVERS_USUAL, 505000081796,
     "nothing: a report told late, of a node whose name had come again since"},
    {SORT_MIXED, SERVERS_USUAL, 3580,
     "a second create of one that was let in while the session before was ending"},
    {SORT_MIXED, SERVERS_USUAL, 3477,
     "a deadline from the time of a reconnect, whose handshake was answered late"},
    {SORT_MIXED, SERVERS_USUAL, 956010428,
     "an observer that reads a leader's node again, but not what is proclaimed"},
    {SORT_RETAIN, SERVERS_USUAL, 1,
     "nobody behind is seen, so that a tenure is idle while others wait"},
    {SORT_RETAIN, SERVERS_USUAL, 7, "the same, where it had begun before they came"},
    {SORT_RETAIN, SERVERS_USUAL, 41002087,
     "nothing: nodes of attempts that had ended, with their deletes under way"},
    {SORT_RETAIN, SERVERS_USUAL, 41018036, "nothing: the same, with their creates undecided"},
    {SORT_RETAIN, SERVERS_USUAL, 880076264,
     "a watch on the children, set behind the own node's end, that is kept"},
    {SORT_RETAIN, SERVERS_USUAL, 953001300,
     "a head that asked for its own node again, and did not count the time of its connection"},
    {SORT_LEASES, SERVERS_USUAL, 953008337,
     "nothing: a lease of one whose lock only nodes stood before that a restore had brought back"},
    {SORT_MEMBERS, SERVERS_USUAL, 5008952,
     "an observer that tells all members as they are read, but not that one has older data"},
    {SORT_MEMBERS, SERVERS_USUAL, 5036026,
     "a node set, and deleted, on another connection than that on which it was seen, "
     "behind a restore"},
    {SORT_MEMBERS, SERVERS_USUAL, 5014326,
     "a member not read again where the same session was let in behind a restore"},
    {SORT_MEMBERS, SERVERS_USUAL, 77000584,
     "a party's member whose node could not be read, and which made another beside it"},
    {SORT_MEMBERS, SERVERS_USUAL, 870064687,
     "a member in again, past its deadline, whose node could not be read and was gone"},
    {SORT_MEMBERS, SERVERS_USUAL, 951001445,
     "a member that came anew while the data went back and grew again, not read again"},
    {SORT_SHARE, SERVERS_LATE, 770872,
     "nothing: a node made late, when the numbers had been used up at one blow"},
    {SORT_MIXED, SERVERS_LATE, 5559660,
     "nothing: an attempt that is granted with its second node, while the first, made late, "
     "stands"},
    {SORT_MIXED, SERVERS_LATE, 971004600,
     "a late delete of a former node, which had the name of the next one"},
    {SORT_MEMBERS, SERVERS_LATE, 973007916,
     "a member's late create, when 20 s had passed by a clock that was ahead"},
    {SORT_MEMBERS, SERVERS_LATE, 974013508,
     "a member that left without seeing whether its late create had made a node"},
    {SORT_RETAIN, SERVERS_USUAL, 973017715,
     "a watch on the children, left by an attempt that had no node"},
    {SORT_MIXED, SERVERS_ODD, 910001446,
     "a deadline renewed by what a deposed leader refused without asking anybody"},
    {SORT_MIXED, SERVERS_LACKING, 870087517,
     "nothing: a watch that nobody wants, whose removal waits behind a create"},
    {SORT_MIXED, SERVERS_LACKING, 954012777,
     "nothing: a watch that stays since the server has hung up on removals"},
    {SORT_MIXED, SERVERS_LACKING, 951009866,
     "a request to give way, made while the data went back and grew again, not heard"},
};

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

static struct {
    gint64 schedules, seconds, from, seed;
    gboolean sorts[SORTS], lacking, odd, late, full;
} asked = {.schedules = 0, .seconds = 0, .from = 1, .seed = -1};

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
           servers_options[schedule_servers], sort_options[chosen], result->failed[0].seed);
}

static unsigned play_known(const struct known_seed *known)
{
    struct workers_result result;

    choose(known->sort, known->servers);
    workers_play(&(struct workers_plan){.from = known->seed, .schedules = 1, .workers = 1},
                 &result);
    if (result.failures > 0)
        printf("%s\n", known->found);
    explain(&result);
    return result.failures;
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
    unsigned failed = 0, played = G_N_ELEMENTS(seeds) + 2;

    for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++)
        failed += play_known(&seeds[i]);
    choose(sort, asked_servers());
    failed += play_plan(&plan);
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
    if (!parse(argc, argv))
        return 99;
    timers_by_hand = true;
    session_store = &world_store;
    choose(asked_sort(), asked_servers());
    if (asked.seed >= 0)
        return workers_replay((uint64_t)asked.seed) ? 0 : 1;
    return play_many();
}
