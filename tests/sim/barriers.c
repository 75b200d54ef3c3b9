/* Barriers, double barriers and counters in the simulated world, with faults from a seed. What each
 * call says is compared with what stood in the tree at every moment since it began. */
#include "runner.h"

#include "lib/base/timers.h"
#include "lib/session/incarnation.h"
#include "troubled.h"

#include <string.h>

TEST_SUITE(barriers);

#define MS INT64_C(1000000)

#define PATH "/barrier"

enum { SCHEDULES = 12, SECONDS = 60, LIMIT_MS = 60000 };

/* As long as the library reckons with what comes late, by a slow clock. */
enum { LATE_OVER_MS = WORLD_LATE_MS * 5 / 4 };

static struct show {
    struct troubled t;
    struct member {
        struct client *client;
        zkl_barrier *barrier;
        zkl_double_barrier *meeting;
        struct alarm turn;
        enum place { OUTSIDE, ENTERING, INSIDE, LEAVING } state;
        int64_t since;    /* of the state */
        int64_t stood_at; /* when its node last stood */
        int64_t full_at;  /* when it last stood among enough; the barrier was last open */
        int64_t doubt_at; /* when its create last was without a connection */
    } members[TROUBLED_CLIENTS];
    unsigned wanted; /* of a double barrier */
    unsigned passed, failed;
    unsigned closed, opened;
    int64_t closed_at; /* when the barrier last was */
    bool over;         /* nothing new is begun */
    bool late;         /* requests come late: each is waited for, and then all is as it was told */
    bool ends;         /* the session of the first ends when it is without a connection */
    bool told, stands; /* the last operation on the barrier was done: that it stands, or not */
    struct alarm closer, ender;
} show;

static int64_t now(void)
{
    return stage_now(show.t.stage);
}

static void enter_state(struct member *m, enum place state)
{
    m->state = state;
    m->since = now();
}

/* Some time later. */
static void turn_in(struct member *m, int64_t most_ms)
{
    m->turn.at = now() + stage_between(show.t.stage, 1, most_ms) * MS;
}

static void begin(uint64_t seed, void (*turn)(void *data), void (*look)(void))
{
    show = (struct show){0};
    troubled_begin(&show.t, TROUBLED_CLIENTS, seed, look);
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        struct member *m = &show.members[i];

        m->client = show.t.clients[i];
        m->turn = (struct alarm){now(), m->client, turn, m};
        stage_add_alarm(show.t.stage, &m->turn);
    }
}

static bool all_outside(void)
{
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        if (show.members[i].state != OUTSIDE)
            return false;
    return true;
}

/* Nobody begins anew, and what is under way comes to its end. */
static void finish(bool (*look)(const void *unused))
{
    show.over = true;
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        if (show.members[i].state == OUTSIDE)
            show.members[i].turn.at = NEVER;
    troubled_heal(&show.t);
    CHECK(stage_run(show.t.stage, now() + LIMIT_MS * MS, look, NULL));
    CHECK(show.passed > SECONDS / 10);
    CHECK(show.t.faults > SECONDS / 10);
}

/* ---- a barrier, which one of them closes and opens ---- */

static int code_of(const zkl_error *err)
{
    return err ? err->code : 0;
}

/* After every step of the world. */
static void look(void)
{
    const bool closed = world_exists(show.t.stage->world, PATH, NULL, NULL);
    const zkl_session *s = show.t.clients[0]->session;

    if (show.ends && !s->up && s->id != 0)
        show.ender.at = now();
    if (closed)
        show.closed_at = now();
    if (show.told && closed != show.stands)
        stage_wrong(show.t.stage, "it is %s again by itself", closed ? "closed" : "open");
    for (int i = 0; i < TROUBLED_CLIENTS && !closed; i++)
        show.members[i].full_at = now();
}

static bool look_at_barrier(const void *unused)
{
    (void)unused;
    look();
    return show.over && all_outside();
}

static void on_passed(const zkl_error *err, void *data)
{
    struct member *m = data;
    const int code = code_of(err);

    if (code == 0 && m->full_at < m->since)
        stage_wrong(show.t.stage, "%s passes a barrier that was closed since it came",
                    host_name(m->client->host));
    show.passed += code == 0;
    show.failed += code != 0;
    if (code != 0 && code != ZKL_ETIMEDOUT && code != ZKL_EUNREACHABLE)
        stage_wrong(show.t.stage, "it fails: %s", err->text);
    enter_state(m, OUTSIDE);
    if (!show.over)
        turn_in(m, 300);
}

static void on_wait(void *data)
{
    struct member *m = data;
    const int64_t limit_ms =
        stage_chance(show.t.stage, 50) ? ZKL_FOREVER : stage_between(show.t.stage, 1, 6000);

    enter_state(m, ENTERING);
    if (zkl_barrier_wait_async(m->barrier, limit_ms, on_passed, m) != 0)
        stage_wrong(show.t.stage, "nobody can wait");
}

/* The first member opens and closes the barrier. */
static void on_closer(void *unused)
{
    const struct member *m = &show.members[0];
    const int64_t since = now();
    const bool opens = show.over || world_exists(show.t.stage->world, PATH, NULL, NULL);
    const int64_t limit_ms =
        show.over || show.late ? ZKL_FOREVER : stage_between(show.t.stage, 0, 4000);
    show.told = false;
    const int err =
        opens ? zkl_barrier_remove(m->barrier, limit_ms) : zkl_barrier_set(m->barrier, limit_ms);

    (void)unused;
    if (err == 0 && (opens ? m->full_at : show.closed_at) < since)
        stage_wrong(show.t.stage, "it was never %s", opens ? "opened" : "closed");
    if (err != 0 && err != ZKL_ETIMEDOUT && err != ZKL_EUNREACHABLE)
        stage_wrong(show.t.stage, "it cannot be opened or closed: %d", err);
    show.told = err == 0 && show.late;
    show.stands = !opens;
    show.opened += err == 0 && opens;
    show.closed += err == 0 && !opens;
    if (!show.over)
        show.closer.at = now() + stage_between(show.t.stage, 1, 2000) * MS;
}

/* Something else wants the end of the first member's session, and no server hears of that end. */
static void on_ender(void *unused)
{
    zkl_session *s = show.t.clients[0]->session;

    (void)unused;
    session_lock(s);
    incarnation_replace(s, LOSS_REPLACED);
    session_unlock(s);
    show.ender.at = NEVER;
}

static void play_barrier(uint64_t seed)
{
    begin(seed, on_wait, look);
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        REQUIRE(zkl_barrier_new(&show.members[i].barrier, show.t.clients[i]->session, PATH, NULL) ==
                0);
    show.late = troubled_is_late(seed);
    show.closer = (struct alarm){now(), show.t.clients[0], on_closer, NULL};
    stage_add_alarm(show.t.stage, &show.closer);
    show.ends = seed % 4 == 0;
    show.ender = (struct alarm){NEVER, show.t.clients[0], on_ender, NULL};
    stage_add_alarm(show.t.stage, &show.ender);
    stage_run(show.t.stage, now() + SECONDS * 1000 * MS, look_at_barrier, NULL);
    show.closer.at = now();
    show.ends = false;
    finish(look_at_barrier);
    show.closer.at = NEVER;
    CHECK(show.closed > 1 && show.opened > 1);
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        zkl_barrier_free(show.members[i].barrier);
    troubled_end(&show.t);
}

TEST_CASE(nobody_passes_a_closed_barrier)
{
    for (uint64_t seed = troubled_schedules(2 * SCHEDULES); seed > 0; seed--)
        play_barrier(seed);
}

static bool has_passed(const void *unused)
{
    (void)unused;
    return show.passed > 0;
}

/* The waiter's session ends while its first read waits for a connection. The read of the next
 * session leaves the watch that the barrier's end fires. */
TEST_CASE(waits_on_in_the_next_session)
{
    struct member *m = &show.members[0];

    begin(1, on_wait, NULL);
    show.t.fault.at = NEVER;
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        show.members[i].turn.at = NEVER;
    REQUIRE(zkl_barrier_new(&m->barrier, m->client->session, PATH, NULL) == 0);
    REQUIRE(world_admin_create(show.t.stage->world, PATH, "", false));
    world_cut(m->client->host, -1, true, true);
    stage_run(show.t.stage, now() + 2 * TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    show.over = true; /* it waits once */
    enter_state(m, ENTERING);
    struct host *before = host_enter(m->client->host);
    REQUIRE(zkl_barrier_wait_async(m->barrier, ZKL_FOREVER, on_passed, m) == 0);
    host_enter(before);
    troubled_heal(&show.t);
    stage_run(show.t.stage, now() + 2 * TROUBLED_TIMEOUT_MS * MS, look_at_barrier, NULL);
    CHECK_INT(show.passed, 0);
    REQUIRE(world_admin_delete(show.t.stage->world, PATH));
    m->full_at = now();
    CHECK(stage_run(show.t.stage, now() + LIMIT_MS * MS, has_passed, NULL));
    zkl_barrier_free(m->barrier);
    troubled_end(&show.t);
}

/* Its time passes before there is a connection: then it is not done later either. */
TEST_CASE(does_nothing_after_its_end)
{
    struct member *m = &show.members[0];
    const struct world *world;

    begin(1, on_wait, NULL);
    world = show.t.stage->world;
    show.t.fault.at = NEVER;
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        show.members[i].turn.at = NEVER;
    REQUIRE(zkl_barrier_new(&m->barrier, m->client->session, PATH, NULL) == 0);
    world_cut(m->client->host, -1, true, true);
    stage_run(show.t.stage, now() + TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    struct host *before = host_enter(m->client->host);
    CHECK_INT(zkl_barrier_set(m->barrier, 1), ZKL_EUNREACHABLE);
    host_enter(before);
    troubled_heal(&show.t);
    stage_run(show.t.stage, now() + TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    CHECK(!world_exists(world, PATH, NULL, NULL));
    zkl_barrier_free(m->barrier);
    troubled_end(&show.t);
}

/* ---- a double barrier ---- */

static bool owns(const struct member *m, const char *name)
{
    char *path = g_strconcat(PATH "/", name, NULL);
    int64_t owner = 0;
    const bool stands = world_exists(show.t.stage->world, path, &owner, NULL);

    g_free(path);
    return stands && owner != 0 && owner == zkl_session_id(m->client->session);
}

static bool stands(const struct member *m)
{
    char **names = world_children(show.t.stage->world, PATH);
    bool any = false;

    for (int i = 0; names && names[i]; i++)
        any = any || (strcmp(names[i], "ready") != 0 && owns(m, names[i]));
    g_strfreev(names);
    return any;
}

static bool look_at_members(const void *unused)
{
    unsigned count = 0;

    (void)unused;
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        struct member *m = &show.members[i];
        if (m->state == ENTERING && !m->client->session->up)
            m->doubt_at = now();
        if (!stands(m))
            continue;
        count++;
        m->stood_at = now();
    }
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        if (count >= show.wanted && show.members[i].stood_at == now())
            show.members[i].full_at = now();
    return show.over && all_outside();
}

/* It has had a connection for so long that its delete is answered, and its create, if that was
 * lost, cannot be done late any more. */
static bool is_well(const struct member *m)
{
    const int64_t healed = show.t.healed[m - show.members];
    const int64_t answered = 2 * TROUBLED_TIMEOUT_MS * MS;

    return healed != NEVER && now() > healed + answered &&
           (m->doubt_at == 0 || now() > m->doubt_at + LATE_OVER_MS * MS + answered);
}

static void expect_gone(const struct member *m, const char *what)
{
    if (is_well(m) && stands(m))
        stage_wrong(show.t.stage, "%s %s, and its node stands", host_name(m->client->host), what);
}

static void on_entered(const zkl_error *err, void *data)
{
    struct member *m = data;
    const int code = code_of(err);

    show.passed += code == 0;
    show.failed += code != 0;
    if (code == 0 && m->full_at < m->since)
        stage_wrong(show.t.stage, "%s enters, and %u were never there since it came",
                    host_name(m->client->host), show.wanted);
    if (code != 0)
        expect_gone(m, "failed to enter");
    enter_state(m, code == 0 ? INSIDE : OUTSIDE);
    if (m->state == INSIDE || !show.over)
        turn_in(m, 300);
}

/* A member that was inside before m began to leave may not still be inside: the two entered
 * together. If more come than are wanted, others may have entered since m's session ended. */
static void expect_others_out(const struct member *m)
{
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        const struct member *other = &show.members[i];

        if (other != m && other->state == INSIDE && other->since < MIN(m->since, m->stood_at) &&
            stands(other))
            stage_wrong(show.t.stage, "%s has left, and %s is inside", host_name(m->client->host),
                        host_name(other->client->host));
    }
}

static void on_left(const zkl_error *err, void *data)
{
    struct member *m = data;

    if (code_of(err) == 0)
        expect_others_out(m);
    expect_gone(m, "has left");
    enter_state(m, OUTSIDE);
    if (!show.over)
        turn_in(m, 300);
}

static void on_meeting(void *data)
{
    struct member *m = data;
    const int64_t limit_ms = stage_between(show.t.stage, 1, 8000);
    int err;

    if (m->state == INSIDE) {
        enter_state(m, LEAVING);
        err = zkl_double_barrier_leave_async(m->meeting, limit_ms, on_left, m);
    } else {
        enter_state(m, ENTERING);
        err = zkl_double_barrier_enter_async(m->meeting, limit_ms, on_entered, m);
    }
    if (err == ZKL_EBUSY && !is_well(m)) { /* what it left is still to be deleted */
        enter_state(m, OUTSIDE);
        turn_in(m, 300);
    } else if (err != 0) {
        stage_wrong(show.t.stage, "nobody can enter or leave");
    }
}

static void play_meetings(uint64_t seed)
{
    begin(seed, on_meeting, NULL);
    show.wanted = 2 + (unsigned)(seed % 2);
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        REQUIRE(zkl_double_barrier_new(&show.members[i].meeting, show.t.clients[i]->session, PATH,
                                       (int)show.wanted, NULL) == 0);
    stage_run(show.t.stage, now() + SECONDS * 1000 * MS, look_at_members, NULL);
    finish(look_at_members);
    stage_run(show.t.stage, now() + (LATE_OVER_MS + 4 * TROUBLED_TIMEOUT_MS) * MS, NULL, NULL);
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        CHECK(!stands(&show.members[i]));
        zkl_double_barrier_free(show.members[i].meeting);
    }
    troubled_end(&show.t);
}

TEST_CASE(members_enter_and_leave_together)
{
    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--)
        play_meetings(seed);
}

int main(int argc, char **argv)
{
    timers_by_hand = true;
    session_store = &world_store;
    return runner_main(argc, argv);
}
