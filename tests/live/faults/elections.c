/* elections [--rounds N] [PATTERN…]: five candidates, and what ends a leader's term, again and
 * again. The history decides; how long it took until the next one led is printed. */
#include "scenario.h"
#include "tests/history/worker.h"

#include "tests/support/raw.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_SUITE(elections, .init = scenario_init);

enum { CANDIDATES = 5, ROUNDS = 4, AIM_MS = TIMEOUT_MS + TICK_MS * 3 / 2 + 2000 };

static int rounds;
static struct raw *admin;

static int leading(void)
{
    for (int w = 0; w < CANDIDATES; w++)
        if (scene_holds(&scene, w))
            return w;
    return -1;
}

/* A node of the line, and its candidate. */
struct place {
    int worker;
    struct Stat stat;
};

static bool read_place(const char *child, struct place *ret)
{
    char *node = g_strdup_printf("/faults/0/%s", child);
    char *id = raw_get(admin, node, &ret->stat);
    bool ok = id && sscanf(id, "w%d.", &ret->worker) == 1 && ret->worker < CANDIDATES;

    free(id);
    g_free(node);
    return ok;
}

/* One place for each candidate and no other: whose session has ended may have left an old one. */
static bool read_line(struct place line[CANDIDATES])
{
    char **children = raw_children(admin, "/faults/0");
    int seen = 0;
    bool whole = children && g_strv_length(children) == CANDIDATES;

    for (int i = 0; i < CANDIDATES && whole; i++) {
        whole = read_place(children[i], &line[i]);
        seen |= whole ? 1 << line[i].worker : 0;
    }
    g_strfreev(children);
    return seen == (1 << CANDIDATES) - 1;
}

static bool all_stand(struct place line[CANDIDATES], int *ret_first)
{
    int waiting = 0;

    for (int w = 0; w < CANDIDATES; w++)
        waiting += scene_waits(&scene, w);
    *ret_first = leading();
    return waiting == CANDIDATES - 1 && *ret_first >= 0 && read_line(line);
}

/* Awaits one leader and four in line, and records the line. */
static int settle(void)
{
    struct place line[CANDIDATES];
    int first;

    SCENARIO_UNTIL(all_stand(line, &first));
    for (int i = 0; i < CANDIDATES; i++)
        if (line[i].worker != first)
            scene_record(&scene, line[i].worker, EV_LINE, line[i].stat.ephemeralOwner,
                         (uint64_t)line[i].stat.czxid);
    return first;
}

/* When somebody else began to lead after that instant; 0: nobody yet. */
static int64_t next_led(int old_pid, int64_t since)
{
    scene_poll(&scene);
    for (guint i = 0; i < scene.h->events->len; i++) {
        const event *e = &g_array_index(scene.h->events, event, i);

        if (e->kind == EV_GRANT && e->ns > since && e->pid != old_pid)
            return e->ns;
    }
    return 0;
}

static gint by_size(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_times(GArray *times)
{
    guint n = times->len, late = 0;

    g_array_sort(times, by_size);
    for (guint i = 0; i < n; i++)
        late += g_array_index(times, int64_t, i) > AIM_MS * INT64_C(1000000);
    printf("  %s: the next one led after %.0f / %.0f / %.0f ms (least, median, most of %u); aim %d "
           "ms, missed %u times\n",
           runner_current(), (double)g_array_index(times, int64_t, 0) / 1e6,
           (double)g_array_index(times, int64_t, n / 2) / 1e6,
           (double)g_array_index(times, int64_t, n - 1) / 1e6, n, AIM_MS, late);
}

/* A way to end a term, and what undoes it once somebody else leads. */
struct deed {
    void (*begin)(int worker);
    void (*end)(int worker);
};

static void play(const struct deed *deed)
{
    GArray *times = g_array_new(FALSE, FALSE, sizeof(int64_t));

    scenario_begin_election();
    admin = raw_open(zk_server_connect(scene.server));
    REQUIRE(admin != NULL);
    for (int w = 0; w < CANDIDATES; w++)
        holder_at(-1);
    for (int left = scenario_rounds(rounds); left > 0; left--) {
        int first = settle(), pid = scene.actor[first].pid;
        int64_t since = history_now(), led;

        scene_record(&scene, first, EV_FAULT, left, 0);
        deed->begin(first);
        SCENARIO_UNTIL((led = next_led(pid, since)) != 0);
        led -= since;
        g_array_append_val(times, led);
        if (deed->end)
            deed->end(first);
    }
    settle();
    print_times(times);
    g_array_free(times, TRUE);
    raw_close(admin);
    scenario_end();
}

static void replace(int worker)
{
    CHECK(scene_replace(&scene, worker));
}

TEST_CASE(killed)
{
    play(&(struct deed){.begin = replace});
}

static void stop(int worker)
{
    scene_stop_worker(&scene, worker);
}

static void let_on(int worker)
{
    scene_let_on(&scene, worker);
}

TEST_CASE(stopped)
{
    play(&(struct deed){stop, let_on});
}

static void cut(int worker)
{
    for (int n = 0; n < NODES; n++)
        proxy_freeze(scene.actor[worker].way[n], PROXY_BOTH);
}

static void mend(int worker)
{
    for (int n = 0; n < NODES; n++)
        proxy_thaw(scene.actor[worker].way[n]);
}

TEST_CASE(cut_off)
{
    play(&(struct deed){cut, mend});
}

static void resign(int worker)
{
    scene_next(&scene, worker);
}

TEST_CASE(resigned)
{
    play(&(struct deed){.begin = resign});
}

int main(int argc, char **argv)
{
    int options = 0;

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    if (argc > 2 && strcmp(argv[1], "--rounds") == 0)
        options = 2;
    rounds = options > 0 ? atoi(argv[2]) : ROUNDS;
    signal(SIGPIPE, SIG_IGN); /* a worker that was killed takes no orders */
    return runner_main(argc - options, argv + options);
}
