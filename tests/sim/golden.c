/* Compares what scenes tell with what is expected of them, byte by byte:
 * tests/sim/golden/scenes.txt. It shows too that a seed is all it takes to see a run again.
 *
 *   golden --update FILE    writes what is expected, as it is now, to FILE: read the difference */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "foreign_node.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "runner.h"
#include "schedule.h"

#define MS INT64_C(1000000)

enum { LATENCY_US = 1000, TICK_MS = 2000, TIMEOUT_MS = 6000 };

/* ---- what scenes are told in ---- */

static void wait_ms(struct stage *stage, int64_t ms)
{
    stage_run(stage, stage_now(stage) + ms * MS, NULL, NULL);
}

static void say(struct stage *stage, const char *what)
{
    trace_line(stage->trace, stage_now(stage), "", "-- %s", what);
}

static struct client *start(struct stage *stage, const char *name)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct client *c;

    options.session_timeout_ms = TIMEOUT_MS;
    c = client_new(stage, name, 0, &options);
    client_open(c);
    wait_ms(stage, 20);
    return c;
}

/* Holders want to know, and let go of what is lost. */
static void on_turn(struct acquisition *a, enum turn turn)
{
    if (turn == TURN_GRANTED)
        acquisition_watch(a);
    else if (turn == TURN_LOST)
        acquisition_release(a);
}

static struct acquisition *enter(struct client *c)
{
    return acquisition_enter(c, 0, ZKL_FOREVER, on_turn, NULL);
}

static struct acquisition *hold(struct client *c)
{
    struct acquisition *a = enter(c);

    wait_ms(c->stage, 100);
    return a;
}

/* So that the directory is there. */
static void visit(struct client *c)
{
    struct acquisition *a = hold(c);

    acquisition_release(a);
    wait_ms(c->stage, 100);
}

/* ---- the scenes ---- */

static void uncontended(struct stage *stage)
{
    struct client *a = start(stage, "A");

    say(stage, "the first time, the directory is made");
    visit(a);
    say(stage, "the second time, one round trip is enough");
    visit(a);
}

static void hand_over(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B");
    struct acquisition *first = hold(a), *second = hold(b);

    say(stage, "A lets go");
    acquisition_release(first);
    wait_ms(stage, 100);
    acquisition_release(second);
}

static void middle_leaves(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B"), *c = start(stage, "C");
    struct acquisition *first = hold(a), *second = hold(b), *third = hold(c);

    say(stage, "B, between A and C, gives up");
    acquisition_cancel(second);
    wait_ms(stage, 100);
    say(stage, "A lets go");
    acquisition_release(first);
    wait_ms(stage, 100);
    acquisition_release(third);
}

static void lost_create(struct stage *stage, bool after_effect)
{
    struct client *a = start(stage, "A");
    struct acquisition *it;

    visit(a);
    say(stage, after_effect ? "the connection breaks when the node was made"
                            : "the connection breaks before the node was made");
    world_break_at(a->host, 1, after_effect);
    it = enter(a);
    wait_ms(stage, 3000);
    acquisition_release(it);
}

static void create_adopted(struct stage *stage)
{
    lost_create(stage, true);
}

static void create_repeated(struct stage *stage)
{
    lost_create(stage, false);
}

static void reconnect_holding(struct stage *stage)
{
    struct client *a = start(stage, "A");
    struct acquisition *it = hold(a);

    say(stage, "A's connection is reset");
    world_reset(a->host);
    wait_ms(stage, 3000);
    acquisition_release(it);
}

static void expiry(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B");
    struct acquisition *second;

    hold(a);
    second = hold(b);
    say(stage, "A is cut off");
    world_cut(a->host, -1, true, true);
    wait_ms(stage, 2 * TIMEOUT_MS);
    say(stage, "A is back");
    world_heal(a->host, -1);
    wait_ms(stage, TIMEOUT_MS);
    acquisition_release(second);
}

static void reconnect_waiting(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B");
    struct acquisition *first = hold(a), *second = hold(b);

    say(stage, "B's connection is reset, and A lets go meanwhile");
    world_reset(b->host);
    acquisition_release(first);
    wait_ms(stage, 3000);
    acquisition_release(second);
}

static void cancel_creating(struct stage *stage)
{
    struct client *a = start(stage, "A");
    struct acquisition *it;

    visit(a);
    it = enter(a);
    stage_run(stage, stage_now(stage) + LATENCY_US * 500, NULL, NULL);
    say(stage, "the create is on its way");
    acquisition_cancel(it);
}

/* Another lock is held, so the session stays. */
static void create_unsettled(struct stage *stage)
{
    struct client *a = start(stage, "A");
    struct acquisition *held, *it;

    visit(a);
    held = acquisition_enter(a, 1, ZKL_FOREVER, on_turn, NULL);
    wait_ms(stage, 100);
    say(stage, "the connection breaks when the node was made, and A gives up");
    world_break_at(a->host, 1, true);
    it = enter(a);
    acquisition_cancel(it);
    say(stage, "nobody may list any more");
    world_refuse(stage->world, STORE_LIST, "/a");
    wait_ms(stage, 2000);
    say(stage, "all may again");
    world_refuse(stage->world, STORE_SYNC, "/");
    wait_ms(stage, 4000);
    visit(a);
    acquisition_release(held);
}

static void administrator(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B");
    struct acquisition *first = hold(a), *second = hold(b);

    say(stage, "somebody deletes A's node");
    world_admin_delete(stage->world, first->node);
    wait_ms(stage, 100);
    acquisition_release(second);
}

static void another_layout(struct stage *stage)
{
    struct client *a = start(stage, "A"), *b = start(stage, "B");

    visit(a);
    say(stage, "a reader of another library stands there");
    const char *reader = foreign_node_place(stage, 0, FOREIGN_READER, 1);
    hold(a);
    say(stage, "and goes");
    world_admin_delete(stage->world, reader);
    struct acquisition *it = hold(a);
    say(stage, "a writer comes behind A, and before B");
    const char *writer = foreign_node_place(stage, 0, FOREIGN_WRITER, 5);
    hold(b);
    acquisition_release(it);
    world_admin_delete(stage->world, writer);
}

static void session_moves(struct stage *stage)
{
    struct client *a = start(stage, "A");
    struct acquisition *it = hold(a);

    for (int server = 0; server < 3; server++) {
        if (server == world_leader(stage->world))
            continue;
        say(stage, "a follower stops, and comes back");
        world_crash_server(stage->world, server, true);
        wait_ms(stage, TIMEOUT_MS);
        world_crash_server(stage->world, server, false);
        wait_ms(stage, TIMEOUT_MS);
    }
    acquisition_release(it);
}

static const struct scene {
    const char *name; /* of its text */
    int servers;
    void (*play)(struct stage *stage);
} scenes[] = {
    {"uncontended", 1, uncontended},
    {"hand_over", 1, hand_over},
    {"middle_leaves", 1, middle_leaves},
    {"create_adopted", 1, create_adopted},
    {"create_repeated", 1, create_repeated},
    {"create_unsettled", 1, create_unsettled},
    {"reconnect_holding", 1, reconnect_holding},
    {"expiry", 1, expiry},
    {"reconnect_waiting", 1, reconnect_waiting},
    {"cancel_creating", 1, cancel_creating},
    {"administrator", 1, administrator},
    {"another_layout", 1, another_layout},
    {"session_moves", 3, session_moves},
};

/* ---- playing one ---- */

static void end(struct stage *stage)
{
    wait_ms(stage, 100);
    oracle_at_rest(stage);
    for (guint i = 0; i < stage->processes->len; i++)
        client_close(stage->processes->pdata[i]);
    wait_ms(stage, 100);
    oracle_at_end(stage);
}

/* Its name and its trace. The oracle must find nothing wrong. */
static bool tell_scene(GString *text, const struct scene *scene)
{
    struct trace *trace = trace_new(NULL, false);
    struct world_config config = {.servers = scene->servers,
                                  .tick_ms = TICK_MS,
                                  .latency_min_us = LATENCY_US,
                                  .latency_max_us = LATENCY_US};
    struct stage *stage = stage_new(1, config, trace);

    stage->oracle.always = true;
    scene->play(stage);
    end(stage);
    g_string_append_printf(text, "==== %s\n%s", scene->name, trace_text(trace));
    const bool well = CHECK_STR(stage->wrong, NULL);
    stage_free(stage);
    trace_free(trace);
    return well;
}

static char *tell_scenes(bool *ret_well)
{
    GString *text = g_string_new(NULL);

    *ret_well = true;
    for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++)
        *ret_well &= tell_scene(text, &scenes[i]);
    return g_string_free(text, FALSE);
}

/* ---- the comparison ---- */

TEST_SUITE(golden);

enum { REPLAYS = 30 };

/* The first line that differs says more than two whole texts. */
static void compare(const char *name, const char *actual, const char *expected)
{
    char **is = g_strsplit(actual, "\n", -1), **should = g_strsplit(expected, "\n", -1);
    guint i = 0;

    while (is[i] && should[i] && strcmp(is[i], should[i]) == 0)
        i++;
    if (is[i] || should[i])
        runner_fail(__FILE__, __LINE__, "%s, line %u:\n    is     %s\n    should %s", name, i + 1,
                    is[i] ? is[i] : "(the end)", should[i] ? should[i] : "(the end)");
    g_strfreev(is);
    g_strfreev(should);
}

TEST_CASE(scenes)
{
    const char *root = g_getenv("top_srcdir");
    char *file = g_build_filename(root ? root : ".", "tests", "sim", "golden", "scenes.txt", NULL);
    char *expected = NULL;
    bool well;
    char *actual = tell_scenes(&well);

    if (CHECK(g_file_get_contents(file, &expected, NULL, NULL)))
        compare("scenes.txt", actual, expected);
    g_free(actual);
    g_free(expected);
    g_free(file);
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

static int update(const char *file)
{
    bool well;
    char *text = tell_scenes(&well);

    well = well && g_file_set_contents(file, text, -1, NULL);
    g_free(text);
    return well ? 0 : 1;
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    if (argc == 3 && strcmp(argv[1], "--update") == 0)
        return update(argv[2]);
    return runner_main(argc, argv);
}
