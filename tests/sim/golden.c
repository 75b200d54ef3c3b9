/* Compares what scenes tell with what is expected of them, byte by byte: tests/sim/golden/NAME.txt.
 * It shows too that a seed is all it takes to see a run again.
 *
 *   golden --update DIR    writes what is expected, as it is now, to DIR: read the difference */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "runner.h"
#include "scenes.h"
#include "schedule.h"

TEST_SUITE(golden);

enum { REPLAYS = 30 };

static char *expected_file(const char *directory, const char *name)
{
    return g_strdup_printf("%s/%s.txt", directory, name);
}

static const char *expected_directory(void)
{
    static char *directory;
    const char *root = g_getenv("top_srcdir");

    if (!directory)
        directory = g_build_filename(root ? root : ".", "tests", "sim", "golden", NULL);
    return directory;
}

/* The first line that differs says more than two whole texts. */
static void compare(const char *name, const char *actual, const char *expected)
{
    char **is = g_strsplit(actual, "\n", -1), **should = g_strsplit(expected, "\n", -1);
    guint i = 0;

    while (is[i] && should[i] && strcmp(is[i], should[i]) == 0)
        i++;
    if (is[i] || should[i])
        runner_fail(__FILE__, __LINE__, "%s.txt, line %u:\n    is     %s\n    should %s", name,
                    i + 1, is[i] ? is[i] : "(the end)", should[i] ? should[i] : "(the end)");
    g_strfreev(is);
    g_strfreev(should);
}

TEST_CASE(scenes)
{
    for (size_t i = 0; i < scenes_count; i++) {
        char *wrong, *expected = NULL;
        char *actual = scene_play(&scenes[i], &wrong);
        char *file = expected_file(expected_directory(), scenes[i].name);
        CHECK_STR(wrong, NULL);
        if (CHECK(g_file_get_contents(file, &expected, NULL, NULL)))
            compare(scenes[i].name, actual, expected);
        g_free(wrong);
        g_free(actual);
        g_free(expected);
        g_free(file);
    }
}

static char *record(uint64_t seed)
{
    struct trace *trace = trace_new(NULL, true);
    struct tally tally = {0};

    g_free(schedule_play(seed, trace, &tally));
    char *text = g_strdup(trace_text(trace));
    trace_free(trace);
    return text;
}

TEST_CASE(replay)
{
    for (uint64_t seed = 1; seed <= REPLAYS; seed++) {
        char *once = record(seed), *again = record(seed);
        CHECK(strlen(once) > 1000);
        compare("seed", again, once);
        g_free(once);
        g_free(again);
    }
}

TEST_CASE(seeds_differ)
{
    char *one = record(1), *other = record(2);

    CHECK(strcmp(one, other) != 0);
    g_free(one);
    g_free(other);
}

static int update(const char *directory)
{
    int failed = 0;

    for (size_t i = 0; i < scenes_count; i++) {
        char *wrong, *file = expected_file(directory, scenes[i].name);
        char *actual = scene_play(&scenes[i], &wrong);
        if (wrong || !g_file_set_contents(file, actual, -1, NULL)) {
            fprintf(stderr, "%s: %s\n", file, wrong ? wrong : "cannot be written");
            failed = 1;
        }
        g_free(wrong);
        g_free(actual);
        g_free(file);
    }
    return failed;
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    if (argc == 3 && strcmp(argv[1], "--update") == 0)
        return update(argv[2]);
    return runner_main(argc, argv);
}
