/* Each request to the store, failed in turn in each way, over scenarios in a simulated world. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "store_rules.h"
#include "store_scenes.h"

TEST_SUITE(store);

enum { NTH_MAX = 500, FAILURES_MAX = 3, RUNS_MIN = 4000 };
#define KINDS (STORE_MULTI + 1)

static unsigned runs, failed_requests[KINDS][WAYS];
static unsigned told[-ZKL_ELAYOUT + 1]; /* codes, while something failed */

/* A contender that comes next is served, once nothing fails any more. */
static void play_newcomer(void)
{
    struct acquisition *t = stage_lock(stage_join("newcomer"), LOCK_PATH, 30000);

    stage_await(t);
    MUST(t->code == 0);
    stage_release(t);
    rules_at_end();
}

static struct outcomes play(const struct scene *scene, int servers, enum way way, unsigned nth)
{
    rules_name(scene->name, way, nth);
    stage_begin(servers);
    store_fault_set(way, nth);
    scene->fn();
    rules_at_end();
    store_fault_end();
    struct outcomes o = rules_outcomes();
    play_newcomer();
    stage_end();
    return o;
}

static char *describe(const struct outcomes *o)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i + 1 < stage.acquisition_count; i++) /* but the newcomer's */
        g_string_append_printf(text, "%s%d%s", i ? " " : "", o->codes[i], o->lost[i] ? "-" : "");
    for (unsigned i = 0; i < stage.transaction_count; i++)
        g_string_append_printf(text, "%s%d", i ? " " : "; ", o->answers[i]);
    return g_string_free(text, FALSE);
}

static void count_codes(const struct outcomes *o)
{
    for (unsigned i = 0; i < ACQUISITIONS_MAX; i++)
        told[-o->codes[i]]++;
    for (unsigned i = 0; i < TRANSACTIONS_MAX; i++)
        told[-o->answers[i]]++;
}

/* For every request that the scene makes; a fault can make it longer. */
static void play_way(const struct scene *scene, int servers, enum way way,
                     const struct outcomes *usual)
{
    unsigned failures = 0;

    for (unsigned nth = 1; nth <= NTH_MAX && failures < FAILURES_MAX; nth++) {
        struct outcomes o = play(scene, servers, way, nth);
        if (!store_fault_reached())
            return;
        runs++;
        failed_requests[store_fault_kind()][way]++;
        rules_compare(usual, &o, scene->also);
        count_codes(&o);
        failures += stage.failed;
    }
    CHECK(failures > 0); /* or it goes on for ever */
}

static void play_all(const struct scene *scene, int servers)
{
    struct outcomes usual = play(scene, servers, WAY_NONE, 0);
    char *outcome = describe(&usual);
    unsigned before = runs, requests = store_fault_count();

    CHECK_STR(outcome, scene->outcome);
    CHECK(requests >= scene->requests);
    for (enum way way = WAY_NONE + 1; way < WAYS; way++)
        play_way(scene, servers, way, &usual);
    printf("%s, %d servers: %u requests, %u runs\n", scene->name, servers, requests, runs - before);
    g_free(outcome);
}

/* Beside three servers the library syncs, which a long hold shows, and else does the same: that
 * scene does for a sanitizer. */
static bool plays_trio(const struct scene *scene)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");
    const bool plain = !instrumented || !*instrumented;

    return scene->trio && (plain || strcmp(scene->name, "long_hold") == 0);
}

static void play_scene(void)
{
    const char *name = strchr(runner_current(), '.') + 1;
    const struct scene *scene = scenes;

    while (strcmp(scene->name, name) != 0)
        scene++;
    play_all(scene, 1);
    if (plays_trio(scene))
        play_all(scene, 3);
}

/* Every kind of request was failed in every way, and that was felt. */
TEST_CASE(floors)
{
    static const int codes[] = {ZKL_EACCES,   ZKL_EPROTO,    ZKL_ELOST,
                                ZKL_EUNKNOWN, ZKL_EOVERFLOW, ZKL_ETIMEDOUT,
                                ZKL_EBUSY,    ZKL_ECANCELED, ZKL_ELAYOUT};

    if (runs == 0)
        runner_skip("no scene was played");
    for (int kind = 0; kind < KINDS; kind++) {
        for (enum way way = WAY_NONE + 1; way < WAYS; way++) {
            if (failed_requests[kind][way] == 0 && kind != STORE_STAT) /* only observers ask it */
                runner_fail(__FILE__, __LINE__, "no request of kind %d: %s", kind, way_names[way]);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        printf("%s: told %u times\n", zkl_strerror(codes[i]), told[-codes[i]]);
        CHECK(told[-codes[i]] > 0);
    }
    CHECK(runs > RUNS_MIN);
    printf("%u runs\n", runs);
}

int main(int argc, char **argv)
{
    static struct test_case cases[64];
    unsigned count = 0;

    for (const struct scene *s = scenes; s->name; s++) {
        cases[count] = (struct test_case){.name = s->name, .fn = play_scene};
        runner_add(&this_suite, &cases[count++]);
    }
    return runner_main(argc, argv);
}
