/* What locks cost at the server, counted exactly: requests, changes and events by path, of the
 * library alone in a simulated world. The proofs of the session, whose number is a matter of time,
 * are on paths of their own. */
#include <glib.h>
#include <string.h>
#include <zkl.h>

#include "lib/base/layout.h"
#include "lib/base/timers.h"
#include "lib/contender/contender.h"
#include "lib/grant/grant.h"
#include "recipes/attempt.h"
#include "recipes/head_hint.h"
#include "runner.h"
#include "world/world.h"

TEST_SUITE(costs);

#define MS INT64_C(1000000)
#define SHORT ((ATTEMPT_OWN_WATCH_MS - 10) * MS)
#define LONG ((ATTEMPT_OWN_WATCH_MS + 10) * MS)

enum { ACTORS = 3, CROWD = 1000, WAITERS_MAX = 3 * LONG_QUEUE };

struct actor {
    struct host *host;
    zkl_session *session;
    zkl_mutex *mutex;
    zkl_rwlock *rwlock;
};

struct waiter {
    struct actor *actor;
    zkl_mutex *own; /* NULL: the actor's */
    zkl_grant *grant;
    int code; /* 0: none yet, or granted */
};

/* Counts everything that happens at and below the lock's path. */
struct costs {
    unsigned create, list, read, set, delete, others; /* requests */
    unsigned changes;                                 /* at the leader */
    unsigned events;                                  /* of watches, to clients */
};

/* Creates of the lock's nodes, and lists: how many are under way, and the most at a time. */
struct load {
    int creates, most_creates, lists, most_lists;
};

static struct world *world;
static struct actor actors[ACTORS];
static struct waiter waiters[WAITERS_MAX];
static struct costs costs;
static struct load load;
static int64_t held;   /* by each before it leaves */
static int64_t retain; /* ms, of the first actor's mutex */
static int latency_us; /* of each message; 0: drawn anew */

static void count_request(enum store_kind kind)
{
    costs.create += kind == STORE_CREATE;
    costs.list += kind == STORE_LIST;
    costs.read += kind == STORE_GET;
    costs.set += kind == STORE_SET;
    costs.delete += kind == STORE_DELETE;
    costs.others +=
        kind == STORE_SYNC || kind == STORE_UNWATCH || kind == STORE_STAT || kind == STORE_MULTI;
}

static void count_load(const struct note *note)
{
    int more = note->kind == NOTE_SENT ? 1 : note->kind == NOTE_ANSWERED ? -1 : 0;

    if (note->request == STORE_CREATE && g_str_has_prefix(note->path, "/l/"))
        load.creates += more;
    else if (note->request == STORE_LIST)
        load.lists += more;
    load.most_creates = MAX(load.most_creates, load.creates);
    load.most_lists = MAX(load.most_lists, load.lists);
}

static void on_note(const struct note *note, void *unused)
{
    (void)unused;
    if (!note->path || !g_str_has_prefix(note->path, "/l"))
        return;
    if (note->kind == NOTE_SENT)
        count_request(note->request);
    count_load(note);
    costs.changes +=
        note->kind == NOTE_CREATED || note->kind == NOTE_CHANGED || note->kind == NOTE_DELETED;
    costs.events += note->kind == NOTE_WATCH;
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct waiter *w = data;

    w->grant = grant;
    w->code = error ? error->code : 0; /* at the end, of those who wait still */
}

/* ---- a world that is run by hand ---- */

static int64_t next_timer(struct actor *a)
{
    session_lock(a->session);
    int64_t due = timers_next(a->session->timers);
    session_unlock(a->session);
    return due == INT64_MAX ? INT64_MAX : host_when(a->host, due);
}

static void run_actor(struct actor *a)
{
    struct host *before = host_enter(a->host);

    session_lock(a->session);
    timers_run(a->session->timers);
    session_unlock(a->session);
    zkl_session_dispatch(a->session);
    host_enter(before);
}

static void pass(int64_t ns)
{
    int64_t end = world_now(world) + ns;

    while (world_now(world) < end) {
        int64_t until = end;
        for (int i = 0; i < ACTORS; i++)
            until = MIN(until, next_timer(&actors[i]));
        world_run_next(world, MAX(until, world_now(world)));
        for (int i = 0; i < ACTORS; i++)
            run_actor(&actors[i]);
    }
}

static void begin(int64_t hold)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex_options mutex_options = ZKL_MUTEX_OPTIONS_INIT;
    const struct world_config config = {.seed = 5,
                                        .servers = 1,
                                        .note = on_note,
                                        .latency_min_us = latency_us,
                                        .latency_max_us = latency_us};

    held = hold;
    world = world_new(&config);
    timers_by_hand = true;
    session_store = &world_store;
    options.dispatch = 1;
    for (int i = 0; i < ACTORS; i++) {
        actors[i].host = world_host(world, "host", 0);
        struct host *before = host_enter(actors[i].host);
        REQUIRE(zkl_session_open(&actors[i].session, "any:1", &options, NULL) == 0);
        mutex_options.retain_ms = i == 0 ? retain : 0;
        REQUIRE(zkl_mutex_new(&actors[i].mutex, actors[i].session, "/l", &mutex_options) == 0);
        REQUIRE(zkl_rwlock_new(&actors[i].rwlock, actors[i].session, "/l", NULL) == 0);
        host_enter(before);
    }
    pass(100 * MS);
}

static void leave(int i)
{
    struct host *before = host_enter(waiters[i].actor->host);

    REQUIRE(waiters[i].grant != NULL);
    zkl_grant_release(waiters[i].grant);
    waiters[i].grant = NULL;
    host_enter(before);
    pass(held);
}

static void end_actor(struct actor *a)
{
    struct host *before = host_enter(a->host);

    zkl_session_close(a->session);
    host_enter(before);
}

static void free_own(struct waiter *w)
{
    if (!w->own)
        return;
    struct host *before = host_enter(w->actor->host);
    zkl_mutex_free(w->own);
    host_enter(before);
    w->own = NULL;
}

/* A caller that waits is told that the mutex is gone. */
static void end(void)
{
    for (int i = 0; i < ACTORS; i++) {
        struct host *before = host_enter(actors[i].host);
        zkl_mutex_free(actors[i].mutex);
        zkl_rwlock_free(actors[i].rwlock);
        host_enter(before);
    }
    for (int i = 0; i < WAITERS_MAX; i++)
        free_own(&waiters[i]);
    pass(10 * MS);
    for (int i = 0; i < WAITERS_MAX; i++) {
        if (waiters[i].grant)
            leave(i);
    }
    for (int i = 0; i < ACTORS; i++)
        end_actor(&actors[i]);
    world_run(world, world_now(world) + 1000 * MS);
    CHECK_INT(world_session_count(world), 0);
    world_free(world);
    session_store = &store_zk;
    timers_by_hand = false;
}

/* ---- locks ---- */

/* On the host of its actor. */
static void lock(struct waiter *w, int64_t timeout_ms)
{
    zkl_mutex *m = w->own ? w->own : w->actor->mutex;

    CHECK_INT(zkl_mutex_lock_async(m, timeout_ms, on_acquired, w, NULL), 0);
}

static void lock_here(struct waiter *w)
{
    lock(w, ZKL_FOREVER);
}

/* The callers of one handle would wait for each other without nodes. */
static void lock_apart(struct waiter *w)
{
    if (!w->own)
        REQUIRE(zkl_mutex_new(&w->own, w->actor->session, "/l", NULL) == 0);
    lock(w, ZKL_FOREVER);
}

static void begin_to_enter(int i, int64_t timeout_ms)
{
    struct waiter *w = &waiters[i];

    w->actor = &actors[i % ACTORS];
    w->grant = NULL;
    w->code = 0;
    struct host *before = host_enter(w->actor->host);
    if (i < ACTORS)
        lock(w, timeout_ms);
    else
        lock_apart(w);
    host_enter(before);
}

static void enter(int i)
{
    begin_to_enter(i, ZKL_FOREVER);
    pass(2 * MS);
}

/* The costs of one taking over from the one before. */
static struct costs hand_over(int to)
{
    REQUIRE(waiters[to - 1].grant && !waiters[to].grant);
    costs = (struct costs){0};
    leave(to - 1);
    REQUIRE(waiters[to].grant);
    return costs;
}

static void check(struct costs got, struct costs expected, int line)
{
    bool same = memcmp(&got, &expected, sizeof got) == 0;

    if (!same)
        runner_fail(__FILE__, line,
                    "%u created, %u listed, %u read, %u set, %u deleted, %u others, %u changes, %u "
                    "events",
                    got.create, got.list, got.read, got.set, got.delete, got.others, got.changes,
                    got.events);
}
#define CHECK_COSTS(got, ...) check((got), (struct costs){__VA_ARGS__}, __LINE__)

TEST_CASE(uncontended)
{
    begin(SHORT);
    enter(0); /* makes the directory */
    leave(0);
    costs = (struct costs){0};
    enter(0);
    leave(0);
    CHECK_COSTS(costs, .create = 1, .list = 1, .delete = 1, .changes = 2);
    end();
}

/* A contender watches its own node when it enters, and the silence of that watch proves the node.
 * So the event of the predecessor's end is all that it hears. At its own end the watch fires once
 * more. */
TEST_CASE(handed_over_to_the_only_one)
{
    begin(SHORT);
    enter(0);
    for (int i = 1; i < 4; i++) {
        costs = (struct costs){0};
        enter(i);
        CHECK_COSTS(costs, .create = 1, .list = 1, .read = 2, .changes = 1);
        CHECK_COSTS(hand_over(i), .delete = 1, .changes = 1, .events = i > 1 ? 2 : 1);
    }
    end();
}

/* In a short queue there is less to list than to write. */
TEST_CASE(handed_over_in_a_short_queue)
{
    begin(SHORT);
    for (int i = 0; i < LONG_QUEUE / 2; i++)
        enter(i);
    hand_over(1);
    hand_over(2); /* from the one that watched its own node */
    for (int i = 3; i < LONG_QUEUE / 2; i++)
        CHECK_COSTS(hand_over(i), .list = 1, .delete = 1, .changes = 1, .events = 1);
    end();
}

/* The first ones entered a short queue, and list; then nobody does until it is short again. */
static void hand_over_in_long_queue(int count)
{
    begin(SHORT);
    for (int i = 0; i < count; i++)
        enter(i);
    for (int i = 1; i <= LONG_QUEUE; i++)
        hand_over(i);
    for (int i = LONG_QUEUE + 1; i < LONG_QUEUE + 20; i++)
        CHECK_COSTS(hand_over(i), .read = 2, .set = 1, .delete = 1, .changes = 2, .events = 1);
    end();
}

TEST_CASE(handed_over_in_a_long_queue)
{
    hand_over_in_long_queue(2 * LONG_QUEUE + 20);
    hand_over_in_long_queue(WAITERS_MAX);
}

/* ---- several paths ---- */

enum { SEVERAL = 4 };
static const char *const several[SEVERAL] = {"/l1", "/l2", "/l3", "/l4"};

static zkl_multilock *several_of(struct actor *a)
{
    zkl_multilock *l = NULL;
    struct host *before = host_enter(a->host);

    REQUIRE(zkl_multilock_new(&l, a->session, several, SEVERAL, NULL) == 0);
    host_enter(before);
    return l;
}

static void enter_several(zkl_multilock *l, int i, int64_t timeout_ms)
{
    struct waiter *w = &waiters[i];

    *w = (struct waiter){.actor = &actors[i]};
    struct host *before = host_enter(w->actor->host);
    CHECK_INT(zkl_multilock_lock_async(l, timeout_ms, on_acquired, w, NULL), 0);
    host_enter(before);
}

/* ns until the waiter is granted. */
static int64_t time_of(int i)
{
    const int64_t began = world_now(world);

    for (int n = 0; n < 1000 && !waiters[i].grant; n++)
        pass(MS / 100);
    return world_now(world) - began;
}

/* All creates in one round trip, and the lists behind them: it takes as long as one path. */
TEST_CASE(several_paths)
{
    latency_us = 500;
    begin(SHORT);
    zkl_multilock *l = several_of(&actors[0]);
    enter_several(l, 0, ZKL_FOREVER); /* makes the directories */
    pass(100 * MS);
    leave(0);
    costs = (struct costs){0};
    enter_several(l, 0, ZKL_FOREVER);
    const int64_t took = time_of(0);
    leave(0);
    CHECK_COSTS(costs, .create = SEVERAL, .list = SEVERAL, .delete = SEVERAL,
                .changes = 2 * SEVERAL);
    enter(1);
    pass(100 * MS);
    leave(1);
    struct host *before = host_enter(actors[1].host);
    CHECK_INT(zkl_mutex_lock_async(actors[1].mutex, ZKL_FOREVER, on_acquired, &waiters[1], NULL),
              0);
    host_enter(before);
    CHECK_INT(time_of(1), took);
    leave(1);
    zkl_multilock_free(l);
    end();
    latency_us = 0;
}

/* The second path is another's: what is behind it is left, and entered again when that is free. */
TEST_CASE(several_paths_that_wait)
{
    begin(SHORT);
    zkl_multilock *l = several_of(&actors[0]), *other = several_of(&actors[1]);
    enter_several(l, 0, ZKL_FOREVER);
    pass(100 * MS);
    leave(0);
    zkl_mutex *held_by_another = actors[2].mutex;
    REQUIRE(zkl_mutex_new(&actors[2].mutex, actors[2].session, several[1], NULL) == 0);
    enter(2);
    costs = (struct costs){0};
    enter_several(other, 1, ZKL_FOREVER);
    pass(SHORT);
    CHECK_COSTS(costs, .create = SEVERAL, .list = SEVERAL, .read = 2, .delete = 2,
                .changes = SEVERAL + 2);
    costs = (struct costs){0};
    leave(2);
    REQUIRE(waiters[1].grant);
    CHECK_COSTS(costs, .create = 2, .list = 2, .delete = 1, .changes = 3, .events = 1);
    leave(1);
    zkl_mutex_free(actors[2].mutex);
    actors[2].mutex = held_by_another;
    zkl_multilock_free(l);
    zkl_multilock_free(other);
    end();
}

/* A try asks at one path after the other. */
TEST_CASE(several_paths_are_tried)
{
    latency_us = 500;
    begin(SHORT);
    zkl_multilock *l = several_of(&actors[0]);
    enter_several(l, 0, ZKL_FOREVER);
    pass(100 * MS);
    leave(0);
    enter(1);
    pass(100 * MS);
    leave(1);
    struct host *before = host_enter(actors[1].host);
    CHECK_INT(zkl_mutex_lock_async(actors[1].mutex, 0, on_acquired, &waiters[1], NULL), 0);
    host_enter(before);
    const int64_t one = time_of(1);
    leave(1);
    costs = (struct costs){0};
    enter_several(l, 0, 0);
    const int64_t all = time_of(0);
    CHECK(all > (SEVERAL - 1) * one && all <= SEVERAL * one);
    leave(0);
    CHECK_COSTS(costs, .create = SEVERAL, .list = SEVERAL, .delete = SEVERAL,
                .changes = 2 * SEVERAL);
    zkl_multilock_free(l);
    end();
    latency_us = 0;
}

/* Then the own node is watched as well, and the watch is heard of once more at its end. */
TEST_CASE(held_for_longer)
{
    begin(LONG);
    for (int i = 0; i < LONG_QUEUE / 2; i++)
        enter(i);
    hand_over(1);
    for (int i = 2; i < LONG_QUEUE / 2; i++)
        CHECK_COSTS(hand_over(i), .list = 1, .read = 1, .delete = 1, .changes = 1, .events = 2);
    end();
}

/* ---- readers and writers ---- */

static void share(int i, bool shared)
{
    struct waiter *w = &waiters[i];

    w->actor = &actors[i % ACTORS];
    w->grant = NULL;
    struct host *before = host_enter(w->actor->host);
    CHECK_INT((shared ? zkl_rwlock_lock_shared_async
                      : zkl_rwlock_lock_async)(w->actor->rwlock, ZKL_FOREVER, on_acquired, w, NULL),
              0);
    host_enter(before);
    pass(2 * MS);
}

/* A writer wakes all readers behind it, which list; the last reader one writer. */
TEST_CASE(readers_and_writers)
{
    begin(2 * MS); /* nobody holds for long */
    share(0, false);
    costs = (struct costs){0};
    share(1, true);
    CHECK_COSTS(costs, .create = 1, .list = 1, .read = 1, .changes = 1);
    share(2, true);
    costs = (struct costs){0};
    leave(0);
    REQUIRE(waiters[1].grant && waiters[2].grant);
    CHECK_COSTS(costs, .list = 2, .delete = 1, .changes = 1, .events = 2);
    costs = (struct costs){0};
    share(3, false);
    CHECK_COSTS(costs, .create = 1, .list = 1, .read = 1, .changes = 1);
    costs = (struct costs){0};
    leave(2);
    CHECK_COSTS(costs, .list = 1, .read = 1, .delete = 1, .changes = 1, .events = 1);
    costs = (struct costs){0};
    leave(1);
    REQUIRE(waiters[3].grant);
    CHECK_COSTS(costs, .list = 1, .delete = 1, .changes = 1, .events = 1);
    end();
}

enum { PERMITS = 2 };

static zkl_semaphore *semaphores[ACTORS];

static void begin_counting(int limit, bool numbered)
{
    zkl_semaphore_options options = ZKL_SEMAPHORE_OPTIONS_INIT;

    begin(2 * MS); /* nobody holds for long */
    options.limit = limit;
    options.numbered = numbered;
    for (int i = 0; i < ACTORS; i++) {
        struct host *before = host_enter(actors[i].host);
        REQUIRE(zkl_semaphore_new(&semaphores[i], actors[i].session, "/l", &options) == 0);
        host_enter(before);
    }
}

static void end_counting(void)
{
    for (int i = 0; i < ACTORS; i++) {
        struct host *before = host_enter(actors[i].host);
        zkl_semaphore_free(semaphores[i]);
        host_enter(before);
    }
    end();
}

static void count_in(int i)
{
    struct waiter *w = &waiters[i];

    *w = (struct waiter){.actor = &actors[i % ACTORS]};
    struct host *before = host_enter(w->actor->host);
    CHECK_INT(
        zkl_semaphore_acquire_async(semaphores[i % ACTORS], 1, ZKL_FOREVER, on_acquired, w, NULL),
        0);
    host_enter(before);
    pass(10 * MS);
}

/* The limit is read by a handle's first contender, and then when it has changed. */
TEST_CASE(permits_that_are_free)
{
    begin_counting(PERMITS, false);
    count_in(0); /* makes the directory */
    leave(0);
    costs = (struct costs){0};
    count_in(1);
    leave(1);
    CHECK_COSTS(costs, .create = 1, .list = 1, .read = 1, .delete = 1, .changes = 2);
    costs = (struct costs){0};
    count_in(1);
    leave(1);
    CHECK_COSTS(costs, .create = 1, .list = 1, .delete = 1, .changes = 2);
    end_counting();
}

/* When permits are given back, only the first in line hears of it, however many wait. It touches
 * its node when it is admitted, so that the next one becomes the first. The third event is the echo
 * of the leaver's watch on its own node. The second read is for the own watch of the contender that
 * was admitted before, 20 ms later. */
TEST_CASE(permits_given_on)
{
    enum { WAITERS = 12 };

    begin_counting(PERMITS, false);
    for (int i = 0; i < PERMITS + WAITERS; i++)
        count_in(i);
    for (int i = 0; i < 3; i++) {
        costs = (struct costs){0};
        leave(i);
        pass(10 * MS);
        REQUIRE(waiters[PERMITS + i].grant && !waiters[PERMITS + i + 1].grant);
        CHECK_COSTS(costs, .list = 2, .read = i == 0 ? 1 : 2, .set = 1, .delete = 1, .others = 2,
                    .changes = 2, .events = 3);
    }
    end_counting();
}

TEST_CASE(numbers_of_permits)
{
    begin_counting(PERMITS, true);
    count_in(0);
    leave(0);
    costs = (struct costs){0};
    count_in(0);
    CHECK_COSTS(costs, .create = 1, .list = 2, .read = 1, .set = 1, .changes = 2);
    costs = (struct costs){0};
    count_in(1); /* and the limit, and the numbers of the one before */
    CHECK_COSTS(costs, .create = 1, .list = 2, .read = 3, .set = 1, .changes = 2);
    costs = (struct costs){0};
    leave(0);
    leave(1);
    CHECK_COSTS(costs, .delete = 2, .changes = 2);
    end_counting();
}

/* ---- double barriers ---- */

enum { MEMBERS = 400, EACH_ENTERS = 10, EACH_LEAVES = 6 };

static zkl_double_barrier *members[MEMBERS];
static int met;

static void on_met(const zkl_error *error, void *unused)
{
    (void)unused;
    CHECK(error == NULL);
    met++;
}

/* All of them, at once or one after the other: the requests of all that. */
static unsigned meet(int count, bool enters, int64_t apart)
{
    const struct costs *c = &costs;

    met = 0;
    costs = (struct costs){0};
    for (int i = 0; i < count; i++) {
        struct host *before = host_enter(actors[i % ACTORS].host);
        CHECK_INT((enters ? zkl_double_barrier_enter_async
                          : zkl_double_barrier_leave_async)(members[i], ZKL_FOREVER, on_met, NULL),
                  0);
        host_enter(before);
        pass(apart);
    }
    for (int i = 0; i < 1000 && met < count; i++)
        pass(10 * MS);
    CHECK_INT(met, count);
    return c->create + c->list + c->read + c->set + c->delete + c->others;
}

/* Their names say in which order they leave, and so how many requests that takes: the same names in
 * each run. */
static void begin_to_meet(int count)
{
    g_random_set_seed(1);
    begin(SHORT);
    for (int i = 0; i < count; i++) {
        struct host *before = host_enter(actors[i % ACTORS].host);
        REQUIRE(zkl_double_barrier_new(&members[i], actors[i % ACTORS].session, "/l", count,
                                       NULL) == 0);
        host_enter(before);
    }
}

static void end_meeting(int count)
{
    for (int i = 0; i < count; i++) {
        struct host *before = host_enter(actors[i % ACTORS].host);
        zkl_double_barrier_free(members[i]);
        host_enter(before);
    }
    end();
}

/* So many for each member, however many there are. */
TEST_CASE(meetings)
{
    static const struct {
        int count;
        int64_t apart;
    } rows[] = {{20, 0}, {20, 5 * MS}, {MEMBERS, 0}, {MEMBERS, 5 * MS}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const unsigned count = (unsigned)rows[i].count;
        begin_to_meet(rows[i].count);
        for (int round = 0; round < 2; round++) {
            const unsigned entered = meet(rows[i].count, true, rows[i].apart);
            const unsigned left = meet(rows[i].count, false, rows[i].apart);
            if (entered > EACH_ENTERS * count || left > EACH_LEAVES * count)
                runner_fail(__FILE__, __LINE__, "%u enter with %u requests and leave with %u",
                            count, entered, left);
        }
        end_meeting(rows[i].count);
    }
}

/* The contenders come at once, and all are admitted. Each makes the same number of requests,
 * however many they are. A contender that comes when a lower number is free reads the numbers of
 * all. */
TEST_CASE(numbers_in_a_crowd)
{
    enum { COUNT = 400, READS = 7 };

    begin_counting(COUNT, true);
    count_in(0);
    leave(0);
    costs = (struct costs){0};
    for (int i = 0; i < COUNT; i++) {
        waiters[i] = (struct waiter){.actor = &actors[i % ACTORS]};
        struct host *before = host_enter(waiters[i].actor->host);
        CHECK_INT(zkl_semaphore_acquire_async(semaphores[i % ACTORS], 1, ZKL_FOREVER, on_acquired,
                                              &waiters[i], NULL),
                  0);
        host_enter(before);
    }
    pass(1000 * MS);
    for (int i = 0; i < COUNT; i++)
        CHECK(waiters[i].grant != NULL);
    CHECK_INT(costs.create, COUNT);
    CHECK(costs.list <= 2 * COUNT);
    CHECK(costs.read <= READS * COUNT);
    CHECK(costs.set <= 2 * COUNT);
    CHECK(costs.others <= COUNT);
    CHECK(costs.events <= 2 * COUNT);
    leave(0);
    costs = (struct costs){0};
    count_in(0);
    CHECK(waiters[0].grant != NULL);
    CHECK_INT(costs.read, COUNT - 1 + 1); /* the others, and the own node */
    for (int i = 0; i < COUNT; i++)
        leave(i);
    end_counting();
}

/* ---- retained ---- */

static void leave_when_granted(int i)
{
    for (int k = 0; k < 10 && !waiters[i].grant; k++)
        pass(1 * MS);
    leave(i);
}

static void let_go(void)
{
    struct host *before = host_enter(actors[0].host);

    CHECK_INT(zkl_mutex_yield(actors[0].mutex), 0);
    host_enter(before);
    pass(2 * MS);
}

static void begin_retaining(void)
{
    retain = 10000;
    begin(SHORT);
    retain = 0;
    enter(0);
    leave_when_granted(0);
}

/* The first unlock looks once, since the handle had not listed before. */
TEST_CASE(first_tenure)
{
    retain = 10000;
    begin(SHORT);
    retain = 0;
    enter(0);
    costs = (struct costs){0};
    leave(0);
    CHECK_COSTS(costs, .list = 1);
    costs = (struct costs){0};
    let_go();
    CHECK_COSTS(costs, .delete = 1, .changes = 1, .events = 1);
    end();
}

/* A tenure that lasts has the watch on its own node, to hear that it is asked to give way. */
TEST_CASE(turns_of_a_tenure)
{
    begin_retaining();
    let_go();
    costs = (struct costs){0};
    enter(0);
    CHECK_COSTS(costs, .create = 1, .list = 1, .changes = 1);
    leave(0);
    costs = (struct costs){0};
    for (int i = 0; i < 20; i++) {
        enter(0);
        leave(0);
    }
    CHECK_COSTS(costs, .read = 1);
    costs = (struct costs){0};
    for (int i = 0; i < 20; i++) {
        enter(0);
        leave(0);
    }
    CHECK_COSTS(costs, .create = 0);
    let_go();
    CHECK_COSTS(costs, .delete = 1, .changes = 1, .events = 2);
    end();
}

/* By one that comes, and finds it gone when it would watch it. */
TEST_CASE(idle_tenure_is_recalled)
{
    begin_retaining();
    costs = (struct costs){0};
    enter(1);
    REQUIRE(waiters[1].grant);
    CHECK_COSTS(costs, .create = 1, .list = 1, .read = 2, .delete = 1, .changes = 2, .events = 1);
    end();
}

/* A contender that was granted after a wait knows of nobody behind it, and looks. But it makes
 * others wait for that no more than a tenth of the time. */
TEST_CASE(handed_to_and_fro)
{
    enum { TIMES = 50, LATENCY_US = 400 };
    unsigned looks = 0;

    latency_us = LATENCY_US;
    begin_retaining();
    latency_us = 0;
    held = 1 * MS;
    enter(1);
    int64_t began = world_now(world);
    for (int i = 0; i < TIMES; i++) {
        enter(0);
        leave_when_granted(1);
        enter(1);
        costs = (struct costs){0};
        leave_when_granted(0);
        looks += costs.list;
    }
    CHECK(looks > 0 && looks < TIMES);
    CHECK(looks * 9 * 2 * LATENCY_US <= (world_now(world) - began) / 1000);
    end();
}

/* ---- tries ---- */

/* What it costs until it is answered, and behind that. */
static struct costs try_to_enter(int i, int64_t ns, int code)
{
    costs = (struct costs){0};
    begin_to_enter(i, 0);
    pass(ns);
    CHECK_INT(waiters[i].code, code);
    CHECK_INT(waiters[i].grant != NULL, code == 0);
    return costs;
}

TEST_CASE(try_of_what_is_free)
{
    begin(SHORT);
    enter(0);
    leave(0);
    CHECK_COSTS(try_to_enter(1, 2 * MS, 0), .create = 1, .list = 1, .changes = 1);
    leave(1);
    end();
}

/* Refused by one list, whatever the one who tries does itself. */
TEST_CASE(try_of_what_is_held)
{
    begin(SHORT);
    enter(0);
    CHECK_COSTS(try_to_enter(1, 2 * MS, ZKL_EBUSY), .create = 1, .list = 1, .delete = 1,
                .changes = 2);
    leave(0);
    end();
    retain = 10000;
    begin(SHORT);
    retain = 0;
    enter(1);
    CHECK_COSTS(try_to_enter(0, 2 * MS, ZKL_EBUSY), .create = 1, .list = 1, .delete = 1,
                .changes = 2);
    leave(1);
    end();
}

/* As idle_tenure_is_recalled by one that waits. */
TEST_CASE(try_of_what_is_idle)
{
    begin_retaining();
    CHECK_COSTS(try_to_enter(1, 10 * MS, 0), .create = 1, .list = 1, .read = 2, .delete = 1,
                .changes = 2, .events = 1);
    end();
}

/* While the try waits, it watches its own node and the other's. The holder looks at its own node,
 * as it does whenever a rival comes. */
TEST_CASE(try_of_what_is_retained_and_used)
{
    enum { YIELD_MS = ATTEMPT_YIELD_MS };

    begin_retaining();
    enter(0);
    costs = (struct costs){0};
    begin_to_enter(1, 0);
    pass((YIELD_MS - 10) * MS);
    CHECK_INT(waiters[1].code, 0);
    pass(20 * MS);
    CHECK_INT(waiters[1].code, ZKL_EBUSY);
    CHECK_COSTS(costs, .create = 1, .list = 1, .read = 3, .delete = 1, .others = 1, .changes = 2,
                .events = 2);
    leave(0);
    end();
}

/* ---- many waiters ---- */

enum { ABREAST = 32, UNDER_WAY = 1024, ALL_IN_LINE_MS = 10000 };

static void check_in_line(int count, int abreast)
{
    char **names;

    pass(ALL_IN_LINE_MS * MS);
    names = world_children(world, "/l");
    CHECK_INT(g_strv_length(names), count);
    CHECK_INT(load.creates, 0);
    CHECK_INT(load.most_creates, abreast);
    CHECK_INT(load.lists, 0);
    g_strfreev(names);
}

static void come(int count, void (*start)(struct waiter *w))
{
    struct host *before = host_enter(actors[0].host);

    load = (struct load){0};
    for (int i = 0; i < count; i++) {
        waiters[i] = (struct waiter){.actor = &actors[0]};
        start(&waiters[i]);
    }
    host_enter(before);
}

static void come_at_once(void)
{
    come(CROWD, lock_apart);
    check_in_line(CROWD, ABREAST);
    CHECK_INT(load.most_lists, ABREAST);
}

/* The holder has lost its grant, and does not enter again. */
TEST_CASE(they_enter_again_in_another_session)
{
    begin(SHORT);
    come_at_once();
    load = (struct load){0};
    CHECK(world_expire(world, zkl_session_id(actors[0].session)));
    check_in_line(CROWD - 1, ABREAST);
    CHECK_INT(load.most_lists, ABREAST);
    end();
}

/* Those who see their predecessors go list first. */
TEST_CASE(they_enter_again_in_another_directory)
{
    begin(SHORT);
    come_at_once();
    load = (struct load){0};
    CHECK(world_admin_delete(world, "/l"));
    check_in_line(CROWD - 1, ABREAST);
    CHECK(load.most_lists <= UNDER_WAY);
    end();
}

/* A caller that waits behind another caller of its handle has no node and costs nothing. The next
 * one enters with the delete of the one before. */
TEST_CASE(callers_of_one_handle)
{
    uint64_t token = 0;

    begin(SHORT);
    come(CROWD, lock_here);
    check_in_line(1, 1);
    CHECK_INT(load.most_lists, 1);
    hand_over(1); /* from the one that watched its own node */
    for (int i = 1; i < CROWD - 1; i++) {
        REQUIRE(waiters[i].grant != NULL);
        CHECK(zkl_grant_token(waiters[i].grant) > token);
        token = zkl_grant_token(waiters[i].grant);
        CHECK_COSTS(hand_over(i + 1), .create = 1, .list = 1, .delete = 1, .changes = 2);
    }
    CHECK_INT(load.most_creates, 1);
    CHECK_INT(load.most_lists, 1);
    end();
}

/* Another contender comes between two of them, each time. */
TEST_CASE(callers_and_a_rival)
{
    enum { CALLERS = 10, RIVAL = CROWD - 1 };

    begin(SHORT);
    come(CALLERS, lock_here);
    pass(ALL_IN_LINE_MS * MS);
    for (int i = 0; i < CALLERS - 2; i++) {
        enter(RIVAL);
        leave(i);
        REQUIRE(waiters[RIVAL].grant && !waiters[i + 1].grant);
        leave(RIVAL);
        REQUIRE(waiters[i + 1].grant && !waiters[i + 2].grant);
    }
    CHECK_INT(load.most_creates, 1);
    end();
}

int main(int argc, char **argv)
{
    layout_random = world_random;
    return runner_main(argc, argv);
}
