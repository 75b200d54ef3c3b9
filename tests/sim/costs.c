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

enum { ACTORS = 3, CROWD = 1000, WAITERS_MAX = 3 * LONG_QUEUE, PERMITS = 2 };

struct actor {
    struct host *host;
    zkl_session *session;
    zkl_mutex *mutex;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore; /* NULL: none is wanted */
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

struct setting {
    int64_t hold;   /* by each before it leaves */
    int64_t retain; /* ms, of the first actor's mutex */
    int latency_us; /* of each message; 0: drawn anew */
    int permits;    /* the limit of semaphores; 0: there are none */
    bool numbered;
};

static struct world *world;
static struct actor actors[ACTORS];
static struct waiter waiters[WAITERS_MAX];
static struct costs costs;
static struct load load;
static int64_t held;

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
    host_enter(a->host);
    session_lock(a->session);
    timers_run(a->session->timers);
    session_unlock(a->session);
    zkl_session_dispatch(a->session);
    host_enter(NULL);
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

static void begin_actor(struct actor *a, const struct setting *wanted, int64_t retain)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_mutex_options mutex_options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_semaphore_options semaphore_options = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.dispatch = 1;
    mutex_options.retain_ms = retain;
    semaphore_options.limit = wanted->permits;
    semaphore_options.numbered = wanted->numbered;
    *a = (struct actor){.host = world_host(world, "host", 0)};
    host_enter(a->host);
    REQUIRE(zkl_session_open(&a->session, "any:1", &options, NULL) == 0);
    REQUIRE(zkl_mutex_new(&a->mutex, a->session, "/l", &mutex_options) == 0);
    REQUIRE(zkl_rwlock_new(&a->rwlock, a->session, "/l", NULL) == 0);
    if (wanted->permits > 0)
        REQUIRE(zkl_semaphore_new(&a->semaphore, a->session, "/l", &semaphore_options) == 0);
    host_enter(NULL);
}

static void begin_with(const struct setting *wanted)
{
    const struct world_config config = {.seed = 5,
                                        .servers = 1,
                                        .note = on_note,
                                        .latency_min_us = wanted->latency_us,
                                        .latency_max_us = wanted->latency_us};

    held = wanted->hold;
    world = world_new(&config);
    timers_by_hand = true;
    session_store = &world_store;
    for (int i = 0; i < ACTORS; i++)
        begin_actor(&actors[i], wanted, i == 0 ? wanted->retain : 0);
    pass(100 * MS);
}

static void begin(void)
{
    begin_with(&(struct setting){.hold = SHORT});
}

static void leave(int i)
{
    REQUIRE(waiters[i].grant != NULL);
    host_enter(waiters[i].actor->host);
    zkl_grant_release(waiters[i].grant);
    waiters[i].grant = NULL;
    host_enter(NULL);
    pass(held);
}

static void end_handles(struct actor *a)
{
    host_enter(a->host);
    zkl_mutex_free(a->mutex);
    zkl_rwlock_free(a->rwlock);
    zkl_semaphore_free(a->semaphore);
    for (int i = 0; i < WAITERS_MAX; i++)
        if (waiters[i].actor == a)
            zkl_mutex_free(g_steal_pointer(&waiters[i].own));
    host_enter(NULL);
}

static void end_session(struct actor *a)
{
    host_enter(a->host);
    zkl_session_close(a->session);
    host_enter(NULL);
}

/* A caller that waits is told that the mutex is gone. */
static void end(void)
{
    for (int i = 0; i < ACTORS; i++)
        end_handles(&actors[i]);
    pass(10 * MS);
    for (int i = 0; i < WAITERS_MAX; i++)
        if (waiters[i].grant)
            leave(i);
    for (int i = 0; i < ACTORS; i++)
        end_session(&actors[i]);
    world_run(world, world_now(world) + 1000 * MS);
    CHECK_INT(world_session_count(world), 0);
    world_free(world);
    session_store = &store_zk;
    timers_by_hand = false;
}

/* ---- how one enters: on the host of its actor ---- */

static int by_mutex(struct waiter *w, int64_t timeout_ms)
{
    return zkl_mutex_lock_async(w->own ? w->own : w->actor->mutex, timeout_ms, on_acquired, w,
                                NULL);
}

/* The callers of one handle would wait for each other without nodes. */
static int by_own_mutex(struct waiter *w, int64_t timeout_ms)
{
    if (!w->own)
        REQUIRE(zkl_mutex_new(&w->own, w->actor->session, "/l", NULL) == 0);
    return by_mutex(w, timeout_ms);
}

static int by_writing(struct waiter *w, int64_t timeout_ms)
{
    return zkl_rwlock_lock_async(w->actor->rwlock, timeout_ms, on_acquired, w, NULL);
}

static int by_reading(struct waiter *w, int64_t timeout_ms)
{
    return zkl_rwlock_lock_shared_async(w->actor->rwlock, timeout_ms, on_acquired, w, NULL);
}

static int by_permit(struct waiter *w, int64_t timeout_ms)
{
    return zkl_semaphore_acquire_async(w->actor->semaphore, 1, timeout_ms, on_acquired, w, NULL);
}

typedef int (*way)(struct waiter *w, int64_t timeout_ms);

static void ask(int i, struct actor *a, way by, int64_t timeout_ms)
{
    struct waiter *w = &waiters[i];

    w->actor = a;
    w->grant = NULL;
    w->code = 0;
    host_enter(a->host);
    CHECK_INT(by(w, timeout_ms), 0);
    host_enter(NULL);
}

static void begin_to_enter(int i, int64_t timeout_ms)
{
    ask(i, &actors[i % ACTORS], i < ACTORS ? by_mutex : by_own_mutex, timeout_ms);
}

/* ---- what rows of the table do ---- */

static void count_anew(int unused)
{
    (void)unused;
    costs = (struct costs){0};
}

static void granted(int i)
{
    REQUIRE(waiters[i].grant != NULL);
}

static void waits(int i)
{
    REQUIRE(!waiters[i].grant);
}

static void enter(int i)
{
    begin_to_enter(i, ZKL_FOREVER);
    pass(2 * MS);
}

static void enter_to_write(int i)
{
    ask(i, &actors[i % ACTORS], by_writing, ZKL_FOREVER);
    pass(2 * MS);
}

static void enter_to_read(int i)
{
    ask(i, &actors[i % ACTORS], by_reading, ZKL_FOREVER);
    pass(2 * MS);
}

static void take_permit(int i)
{
    ask(i, &actors[i % ACTORS], by_permit, ZKL_FOREVER);
    pass(10 * MS);
}

/* The one before it leaves. Counts that alone. */
static void hand_over(int to)
{
    granted(to - 1);
    waits(to);
    count_anew(0);
    leave(to - 1);
    granted(to);
}

static void leave_when_granted(int i)
{
    for (int k = 0; k < 10 && !waiters[i].grant; k++)
        pass(1 * MS);
    leave(i);
}

/* A permit, to the first in line. */
static void give_on(int i)
{
    leave(i);
    pass(10 * MS);
    granted(PERMITS + i);
    waits(PERMITS + i + 1);
}

static void let_go(int i)
{
    host_enter(actors[i].host);
    CHECK_INT(zkl_mutex_yield(actors[i].mutex), 0);
    host_enter(NULL);
    pass(2 * MS);
}

static void take_turns(int i)
{
    for (int k = 0; k < 20; k++) {
        enter(i);
        leave(i);
    }
}

/* Counts what it costs until it is answered, and behind that. */
static void try_to_enter(int i, int64_t ns)
{
    count_anew(0);
    begin_to_enter(i, 0);
    pass(ns);
}

static void try_free(int i)
{
    try_to_enter(i, 2 * MS);
    CHECK_INT(waiters[i].code, 0);
    granted(i);
}

static void try_idle(int i)
{
    try_to_enter(i, 10 * MS);
    CHECK_INT(waiters[i].code, 0);
    granted(i);
}

static void try_held(int i)
{
    try_to_enter(i, 2 * MS);
    CHECK_INT(waiters[i].code, ZKL_EBUSY);
    waits(i);
}

/* The holder has its time to give way, and does not. */
static void try_used(int i)
{
    try_to_enter(i, (ATTEMPT_YIELD_MS - 10) * MS);
    CHECK_INT(waiters[i].code, 0);
    pass(20 * MS);
    CHECK_INT(waiters[i].code, ZKL_EBUSY);
}

/* ---- cases that are told in steps ---- */

struct step {
    const char *name;
    void (*act)(int who); /* NULL: it was the last step */
    int who, last;        /* by each of these */
    bool counted;
    struct costs costs; /* since the step before that has some */
};

#define STEP(what, i) STEPS(what, i, i)
#define STEPS(what, i, k)                                                                          \
    {                                                                                              \
        .name = #what, .act = (what), .who = (i), .last = (k)                                      \
    }
#define COSTS(what, i, ...) EACH_COSTS(what, i, i, __VA_ARGS__)
#define EACH_COSTS(what, i, k, ...)                                                                \
    {                                                                                              \
        .name = #what, .act = (what), .who = (i), .last = (k), .counted = true, .costs = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void check(const struct step *step)
{
    const struct costs *got = &costs;

    if (!step->counted)
        return;
    if (memcmp(got, &step->costs, sizeof costs) != 0)
        runner_fail(__FILE__, __LINE__,
                    "%s(%d): %u created, %u listed, %u read, %u set, %u deleted, %u others, "
                    "%u changes, %u events",
                    step->name, step->who, got->create, got->list, got->read, got->set, got->delete,
                    got->others, got->changes, got->events);
    count_anew(0);
}

static void do_step(const struct step *step)
{
    struct step s = *step;

    for (; s.who <= s.last; s.who++) {
        s.act(s.who);
        check(&s);
    }
}

static void play(const struct setting *wanted, const struct step *steps)
{
    begin_with(wanted);
    for (; steps->act; steps++)
        do_step(steps);
    end();
}

#define TOLD(name, setting, ...)                                                                   \
    TEST_CASE(name)                                                                                \
    {                                                                                              \
        static const struct step steps[] = {__VA_ARGS__, {.act = NULL}};                           \
        play(&(setting), steps);                                                                   \
    }

static const struct setting plain = {.hold = SHORT}, held_long = {.hold = LONG},
                            retains = {.hold = SHORT, .retain = 10000},
                            nobody_holds = {.hold = 2 * MS},
                            counts = {.hold = 2 * MS, .permits = PERMITS},
                            numbers = {.hold = 2 * MS, .permits = PERMITS, .numbered = true};

/* The first one makes the directory. */
TOLD(uncontended, plain, STEP(enter, 0), STEP(leave, 0), STEP(count_anew, 0), STEP(enter, 0),
     COSTS(leave, 0, .create = 1, .list = 1, .delete = 1, .changes = 2))

/* A contender watches its own node when it enters, and the silence of that watch proves the node.
 * So the event of the predecessor's end is all that it hears. At its own end the watch fires once
 * more. */
TOLD(handed_over_to_the_only_one, plain, STEP(enter, 0), STEP(count_anew, 0),
     COSTS(enter, 1, .create = 1, .list = 1, .read = 2, .changes = 1),
     COSTS(hand_over, 1, .delete = 1, .changes = 1, .events = 1),
     COSTS(enter, 2, .create = 1, .list = 1, .read = 2, .changes = 1),
     COSTS(hand_over, 2, .delete = 1, .changes = 1, .events = 2),
     COSTS(enter, 3, .create = 1, .list = 1, .read = 2, .changes = 1),
     COSTS(hand_over, 3, .delete = 1, .changes = 1, .events = 2))

/* In a short queue there is less to list than to write. The second one takes over from the one that
 * watched its own node. */
TOLD(handed_over_in_a_short_queue, plain, STEPS(enter, 0, LONG_QUEUE / 2 - 1),
     STEPS(hand_over, 1, 2),
     EACH_COSTS(hand_over, 3, LONG_QUEUE / 2 - 1, .list = 1, .delete = 1, .changes = 1,
                .events = 1))

/* Then the own node is watched as well, and the watch is heard of once more at its end. */
TOLD(held_for_longer, held_long, STEPS(enter, 0, LONG_QUEUE / 2 - 1), STEP(hand_over, 1),
     EACH_COSTS(hand_over, 2, LONG_QUEUE / 2 - 1, .list = 1, .read = 1, .delete = 1, .changes = 1,
                .events = 2))

/* The first ones entered a short queue, and list; then nobody does until it is short again. */
#define IN_LONG_QUEUE(waiters)                                                                     \
    STEPS(enter, 0, (waiters)-1), STEPS(hand_over, 1, LONG_QUEUE),                                 \
        EACH_COSTS(hand_over, LONG_QUEUE + 1, LONG_QUEUE + 19, .read = 2, .set = 1, .delete = 1,   \
                   .changes = 2, .events = 1)
TOLD(handed_over_in_a_long_queue, plain, IN_LONG_QUEUE(2 * LONG_QUEUE + 20))
TOLD(handed_over_in_a_longer_queue, plain, IN_LONG_QUEUE(WAITERS_MAX))

/* A writer wakes all readers behind it, which list; the last reader one writer. */
TOLD(readers_and_writers, nobody_holds, STEP(enter_to_write, 0), STEP(count_anew, 0),
     COSTS(enter_to_read, 1, .create = 1, .list = 1, .read = 1, .changes = 1),
     STEP(enter_to_read, 2), STEP(count_anew, 0),
     COSTS(leave, 0, .list = 2, .delete = 1, .changes = 1, .events = 2), STEPS(granted, 1, 2),
     COSTS(enter_to_write, 3, .create = 1, .list = 1, .read = 1, .changes = 1),
     COSTS(leave, 2, .list = 1, .read = 1, .delete = 1, .changes = 1, .events = 1),
     COSTS(leave, 1, .list = 1, .delete = 1, .changes = 1, .events = 1), STEP(granted, 3))

/* The limit is read by a handle's first contender, and then when it has changed. */
TOLD(permits_that_are_free, counts, STEP(take_permit, 0), STEP(leave, 0), STEP(count_anew, 0),
     STEP(take_permit, 1),
     COSTS(leave, 1, .create = 1, .list = 1, .read = 1, .delete = 1, .changes = 2),
     STEP(take_permit, 1), COSTS(leave, 1, .create = 1, .list = 1, .delete = 1, .changes = 2))

/* When permits are given back, only the first in line hears of it, however many wait. It touches
 * its node when it is admitted, so that the next one becomes the first. The third event is the echo
 * of the leaver's watch on its own node. The second read is for the own watch of the contender that
 * was admitted before, 20 ms later. */
TOLD(permits_given_on, counts, STEPS(take_permit, 0, PERMITS + 11), STEP(count_anew, 0),
     COSTS(give_on, 0, .list = 2, .read = 1, .set = 1, .delete = 1, .others = 2, .changes = 2,
           .events = 3),
     EACH_COSTS(give_on, 1, 2, .list = 2, .read = 2, .set = 1, .delete = 1, .others = 2,
                .changes = 2, .events = 3))

/* The second one reads the limit, and the numbers of the first. */
TOLD(numbers_of_permits, numbers, STEP(take_permit, 0), STEP(leave, 0), STEP(count_anew, 0),
     COSTS(take_permit, 0, .create = 1, .list = 2, .read = 1, .set = 1, .changes = 2),
     COSTS(take_permit, 1, .create = 1, .list = 2, .read = 3, .set = 1, .changes = 2),
     STEP(leave, 0), COSTS(leave, 1, .delete = 2, .changes = 2))

/* The first unlock looks once, since the handle had not listed before. */
TOLD(first_tenure, retains, STEP(enter, 0), STEP(count_anew, 0), COSTS(leave, 0, .list = 1),
     COSTS(let_go, 0, .delete = 1, .changes = 1, .events = 1))

#define RETAINED STEP(enter, 0), STEP(leave_when_granted, 0)

/* A tenure that lasts has the watch on its own node, to hear that it is asked to give way. */
TOLD(turns_of_a_tenure, retains, RETAINED, STEP(let_go, 0), STEP(count_anew, 0),
     COSTS(enter, 0, .create = 1, .list = 1, .changes = 1), STEP(leave, 0), STEP(count_anew, 0),
     COSTS(take_turns, 0, .read = 1), COSTS(take_turns, 0, .create = 0),
     COSTS(let_go, 0, .delete = 1, .changes = 1, .events = 2))

/* By one that comes, and finds it gone when it would watch it. */
TOLD(idle_tenure_is_recalled, retains, RETAINED, STEP(count_anew, 0),
     COSTS(enter, 1, .create = 1, .list = 1, .read = 2, .delete = 1, .changes = 2, .events = 1),
     STEP(granted, 1))

TOLD(try_of_what_is_free, plain, STEP(enter, 0), STEP(leave, 0),
     COSTS(try_free, 1, .create = 1, .list = 1, .changes = 1), STEP(leave, 1))

/* Refused by one list, whatever the one who tries does itself. */
TOLD(try_of_what_is_held, plain, STEP(enter, 0),
     COSTS(try_held, 1, .create = 1, .list = 1, .delete = 1, .changes = 2), STEP(leave, 0))
TOLD(try_by_one_that_retains, retains, STEP(enter, 1),
     COSTS(try_held, 0, .create = 1, .list = 1, .delete = 1, .changes = 2), STEP(leave, 1))

/* As idle_tenure_is_recalled by one that waits. */
TOLD(try_of_what_is_idle, retains, RETAINED,
     COSTS(try_idle, 1, .create = 1, .list = 1, .read = 2, .delete = 1, .changes = 2, .events = 1))

/* While the try waits, it watches its own node and the other's. The holder looks at its own node,
 * as it does whenever a rival comes. */
TOLD(try_of_what_is_retained_and_used, retains, RETAINED, STEP(enter, 0),
     COSTS(try_used, 1, .create = 1, .list = 1, .read = 3, .delete = 1, .others = 1, .changes = 2,
           .events = 2),
     STEP(leave, 0))

static void check_costs(struct costs expected)
{
    check(&(struct step){.name = "all that", .counted = true, .costs = expected});
}
#define CHECK_COSTS(...) check_costs((struct costs){__VA_ARGS__})

/* ---- several paths ---- */

enum { SEVERAL = 4 };
static const char *const several[SEVERAL] = {"/l1", "/l2", "/l3", "/l4"};

static zkl_multilock *multilocks[2]; /* of the first actors */

static int by_multilock(struct waiter *w, int64_t timeout_ms)
{
    return zkl_multilock_lock_async(multilocks[w->actor - actors], timeout_ms, on_acquired, w,
                                    NULL);
}

/* The first one makes the directories. */
static void begin_several(int latency_us)
{
    begin_with(&(struct setting){.hold = SHORT, .latency_us = latency_us});
    for (size_t i = 0; i < G_N_ELEMENTS(multilocks); i++) {
        host_enter(actors[i].host);
        REQUIRE(zkl_multilock_new(&multilocks[i], actors[i].session, several, SEVERAL, NULL) == 0);
        host_enter(NULL);
    }
    ask(0, &actors[0], by_multilock, ZKL_FOREVER);
    pass(100 * MS);
    leave(0);
}

static void end_several(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(multilocks); i++)
        zkl_multilock_free(multilocks[i]);
    end();
}

/* ns until it is granted. */
static int64_t time_to_enter(int i, way by, int64_t timeout_ms)
{
    const int64_t began = world_now(world);

    ask(i, &actors[i], by, timeout_ms);
    for (int n = 0; n < 1000 && !waiters[i].grant; n++)
        pass(MS / 100);
    return world_now(world) - began;
}

/* The same, of one path, which has its directory. */
static int64_t time_of_one(int64_t timeout_ms)
{
    enter(1);
    pass(100 * MS);
    leave(1);
    const int64_t took = time_to_enter(1, by_mutex, timeout_ms);
    leave(1);
    return took;
}

static int64_t time_of_several(int64_t timeout_ms)
{
    count_anew(0);
    const int64_t took = time_to_enter(0, by_multilock, timeout_ms);
    leave(0);
    CHECK_COSTS(.create = SEVERAL, .list = SEVERAL, .delete = SEVERAL, .changes = 2 * SEVERAL);
    return took;
}

/* All creates in one round trip, and the lists behind them: it takes as long as one path. */
TEST_CASE(several_paths)
{
    begin_several(500);
    const int64_t took = time_of_several(ZKL_FOREVER);
    CHECK_INT(time_of_one(ZKL_FOREVER), took);
    end_several();
}

/* The second path is another's: what is behind it is left, and entered again when that is free. */
TEST_CASE(several_paths_that_wait)
{
    begin_several(0);
    zkl_mutex *held_by_another = actors[2].mutex;
    REQUIRE(zkl_mutex_new(&actors[2].mutex, actors[2].session, several[1], NULL) == 0);
    enter(2);
    count_anew(0);
    ask(1, &actors[1], by_multilock, ZKL_FOREVER);
    pass(SHORT);
    CHECK_COSTS(.create = SEVERAL, .list = SEVERAL, .read = 2, .delete = 2, .changes = SEVERAL + 2);
    leave(2);
    granted(1);
    CHECK_COSTS(.create = 2, .list = 2, .delete = 1, .changes = 3, .events = 1);
    leave(1);
    zkl_mutex_free(actors[2].mutex);
    actors[2].mutex = held_by_another;
    end_several();
}

/* A try asks at one path after the other. */
TEST_CASE(several_paths_are_tried)
{
    begin_several(500);
    const int64_t one = time_of_one(0), all = time_of_several(0);
    CHECK(all > (SEVERAL - 1) * one && all <= SEVERAL * one);
    end_several();
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
    count_anew(0);
    for (int i = 0; i < count; i++) {
        host_enter(actors[i % ACTORS].host);
        CHECK_INT((enters ? zkl_double_barrier_enter_async
                          : zkl_double_barrier_leave_async)(members[i], ZKL_FOREVER, on_met, NULL),
                  0);
        host_enter(NULL);
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
    begin();
    for (int i = 0; i < count; i++) {
        host_enter(actors[i % ACTORS].host);
        REQUIRE(zkl_double_barrier_new(&members[i], actors[i % ACTORS].session, "/l", count,
                                       NULL) == 0);
        host_enter(NULL);
    }
}

static void end_meeting(int count)
{
    for (int i = 0; i < count; i++) {
        host_enter(actors[i % ACTORS].host);
        zkl_double_barrier_free(members[i]);
        host_enter(NULL);
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

    begin_with(&(struct setting){.hold = 2 * MS, .permits = COUNT, .numbered = true});
    take_permit(0);
    leave(0);
    count_anew(0);
    for (int i = 0; i < COUNT; i++)
        ask(i, &actors[i % ACTORS], by_permit, ZKL_FOREVER);
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
    count_anew(0);
    take_permit(0);
    CHECK(waiters[0].grant != NULL);
    CHECK_INT(costs.read, COUNT - 1 + 1); /* the others, and the own node */
    for (int i = 0; i < COUNT; i++)
        leave(i);
    end();
}

/* ---- retained ---- */

/* A contender that was granted after a wait knows of nobody behind it, and looks. But it makes
 * others wait for that no more than a tenth of the time. */
TEST_CASE(handed_to_and_fro)
{
    enum { TIMES = 50, LATENCY_US = 400 };
    unsigned looks = 0;

    begin_with(&(struct setting){.hold = SHORT, .retain = 10000, .latency_us = LATENCY_US});
    enter(0);
    leave_when_granted(0);
    held = 1 * MS;
    enter(1);
    int64_t began = world_now(world);
    for (int i = 0; i < TIMES; i++) {
        enter(0);
        leave_when_granted(1);
        enter(1);
        count_anew(0);
        leave_when_granted(0);
        looks += costs.list;
    }
    CHECK(looks > 0 && looks < TIMES);
    CHECK(looks * 9 * 2 * LATENCY_US <= (world_now(world) - began) / 1000);
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

static void come(int count, way by)
{
    load = (struct load){0};
    for (int i = 0; i < count; i++)
        ask(i, &actors[0], by, ZKL_FOREVER);
}

static void come_at_once(void)
{
    come(CROWD, by_own_mutex);
    check_in_line(CROWD, ABREAST);
    CHECK_INT(load.most_lists, ABREAST);
}

/* The holder has lost its grant, and does not enter again. */
TEST_CASE(they_enter_again_in_another_session)
{
    begin();
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
    begin();
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

    begin();
    come(CROWD, by_mutex);
    check_in_line(1, 1);
    CHECK_INT(load.most_lists, 1);
    hand_over(1); /* from the one that watched its own node */
    for (int i = 1; i < CROWD - 1; i++) {
        granted(i);
        CHECK(zkl_grant_token(waiters[i].grant) > token);
        token = zkl_grant_token(waiters[i].grant);
        hand_over(i + 1);
        CHECK_COSTS(.create = 1, .list = 1, .delete = 1, .changes = 2);
    }
    CHECK_INT(load.most_creates, 1);
    CHECK_INT(load.most_lists, 1);
    end();
}

/* Another contender comes between two of them, each time. */
TEST_CASE(callers_and_a_rival)
{
    enum { CALLERS = 10, RIVAL = CROWD - 1 };

    begin();
    come(CALLERS, by_mutex);
    pass(ALL_IN_LINE_MS * MS);
    for (int i = 0; i < CALLERS - 2; i++) {
        enter(RIVAL);
        leave(i);
        granted(RIVAL);
        waits(i + 1);
        leave(RIVAL);
        granted(i + 1);
        waits(i + 2);
    }
    CHECK_INT(load.most_creates, 1);
    end();
}

int main(int argc, char **argv)
{
    layout_random = world_random;
    return runner_main(argc, argv);
}
