/* What observers report of many changes of leaders, against the true sequence, which the world's
 * notes tell: the same, with nothing twice, and with gaps only where the observer was away: cut
 * off, stopped, or at a server that lagged. Each leader leads longer than a few round trips. */
#include "candidate.h"
#include "client.h"
#include "lib/base/timers.h"
#include "lib/session/core.h"
#include "onlooker.h"
#include "runner.h"
#include "stage.h"

TEST_SUITE(observers);

#define MS INT64_C(1000000)

enum {
    CANDIDATES = 3,
    OBSERVERS = 3,
    SERVERS = 3,
    LATENCY_US = 1000,
    TIMEOUT_MS = 3000,
    TERM_MS = 60, /* at least */
    BRIEF_MS = 20,
    SLACK_MS = 40, /* to look again, when it is back */
    LIMIT_MS = 3600 * 1000,
    OTHERS_WRITE = 1000
};

struct interval {
    int64_t from, to;
};

struct actor {
    struct candidate *candidate;
    struct alarm yield;
};

struct watch {
    struct client *client;
    struct onlooker *onlooker;
    bool troubled; /* by a fault that lasts */
    GArray *away;  /* of struct interval */
    struct alarm look;
};

static struct show {
    struct stage *stage;
    struct actor actors[CANDIDATES];
    struct watch watches[OBSERVERS];
    struct alarm fault;
    unsigned victim, changes;
    int lagging;               /* a server; -1: none */
    int64_t lag, behind_until; /* what it was told meanwhile comes no sooner for its getting well */
    bool cuts, over;
} show;

/* ---- candidates ---- */

static void on_event(struct candidate *c, zkl_election_event event)
{
    struct actor *actor = c->data;

    if (event != ZKL_ELECTION_LEADING || show.over)
        return;
    candidate_proclaim(c, ZKL_FOREVER);
    actor->yield.at = stage_now(show.stage) + stage_between(show.stage, TERM_MS, 3 * TERM_MS) * MS;
}

static void on_yield(void *data)
{
    const struct actor *actor = data;

    if (candidate_leads(actor->candidate))
        candidate_yield(actor->candidate);
}

/* ---- who is away, and when ---- */

static void add_away(struct watch *w)
{
    int64_t now = stage_now(show.stage);
    struct interval *last =
        w->away->len ? &g_array_index(w->away, struct interval, w->away->len - 1) : NULL;

    if (last && last->to >= now - 2 * MS) {
        last->to = now;
        return;
    }
    const struct interval interval = {now, now};
    g_array_append_val(w->away, interval);
}

/* Every millisecond. */
static void on_look(void *data)
{
    struct watch *w = data;

    bool behind = show.lagging >= 0 || stage_now(show.stage) < show.behind_until;
    if (w->troubled || behind || !w->client->session->up)
        add_away(w);
    w->look.at = stage_now(show.stage) + MS;
}

static bool was_away(const struct watch *w, int64_t from, int64_t to)
{
    for (guint i = 0; i < w->away->len; i++) {
        const struct interval *a = &g_array_index(w->away, struct interval, i);
        if (a->from < to && from < a->to + SLACK_MS * MS)
            return true;
    }
    return false;
}

/* ---- faults ---- */

static void trouble(struct watch *w)
{
    struct stage *stage = show.stage;

    add_away(w);
    switch (stage_below(stage, 5)) {
    case 0:
        world_reset(w->client->host);
        break;
    case 1:
        world_break_at(w->client->host, 1 + stage_below(stage, 6), stage_chance(stage, 50));
        w->troubled = true;
        break;
    case 2:
        client_pause(w->client, false);
        w->troubled = true;
        break;
    case 3:
        show.lagging = (int)stage_below(stage, SERVERS);
        show.lag = stage_between(stage, 10, 500) * MS;
        world_lag(stage->world, show.lagging, show.lag);
        break;
    default:
        world_cut(w->client->host, -1, true, true);
        w->troubled = true;
    }
}

static void heal(struct watch *w)
{
    if (show.lagging >= 0) {
        world_lag(show.stage->world, show.lagging, 0);
        show.behind_until = stage_now(show.stage) + show.lag;
    }
    show.lagging = -1;
    world_heal(w->client->host, -1);
    if (host_is_paused(w->client->host))
        client_resume(w->client);
    w->troubled = false;
}

/* Now for a moment, now longer than any session lasts. */
static void on_fault(void *data)
{
    struct stage *stage = show.stage;

    (void)data;
    heal(&show.watches[show.victim]);
    int64_t pause_ms = stage_between(stage, 100, 1500);
    if (stage_chance(stage, 60)) {
        show.victim = stage_below(stage, OBSERVERS);
        trouble(&show.watches[show.victim]);
        pause_ms = stage_chance(stage, 60) ? stage_between(stage, 1, 300)
                                           : stage_between(stage, 1, 2 * TIMEOUT_MS);
    }
    show.fault.at = stage_now(stage) + pause_ms * MS;
}

/* ---- a show ---- */

static struct alarm alarm_of(void (*fn)(void *data), void *data)
{
    return (struct alarm){NEVER, NULL, fn, data};
}

static struct client *open_client(const char *kind, unsigned i)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    char *name = g_strdup_printf("%s%u", kind, i + 1);

    options.session_timeout_ms = TIMEOUT_MS;
    struct client *client = client_new(show.stage, name, 0, &options);
    client_open(client);
    g_free(name);
    return client;
}

static void begin(uint64_t seed, int servers, bool cuts)
{
    const struct world_config config = {.servers = servers,
                                        .tick_ms = 500,
                                        .latency_min_us = LATENCY_US / 2,
                                        .latency_max_us = LATENCY_US};
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;

    show = (struct show){.stage = stage_new(seed, config, NULL), .lagging = -1, .cuts = cuts};
    for (unsigned i = 0; i < OBSERVERS; i++) {
        struct watch *w = &show.watches[i];
        w->client = open_client("O", i);
        w->away = g_array_new(FALSE, FALSE, sizeof(struct interval));
        w->look = alarm_of(on_look, w);
        w->look.at = 0;
        stage_add_alarm(show.stage, &w->look);
        w->onlooker = onlooker_new(w->client, LINE_LATCH);
    }
    for (unsigned i = 0; i < CANDIDATES; i++) {
        struct actor *actor = &show.actors[i];
        struct client *client = open_client("C", i);
        actor->yield = alarm_of(on_yield, actor);
        stage_add_alarm(show.stage, &actor->yield);
        actor->candidate = candidate_new(client, LINE_LATCH, &options, on_event, actor);
    }
    show.fault = alarm_of(on_fault, NULL);
    stage_add_alarm(show.stage, &show.fault);
}

static bool is_enough(const void *changes)
{
    return show.stage->oracle.heads[LINE_LATCH]->len > *(const unsigned *)changes;
}

static bool all_know(const void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < OBSERVERS; i++)
        if (!onlooker_knows(show.watches[i].onlooker))
            return false;
    return true;
}

static void play(unsigned changes)
{
    struct stage *stage = show.stage;

    stage_run(stage, 1000 * MS, NULL, NULL); /* who observes comes before who is observed */
    for (unsigned i = 0; i < CANDIDATES; i++)
        candidate_start(show.actors[i].candidate);
    show.fault.at = show.cuts ? stage_now(stage) : NEVER;
    while (!stage->wrong && !is_enough(&changes) && stage_now(stage) < LIMIT_MS * MS) {
        stage->tally.steps = 0; /* it may be long */
        stage_run(stage, stage_now(stage) + 1000 * MS, is_enough, &changes);
    }
    CHECK(is_enough(&changes));
    show.over = true;
    show.fault.at = NEVER;
    heal(&show.watches[show.victim]);
    for (unsigned i = 0; i < CANDIDATES; i++)
        show.actors[i].yield.at = NEVER;
}

/* ---- the verdict ---- */

static const struct head *head_at(guint i)
{
    return &g_array_index(show.stage->oracle.heads[LINE_LATCH], struct head, i);
}

/* How many were not reported, though the observer could. */
static unsigned judge(const struct watch *w, unsigned *ret_gaps)
{
    const GArray *told = w->onlooker->told;
    guint next = 0, end = show.stage->oracle.heads[LINE_LATCH]->len;
    unsigned bad = 0;

    for (guint i = 0; i + 1 < end; i++) {
        if (next < told->len && g_array_index(told, guint, next) == i) {
            next++;
            continue;
        }
        int64_t from = head_at(i)->at, to = head_at(i + 1)->at;
        ++*ret_gaps;
        if (to - from >= BRIEF_MS * MS && !was_away(w, from, to)) {
            runner_fail(__FILE__, __LINE__, "%s was not told of head %u at %.1f ms, gone %.1f ms",
                        host_name(w->client->host), i, (double)from / 1e6, (double)to / 1e6);
            bad++;
        }
    }
    return bad;
}

static void end(void)
{
    for (guint i = 0; i < show.stage->processes->len; i++) {
        struct client *client = show.stage->processes->pdata[i];
        if (client->session)
            client_close(client);
    }
    for (unsigned i = 0; i < OBSERVERS; i++) {
        show.watches[i].look.at = NEVER;
        g_array_unref(show.watches[i].away);
    }
    stage_run(show.stage, stage_now(show.stage) + 4 * TIMEOUT_MS * MS, NULL, NULL);
    CHECK_STR(show.stage->wrong, NULL);
    stage_free(show.stage);
}

static void watch_changes(uint64_t seed, unsigned changes, bool cuts)
{
    unsigned gaps = 0;

    begin(seed, SERVERS, cuts);
    play(changes);
    show.stage->tally.steps = 0;
    CHECK(stage_run(show.stage, stage_now(show.stage) + 20 * TIMEOUT_MS * MS, all_know, NULL));
    for (unsigned i = 0; i < OBSERVERS; i++) {
        CHECK_INT(judge(&show.watches[i], &gaps), 0);
        CHECK(show.watches[i].onlooker->told->len >= changes / 4);
    }
    CHECK_INT(gaps > 0, cuts);
    end();
}

TEST_CASE(without_cuts)
{
    watch_changes(1, 200, false);
}

TEST_CASE(with_cuts)
{
    watch_changes(2, 1000, true);
}

/* ---- the server's data go back ---- */

static bool somebody_leads(const void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < CANDIDATES; i++)
        if (candidate_leads(show.actors[i].candidate))
            return true;
    return false;
}

static void cut_observers(bool cut)
{
    for (unsigned i = 0; i < OBSERVERS; i++) {
        if (cut)
            world_cut(show.watches[i].client->host, -1, true, true);
        else
            world_heal(show.watches[i].client->host, -1);
    }
}

/* Other applications write until the server has passed what the observers have seen. */
static void others_write(void)
{
    const char *path = client_directory(LINE_SELECTOR);

    world_admin_create(show.stage->world, path, "", false);
    for (int i = 0; i < OTHERS_WRITE; i++)
        REQUIRE(world_admin_set(show.stage->world, path, ""));
}

/* The servers are restored while the observers are cut off, so that their sessions expire. The
 * leader of the restored data has a lower token than the one they were told of. The list is older
 * than theirs was, or newer if another candidate comes late. */
static void watch_restore(uint64_t seed, bool joins)
{
    const zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    struct stage *stage;

    begin(seed, 1, false);
    stage = show.stage;
    stage_run(stage, 1000 * MS, NULL, NULL);
    world_keep(stage->world);
    play(20);
    REQUIRE(stage_run(stage, stage_now(stage) + 20 * TIMEOUT_MS * MS, all_know, NULL));
    cut_observers(true);
    world_restore(stage->world);
    onlookers_restored(stage);
    stage_run(stage, stage_now(stage) + 4 * TIMEOUT_MS * MS, NULL, NULL);
    CHECK(stage_run(stage, stage_now(stage) + 20 * TIMEOUT_MS * MS, somebody_leads, NULL));
    others_write();
    if (joins)
        candidate_start(candidate_new(open_client("D", 0), LINE_LATCH, &options, on_event, NULL));
    stage_run(stage, stage_now(stage) + TIMEOUT_MS * MS, NULL, NULL);
    cut_observers(false);
    CHECK(stage_run(stage, stage_now(stage) + 20 * TIMEOUT_MS * MS, all_know, NULL));
    end();
}

TEST_CASE(behind_a_restore)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        watch_restore(seed, false);
        watch_restore(seed, true);
    }
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    return runner_main(argc, argv);
}
