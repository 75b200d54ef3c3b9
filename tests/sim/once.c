/* Work that is run once a period, in the simulated world: three hosts call for it, some runs fail,
 * hosts are in trouble, leaders change, and the servers' clocks differ and jump. The record says
 * which runs were completed: for each due instant one at most. And no run begins while another
 * host may still believe that it runs. */
#include "runner.h"

#include "recipes/once.h"
#include "troubled.h"

#include <string.h>

TEST_SUITE(once);

#define MS INT64_C(1000000)
#define RECORD "/once/record"

/* The nights of a calendar come so often; each begins so long before its instant. */
enum { NIGHT_MS = 12000, BEFORE_MS = 4000 };

/* 02:30 in Berlin: the first night has 23 hours, the last but one has 25. */
static const int64_t nights[] = {1774746000, 1774830600, 1774917000, 1792715400,
                                 1792801800, 1792888200, 1792978200};

enum { SCHEDULES = 12, SECONDS = 120, PERIOD_MS = 2000, SLACK_MS = 200, SERVERS = 3 };

static struct show {
    struct troubled t;
    struct host_of_once {
        struct client *client;
        zkl_once *once;
        zkl_grant *grant; /* of the run; NULL: none */
        bool calling;
        struct alarm turn;
    } hosts[TROUBLED_CLIENTS];
    struct alarm clock;
    bool jumps; /* the servers' clocks do, by some periods */
    bool by_calendar;
    size_t night; /* which has come */
    bool over;    /* nothing new is begun */
    uint64_t due, token;
    unsigned begun, completed; /* runs */
    unsigned ended, unknown;   /* as their calls said */
} show;

static int64_t now(void)
{
    return stage_now(show.t.stage);
}

static void turn_in(struct host_of_once *h, int64_t from_ms, int64_t to_ms)
{
    h->turn.at = now() + stage_between(show.t.stage, from_ms, to_ms) * MS;
}

/* ---- the rules, after each step of the world ---- */

static const struct host_of_once *runner_of(uint64_t token)
{
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        if (show.hosts[i].grant && zkl_grant_token(show.hosts[i].grant) == token)
            return &show.hosts[i];
    return NULL;
}

/* A record that is another one is a completed run: for the instant that was due before. */
static void look(void)
{
    size_t length = 0;
    const char *data = world_data(show.t.stage->world, RECORD, &length);
    struct once_record r;

    if (!data)
        return;
    if (!once_record_read(data, length, &r))
        stage_wrong(show.t.stage, "it is no record");
    else if (r.token == show.token && r.due == show.due)
        return;
    else if (show.due != 0 && r.due <= show.due)
        stage_wrong(show.t.stage, "a second run is completed for one due instant");
    else if (r.begun + (show.by_calendar ? 0 : SLACK_MS) <
             (show.by_calendar ? r.instant : show.due))
        stage_wrong(show.t.stage, "a run has begun before it was due");
    else if (!runner_of(r.token))
        stage_wrong(show.t.stage, "nobody has run what is recorded");
    show.due = r.due;
    show.token = r.token;
    show.completed++;
}

static bool has_looked(const void *unused)
{
    (void)unused;
    look();
    return false;
}

/* By their own clocks. */
static void check_alone(const struct host_of_once *runner)
{
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        const struct host_of_once *h = &show.hosts[i];
        if (h == runner || !h->grant)
            continue;
        struct host *before = host_enter(h->client->host);
        if (zkl_grant_state(h->grant) < ZKL_LOST)
            stage_wrong(show.t.stage, "a run begins while another may still be running");
        host_enter(before);
    }
}

/* ---- hosts ---- */

static void on_begun(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct host_of_once *h = data;

    h->calling = false;
    h->grant = grant;
    if (grant) {
        show.begun++;
        check_alone(h);
        turn_in(h, 1, 600);
    } else {
        CHECK(error->code != ZKL_ELAYOUT);
        turn_in(h, 1, PERIOD_MS);
    }
}

static void end_run(struct host_of_once *h)
{
    if (!stage_chance(show.t.stage, 10)) {
        const int code = zkl_once_end(h->once, h->grant, "done", 4, 0);
        show.ended += code == 0;
        show.unknown += code == ZKL_EUNKNOWN;
        look();
    }
    zkl_grant_release(h->grant);
    h->grant = NULL;
}

static void on_turn(void *data)
{
    struct host_of_once *h = data;

    if (h->grant)
        end_run(h);
    if (!h->calling && !show.over) {
        h->calling = true;
        if (zkl_once_begin_async(h->once, stage_between(show.t.stage, 0, 5000), on_begun, h, NULL))
            stage_wrong(show.t.stage, "it cannot be called");
    }
}

/* ---- the servers' clocks ---- */

static void on_clock(void *unused)
{
    struct stage *stage = show.t.stage;

    (void)unused;
    for (int i = 0; i < SERVERS; i++) {
        int64_t ms = 100 * PERIOD_MS + stage_below(stage, SLACK_MS / 2);
        if (show.jumps && stage_chance(stage, 20))
            ms += stage_between(stage, -3, 3) * PERIOD_MS;
        world_set_clock(stage->world, i, ms);
    }
    show.clock.at = now() + stage_between(stage, 1, show.jumps ? 5000 : 2 * PERIOD_MS) * MS;
}

/* The days in between pass at once. Clocks differ by less than the callers' slack. */
static void on_night(void *unused)
{
    (void)unused;
    for (int i = 0; i < SERVERS; i++)
        world_set_clock(show.t.stage->world, i,
                        nights[show.night] * 1000 - BEFORE_MS - now() / MS +
                            stage_below(show.t.stage, 1000));
    show.clock.at = ++show.night < G_N_ELEMENTS(nights) ? now() + NIGHT_MS * MS : NEVER;
}

enum series { A_PERIOD, JUMPS, A_CALENDAR };

static void begin(uint64_t seed, enum series series)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;

    show = (struct show){.jumps = series == JUMPS, .by_calendar = series == A_CALENDAR};
    troubled_begin(&show.t, TROUBLED_CLIENTS, seed, look);
    show.clock = (struct alarm){now(), NULL, show.by_calendar ? on_night : on_clock, NULL};
    stage_add_alarm(show.t.stage, &show.clock);
    show.clock.fn(NULL);
    if (show.by_calendar) {
        o.calendar = "30 2 * * *";
        o.zone = "Europe/Berlin";
    } else {
        o.period_ms = PERIOD_MS;
    }
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        struct host_of_once *h = &show.hosts[i];
        h->client = show.t.clients[i];
        REQUIRE(zkl_once_new(&h->once, h->client->session, "/once", &o) == 0);
        h->turn = (struct alarm){now() + MS, h->client, on_turn, h};
        stage_add_alarm(show.t.stage, &h->turn);
    }
}

static bool is_over(const void *unused)
{
    (void)unused;
    look();
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        if (show.hosts[i].grant || show.hosts[i].calling)
            return false;
    return true;
}

static void end(void)
{
    show.over = true;
    show.clock.at = NEVER;
    troubled_heal(&show.t);
    CHECK(stage_run(show.t.stage, now() + 20 * TROUBLED_TIMEOUT_MS * MS, is_over, NULL));
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        zkl_once_free(show.hosts[i].once);
    CHECK(show.completed >= show.ended && show.completed <= show.ended + show.unknown);
    troubled_end(&show.t);
}

/* The servers' clocks agree to within the slack: a run each period, unless hosts were in trouble.
 */
TEST_CASE(one_run_a_period)
{
    unsigned begun = 0, completed = 0;

    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed, A_PERIOD);
        stage_run(show.t.stage, now() + SECONDS * 1000 * MS, has_looked, NULL);
        CHECK(show.completed <= SECONDS * 1000 / PERIOD_MS + 1);
        CHECK(show.completed > SECONDS * 1000 / PERIOD_MS / 3);
        begun += show.begun;
        completed += show.completed;
        end();
    }
    CHECK(begun > completed);
}

TEST_CASE(clocks_that_jump)
{
    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed, JUMPS);
        stage_run(show.t.stage, now() + SECONDS * 1000 * MS, has_looked, NULL);
        CHECK(show.completed > 5);
        end();
    }
}

/* Each night has its run, and one: hosts in trouble may leave it to the next, but not the last. */
TEST_CASE(by_calendar)
{
    unsigned begun = 0;

    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed, A_CALENDAR);
        if (seed % 2 == 0)
            show.t.fault.at = NEVER;
        for (size_t night = 1; night <= G_N_ELEMENTS(nights); night++) {
            stage_run(show.t.stage, now() + NIGHT_MS * MS - MS, has_looked, NULL);
            if (seed % 2 == 0)
                CHECK_INT(show.completed, night);
            stage_run(show.t.stage, now() + MS, has_looked, NULL);
        }
        CHECK(show.completed >= G_N_ELEMENTS(nights) - 3);
        begun += show.begun;
        end();
    }
    CHECK(begun > SCHEDULES * G_N_ELEMENTS(nights));
}

/* The rules see what they are for: the record of an instant that was used up comes back. */
TEST_CASE(planted_faults)
{
    begin(1, A_PERIOD);
    show.t.fault.at = NEVER;
    stage_run(show.t.stage, now() + 10 * PERIOD_MS * MS, has_looked, NULL);
    CHECK_STR(show.t.stage->wrong, NULL);
    char *again = g_strdup_printf(ONCE_WORDS " 1 %" G_GUINT64_FORMAT " 1 0\n", show.due);
    world_admin_set(show.t.stage->world, RECORD, again);
    look();
    CHECK_STR(show.t.stage->wrong, "a second run is completed for one due instant");
    g_clear_pointer(&show.t.stage->wrong, g_free);
    show.completed--;
    g_free(again);
    end();
}
