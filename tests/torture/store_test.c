/* Each request to the store, failed in turn in each way, over scenarios in a simulated world. */
#include <glib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/contender/contender.h"
#include "progress.h"
#include "recipes/head_hint.h"
#include "runner.h"
#include "store_stage.h"

/* ---- what programs do with locks, played to its end whatever is answered ---- */

#define LOCK_READER LOCK_PATH "/_c_other-__READ__0000000000"

static void end(struct acquisition *t)
{
    stage_await(t);
    stage_release(t);
}

static struct acquisition *hold(struct actor *a, const char *path)
{
    struct acquisition *t = stage_lock(a, path, ZKL_FOREVER);

    stage_await(t);
    return t;
}

/* Long enough to be in line whatever fails once. */
static struct acquisition *queue_up(struct actor *a)
{
    struct acquisition *t = stage_lock(a, LOCK_PATH, ZKL_FOREVER);

    stage_run(1000);
    return t;
}

static void alone(void)
{
    stage_release(hold(stage_join("a"), LOCK_PATH));
}

static void hand_over(struct actor *a, struct actor *b)
{
    struct acquisition *first = hold(a, LOCK_PATH), *second = queue_up(b);

    stage_release(first);
    end(second);
}

static void between_sessions(void)
{
    struct actor *a = stage_join("a");

    hand_over(a, stage_join("b"));
}

static void in_one_session(void)
{
    struct actor *a = stage_join("a");

    hand_over(a, a);
}

/* But the holder's own watch and that of the next in line. */
static void check_watchers(const struct acquisition *t, unsigned most)
{
    if (t->node && rules_mere_loss())
        MUST(world_watchers(stage.world, t->node) <= most);
}

static void middle_leaves(void)
{
    struct acquisition *first = hold(stage_join("a"), LOCK_PATH);
    struct acquisition *middle = queue_up(stage_join("b"));
    struct acquisition *last = queue_up(stage_join("c"));

    stage_cancel(middle);
    stage_run(1000);
    check_watchers(first, 2);
    stage_release(middle);
    stage_release(first);
    end(last);
}

/* The first that is granted; *ret_over: all are completed. */
static struct acquisition *granted_in(struct acquisition *const line[], bool *ret_over)
{
    *ret_over = true;
    for (int i = 0; line[i]; i++) {
        if (line[i]->grant)
            return line[i];
        *ret_over &= line[i]->calls > 0;
    }
    return NULL;
}

static bool is_turn(const void *line)
{
    bool over;

    return granted_in(line, &over) || over;
}

/* One whose session ended stands behind the others. */
static void end_in_turn(struct acquisition *const line[])
{
    struct acquisition *t;
    bool over;

    do {
        MUST(stage_until(is_turn, line));
        t = granted_in(line, &over);
        if (t)
            stage_release(t);
    } while (t);
}

/* Two are a long queue: the heads leave hints, and those behind them go by these. */
static void in_long_queue(void)
{
    contender_long_queue = 2;
    struct actor *a = stage_join("a"), *b = stage_join("b"), *c = stage_join("c");
    struct acquisition *line[] = {hold(a, LOCK_PATH), queue_up(b), queue_up(c), queue_up(b), NULL};

    end_in_turn(line);
    contender_long_queue = LONG_QUEUE;
}

static void tries(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    struct acquisition *first = hold(a, LOCK_PATH);

    end(stage_lock(b, LOCK_PATH, 0));
    stage_release(first);
    stage_run(5000);
    end(stage_lock(b, LOCK_PATH, 0));
}

static void time_over(void)
{
    struct acquisition *first = hold(stage_join("a"), LOCK_PATH);

    end(stage_lock(stage_join("b"), LOCK_PATH, 3000));
    stage_run(1000);
    check_watchers(first, 1);
    stage_release(first);
}

static void place_reader(void)
{
    world_admin_create(stage.world, LOCK_PATH, NULL, true);
    world_admin_create(stage.world, LOCK_READER, NULL, false);
}

/* Refused for a reader of another library that came first, until it has gone. */
static void another_layout(void)
{
    struct actor *a = stage_join("a");

    place_reader();
    end(hold(a, LOCK_PATH));
    end(stage_lock(a, LOCK_PATH, 0));
    world_admin_delete(stage.world, LOCK_READER);
    end(hold(a, LOCK_PATH));
}

/* The node that goes with the refusal was found again. */
static void another_layout_adopted(void)
{
    struct actor *a = stage_join("a");

    place_reader();
    store_fault_lose_create(true);
    end(hold(a, LOCK_PATH));
    stage_run(1000);
    world_admin_delete(stage.world, LOCK_READER);
    end(hold(a, LOCK_PATH));
}

static void lose_create(bool done)
{
    struct actor *a = stage_join("a");

    world_admin_create(stage.world, LOCK_PATH, NULL, true);
    store_fault_lose_create(done);
    hand_over(a, stage_join("b"));
}

static void adopted(void)
{
    lose_create(true);
}

static void created_again(void)
{
    lose_create(false);
}

/* Given up before it is known whether a node was made. */
static void left_unsettled(void)
{
    struct actor *a = stage_join("a");

    world_admin_create(stage.world, LOCK_PATH, NULL, true);
    stage_run(1000);
    store_fault_lose_create(true);
    struct acquisition *t = stage_lock(a, LOCK_PATH, ZKL_FOREVER);
    stage_cancel(t);
    end(t);
    end(hold(a, LOCK_PATH));
}

static void parents(void)
{
    stage_release(hold(stage_join("a"), LOCK_FAR));
}

/* Beyond the time when the own node is watched, and through some proofs. */
static void long_hold(void)
{
    struct acquisition *t = hold(stage_join("a"), LOCK_PATH);

    stage_run(12000);
    stage_release(t);
}

static void node_deleted(void)
{
    struct acquisition *t = hold(stage_join("a"), LOCK_PATH);

    stage_run(1000);
    stage_delete_node(t);
    stage_run(1000);
    stage_release(t);
}

static void transactions(void)
{
    struct acquisition *t = hold(stage_join("a"), LOCK_PATH), *next = queue_up(stage_join("b"));

    stage_multi(t, 0);
    stage_multi(t, 0);
    stage_run(3000);
    stage_release(t);
    end(next);
}

static void given_back(void)
{
    struct acquisition *t = hold(stage_join("a"), LOCK_PATH), *next = queue_up(stage_join("b"));

    stage_multi(t, 0);
    stage_multi(t, ZKL_MULTI_RELEASE);
    stage_run(3000);
    stage_release(t);
    end(next);
}

static void exhaust(void)
{
    world_set_counter(stage.world, LOCK_PATH, INT_MAX);
}

static void numbers_reset(void)
{
    struct actor *a = stage_join("a");

    stage_release(hold(a, LOCK_PATH));
    stage_run(2000);
    exhaust();
    end(hold(a, LOCK_PATH));
}

static void numbers_used_up(void)
{
    struct acquisition *first = hold(stage_join("a"), LOCK_PATH);

    exhaust();
    end(hold(stage_join("b"), LOCK_PATH));
    stage_release(first);
}

/* The sessions are replaced, and so the nodes go. */
static void deletes_refused(void)
{
    struct acquisition *first = hold(stage_join("a"), LOCK_PATH),
                       *second = queue_up(stage_join("b"));

    world_refuse(stage.world, STORE_DELETE, LOCK_PATH);
    stage_release(first);
    end(second);
    stage_run(3000);
    world_refuse(stage.world, STORE_SYNC, NULL);
}

static bool is_gone(const void *data)
{
    const struct acquisition *t = data;

    return !t->node || !world_exists(stage.world, t->node, NULL, NULL);
}

/* The session is needed, so the node stays for as long as that lasts. */
static void deletes_refused_while_holding(void)
{
    struct actor *a = stage_join("a");
    struct acquisition *other = hold(a, LOCK_OTHER), *t = hold(a, LOCK_PATH);

    world_refuse(stage.world, STORE_DELETE, LOCK_PATH);
    stage_release(t);
    struct acquisition *next = queue_up(stage_join("b"));
    stage_run(3000);
    world_refuse(stage.world, STORE_SYNC, NULL);
    MUST(stage_until(is_gone, t));
    stage_release(other);
    end(next);
}

/* ---- two paths ---- */

static struct acquisition *hold_both(struct actor *a)
{
    struct acquisition *t = stage_lock_both(a, ZKL_FOREVER);

    stage_await(t);
    return t;
}

static void both_alone(void)
{
    stage_release(hold_both(stage_join("a")));
}

/* Behind a mutex at either path, one after the other. */
static void both_wait(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    struct acquisition *first = hold(a, LOCK_PATH), *second = hold(a, LOCK_OTHER),
                       *t = stage_lock_both(b, ZKL_FOREVER);

    stage_run(1000);
    stage_release(first);
    stage_run(1000);
    stage_release(second);
    end(t);
}

static void both_again(void)
{
    struct acquisition *first = hold_both(stage_join("a")),
                       *second = stage_lock_both(stage_join("b"), ZKL_FOREVER);

    stage_run(1000);
    stage_release(first);
    end(second);
}

/* In vain. */
static void both_half(void)
{
    struct acquisition *first = hold(stage_join("a"), LOCK_PATH),
                       *t = stage_lock_both(stage_join("b"), 5000);

    end(t);
    stage_release(first);
}

static void both_node_deleted(void)
{
    struct acquisition *t = hold_both(stage_join("a"));

    stage_run(1000);
    if (t->other_node)
        stage_admin_delete(t->other_node);
    stage_run(1000);
    stage_release(t);
}

static void both_transactions(void)
{
    struct acquisition *t = hold_both(stage_join("a")),
                       *next = stage_lock_both(stage_join("b"), ZKL_FOREVER);

    stage_multi(t, 0);
    stage_multi(t, ZKL_MULTI_RELEASE);
    stage_run(3000);
    stage_release(t);
    end(next);
}

/* The first in line is told of a release, and the next one is the first then. */
static void acquire_in_turn(bool numbered)
{
    struct acquisition *t[3];

    t[0] = stage_acquire(stage_join("a"), LOCK_OTHER, numbered);
    stage_await(t[0]);
    t[1] = stage_acquire(stage_join("b"), LOCK_OTHER, numbered);
    stage_run(1000);
    t[2] = stage_acquire(stage_join("c"), LOCK_OTHER, numbered);
    stage_run(1000);
    for (int i = 0; i < 9; i++) { /* who has lost its place is last */
        stage_release(t[i % 3]);
        stage_run(1000);
    }
    for (int i = 0; i < 3; i++)
        end(t[i]);
    stage_admin_delete(LOCK_OTHER); /* and with it watches that the server would not remove */
}

static void permits(void)
{
    acquire_in_turn(false);
}

static void numbers(void)
{
    acquire_in_turn(true);
}

/* ---- what has nodes with fixed names, where requests are lost and come late ---- */

/* Turns of one node, until the other session asks for it, and then a new one. */
static void retained(void)
{
    struct acquisition *first = stage_retain(stage_join("a"));

    end(first);
    end(stage_lock_again(first));
    struct acquisition *next = queue_up(stage_join("b"));
    end(next);
    end(stage_lock_again(first));
}

/* Longer than what comes late takes, or may take by a clock that is a tenth too fast. */
enum { AWHILE_MS = 2000, LATE_OVER_MS = WORLD_LATE_MS / 10 * 11 + 1000 };

static zkl_member *join(struct actor *a, const char *data)
{
    zkl_member *m;

    STAGE_CALL(a, 0, zkl_member_join(&m, a->session, "/dir/group", "id", data, strlen(data), NULL));
    STAGE_CALL(a, 0, zkl_member_wait(m, ZKL_FOREVER));
    rules_keep("/dir/group/id", true);
    return m;
}

static void leave(struct actor *a, zkl_member *m)
{
    rules_let_go();
    STAGE_CALL(a, 0, zkl_member_leave(m, ZKL_FOREVER));
    rules_keep("/dir/group/id", false);
}

static void on_updated(const zkl_error *err, void *unused)
{
    (void)err, (void)unused; /* it may have left before */
}

/* One after the other has one id. In a session that is kept, the first one is still being updated
 * when it leaves. */
static void members_in_turn(bool kept)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");

    if (kept)
        STAGE_CALL(a, 0, zkl_session_keep(a->session, 1));
    zkl_member *first = join(a, "first");
    stage_run(AWHILE_MS); /* it looks at its node first */
    rules_let_go();
    if (kept) {
        STAGE_CALL(a, 0, zkl_member_update_async(first, "x", 1, ZKL_FOREVER, on_updated, NULL));
    } else {
        STAGE_CALL(a, 0, zkl_member_update(first, "x", 1, ZKL_FOREVER));
        STAGE_CALL(a, 0, zkl_member_update(first, "y", 1, ZKL_FOREVER));
        rules_keep("/dir/group/id", true);
        stage_run(AWHILE_MS);
    }
    leave(a, first);
    rules_let_go();
    zkl_member *second = join(b, "second");
    stage_run(LATE_OVER_MS);
    leave(b, second);
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_member_free(first));
    STAGE_DO(b, zkl_member_free(second));
}

static void members(void)
{
    members_in_turn(false);
}

static void members_of_a_kept_session(void)
{
    members_in_turn(true);
}

static void change_barrier(struct actor *a, zkl_barrier *b, bool stands)
{
    rules_let_go();
    STAGE_CALL(a, 0, (stands ? zkl_barrier_set : zkl_barrier_remove)(b, ZKL_FOREVER));
    rules_keep("/dir/barrier", stands);
}

static void barriers_in_turn(bool kept)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_barrier *at[2];

    if (kept)
        STAGE_CALL(a, 0, zkl_session_keep(a->session, 1));
    STAGE_CALL(a, 0, zkl_barrier_new(&at[0], a->session, "/dir/barrier", NULL));
    STAGE_CALL(b, 0, zkl_barrier_new(&at[1], b->session, "/dir/barrier", NULL));
    change_barrier(a, at[0], true);
    change_barrier(b, at[1], false);
    change_barrier(b, at[1], true);
    change_barrier(a, at[0], false);
    change_barrier(b, at[1], true);
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_barrier_free(at[0]));
    STAGE_DO(b, zkl_barrier_free(at[1]));
}

static void barriers(void)
{
    barriers_in_turn(false);
}

static void barriers_of_a_kept_session(void)
{
    barriers_in_turn(true);
}

static void on_done(const zkl_error *err, void *data)
{
    MUST(!err);
    *(bool *)data = true;
}

static bool is_true(const void *data)
{
    return *(const bool *)data;
}

/* Each round begins with one member alone, the second for as long as what was lost in the first may
 * come. */
static void meetings(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_double_barrier *x, *y;
    bool done;

    STAGE_CALL(a, 0, zkl_double_barrier_new(&x, a->session, "/dir/meeting", 2, NULL));
    STAGE_CALL(b, 0, zkl_double_barrier_new(&y, b->session, "/dir/meeting", 2, NULL));
    for (int round = 0; round < 2; round++) {
        done = false;
        STAGE_CALL(a, 0, zkl_double_barrier_enter_async(x, ZKL_FOREVER, on_done, &done));
        stage_run(round > 0 ? LATE_OVER_MS : AWHILE_MS);
        MUST(!done);
        rules_let_go();
        STAGE_CALL(b, 0, zkl_double_barrier_enter(y, LATE_OVER_MS));
        MUST(stage_until(is_true, &done));
        rules_keep("/dir/meeting/ready", true);
        stage_run(round > 0 ? LATE_OVER_MS : 0);
        rules_let_go();
        done = false;
        STAGE_CALL(a, 0, zkl_double_barrier_leave_async(x, ZKL_FOREVER, on_done, &done));
        STAGE_CALL(b, 0, zkl_double_barrier_leave(y, ZKL_FOREVER));
        MUST(stage_until(is_true, &done));
        rules_keep("/dir/meeting/ready", false);
    }
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_double_barrier_free(x));
    STAGE_DO(b, zkl_double_barrier_free(y));
}

/* Whether an unfenced number that stands there is its own it cannot always tell. */
static void add(struct actor *a, zkl_counter *c, const zkl_grant *fence, int64_t *number)
{
    int64_t got = 0;
    int code = 0;

    rules_let_go();
    STAGE_DO(a, code = zkl_counter_add(c, 1, fence, ZKL_FOREVER, &got));
    MUST(code == 0 || (code == ZKL_EUNKNOWN && !fence && store_fault_reached()));
    rules_keep("/dir/counter", true);
    STAGE_CALL(a, 0, zkl_counter_get(c, ZKL_FOREVER, &got));
    MUST(got == *number + 1 || (code != 0 && got == *number));
    *number = got;
}

static void counters(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_counter *x, *y;
    int64_t number = 0;

    STAGE_CALL(a, 0, zkl_counter_new(&x, a->session, "/dir/counter", ZKL_COUNTER_64));
    STAGE_CALL(b, 0, zkl_counter_new(&y, b->session, "/dir/counter", ZKL_COUNTER_64));
    add(a, x, NULL, &number);
    add(b, y, NULL, &number);
    add(a, x, NULL, &number);
    rules_let_go();
    number = 10;
    STAGE_CALL(b, 0, zkl_counter_set(y, number, NULL, ZKL_FOREVER));
    rules_keep("/dir/counter", true);
    add(a, x, NULL, &number);
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_counter_free(x));
    STAGE_DO(b, zkl_counter_free(y));
}

static void counters_behind_a_fence(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_counter *x, *y;
    int64_t number = 0;

    STAGE_CALL(a, 0, zkl_counter_new(&x, a->session, "/dir/counter", ZKL_COUNTER_64));
    STAGE_CALL(b, 0, zkl_counter_new(&y, b->session, "/dir/counter", ZKL_COUNTER_64));
    struct acquisition *first = hold(a, LOCK_PATH), *next = queue_up(b);
    add(a, x, first->grant, &number);
    add(a, x, first->grant, &number);
    stage_run(AWHILE_MS);
    stage_release(first);
    stage_await(next);
    add(b, y, next->grant, &number);
    stage_run(LATE_OVER_MS);
    stage_release(next);
    STAGE_DO(a, zkl_counter_free(x));
    STAGE_DO(b, zkl_counter_free(y));
}

/* One that begins in another session stands behind who had waited. */
static void run_once(struct actor *a, zkl_once *o)
{
    struct acquisition *t = stage_begin_once(a, o);

    stage_await(t);
    rules_let_go();
    STAGE_CALL(a, 0, zkl_once_end(o, t->grant, "done", 4, ZKL_FOREVER));
    stage_release(t);
    rules_keep(WORK_PATH "/record", true);
}

static void reset(struct actor *a, zkl_once *o)
{
    rules_let_go();
    STAGE_CALL(a, 0, zkl_once_reset(o, ZKL_FOREVER));
    rules_keep(WORK_PATH "/record", false);
}

static void runs_in_turn(bool kept)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_once *x, *y;

    if (kept)
        STAGE_CALL(a, 0, zkl_session_keep(a->session, 1));
    STAGE_CALL(a, 0, zkl_once_new(&x, a->session, WORK_PATH, NULL));
    STAGE_CALL(b, 0, zkl_once_new(&y, b->session, WORK_PATH, NULL));
    run_once(a, x);
    reset(b, y);
    run_once(b, y);
    reset(a, x);
    run_once(b, y);
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_once_free(x));
    STAGE_DO(b, zkl_once_free(y));
}

static void once(void)
{
    runs_in_turn(false);
}

static void once_in_a_kept_session(void)
{
    runs_in_turn(true);
}

static void limits(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_semaphore *at[2];

    world_admin_create(stage.world, LOCK_OTHER, NULL, false);
    STAGE_CALL(a, 0, zkl_semaphore_new(&at[0], a->session, LOCK_OTHER, NULL));
    STAGE_CALL(b, 0, zkl_semaphore_new(&at[1], b->session, LOCK_OTHER, NULL));
    for (int i = 0; i < 4; i++) {
        int limit = 0;
        rules_let_go();
        STAGE_CALL(i % 2 ? b : a, 0, zkl_semaphore_set_limit(at[i % 2], 10 + i, ZKL_FOREVER));
        rules_keep(LOCK_OTHER, true);
        STAGE_CALL(i % 2 ? b : a, 0, zkl_semaphore_get_limit(at[i % 2], ZKL_FOREVER, &limit));
        MUST(limit == 10 + i);
    }
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_semaphore_free(at[0]));
    STAGE_DO(b, zkl_semaphore_free(at[1]));
}

static void lead(struct actor *a, zkl_election *e)
{
    struct acquisition *t = stage_campaign(a, e);

    stage_await(t);
    rules_let_go();
    STAGE_CALL(a, 0, zkl_election_proclaim(e, "one", 3, ZKL_FOREVER));
    STAGE_CALL(a, 0, zkl_election_proclaim(e, "two", 3, ZKL_FOREVER));
    rules_keep(LOCK_PATH, true);
    stage_run(AWHILE_MS);
    stage_release(t);
}

static void terms(void)
{
    struct actor *a = stage_join("a"), *b = stage_join("b");
    zkl_election *x, *y;

    STAGE_CALL(a, 0, zkl_election_new(&x, a->session, LOCK_PATH, "a", NULL));
    STAGE_CALL(b, 0, zkl_election_new(&y, b->session, LOCK_PATH, "b", NULL));
    lead(a, x);
    lead(b, y);
    stage_run(LATE_OVER_MS);
    STAGE_DO(a, zkl_election_free(x));
    STAGE_DO(b, zkl_election_free(y));
}

static const struct scene {
    const char *name;
    void (*fn)(void);
    const char *outcome; /* when nothing fails: codes, "-" for a loss told, "; " transactions */
    unsigned requests;   /* that it makes then, at least */
    bool trio;           /* to be played in an ensemble, too */
    int also;            /* a code that may come when a request is refused */
    bool lost_alone;     /* no request is refused, and nothing is taken away */
} scenes[] = {
    {"alone", alone, "0", 9, false, 0, false},
    {"between_sessions", between_sessions, "0 0", 16, true, 0, false},
    {"in_one_session", in_one_session, "0 0", 14, false, 0, false},
    {"middle_leaves", middle_leaves, "0 -5 0", 30, false, 0, false},
    {"in_long_queue", in_long_queue, "0 0 0 0", 40, true, 0, false},
    {"tries", tries, "0 -4 0", 22, false, 0, false},
    {"time_over", time_over, "0 -3", 20, false, 0, false},
    {"another_layout", another_layout, "-25 -25 0", 12, false, 0, false},
    {"another_layout_adopted", another_layout_adopted, "-25 0", 12, false, 0, false},
    {"adopted", adopted, "0 0", 14, true, 0, false},
    {"created_again", created_again, "0 0", 15, false, 0, false},
    {"left_unsettled", left_unsettled, "-5 0", 10, false, 0, false},
    {"parents", parents, "0", 10, false, 0, false},
    {"long_hold", long_hold, "0", 16, true, 0, false},
    {"node_deleted", node_deleted, "0-", 10, false, 0, false},
    {"transactions", transactions, "0 0; 0 0", 25, false, 0, false},
    {"given_back", given_back, "0 0; 0 0", 25, true, 0, false},
    {"numbers_reset", numbers_reset, "0 0", 20, false, ZKL_EOVERFLOW, false},
    {"numbers_used_up", numbers_used_up, "0 -16", 15, false, 0, false},
    {"deletes_refused", deletes_refused, "0 0", 25, false, 0, false},
    {"deletes_refused_while_holding", deletes_refused_while_holding, "0 0 0", 36, false, 0, false},
    {"both_alone", both_alone, "0", 12, false, 0, false},
    {"both_wait", both_wait, "0 0 0", 20, true, 0, false},
    {"both_again", both_again, "0 0", 20, false, 0, false},
    {"both_half", both_half, "0 -3", 15, false, 0, false},
    {"both_node_deleted", both_node_deleted, "0-", 12, false, 0, false},
    {"both_transactions", both_transactions, "0 0; 0 0", 25, true, 0, false},
    {"permits", permits, "0 0 0", 30, true, 0, false},
    {"numbers", numbers, "0 0 0", 40, true, 0, false},
    {"members", members, "", 10, true, 0, true},
    {"members_of_a_kept_session", members_of_a_kept_session, "", 10, false, 0, true},
    {"barriers", barriers, "", 5, false, 0, true},
    {"barriers_of_a_kept_session", barriers_of_a_kept_session, "", 5, false, 0, true},
    {"meetings", meetings, "", 30, false, 0, true},
    {"counters", counters, "", 15, false, 0, true},
    {"counters_behind_a_fence", counters_behind_a_fence, "0 0", 20, false, 0, true},
    {"once", once, "0 0 0", 30, false, 0, true},
    {"once_in_a_kept_session", once_in_a_kept_session, "0 0 0", 30, false, 0, true},
    {"retained", retained, "0 0 0 0", 25, true, 0, true},
    {"limits", limits, "", 15, false, 0, true},
    {"terms", terms, "0 0", 20, false, 0, true},
    {NULL, NULL, NULL, 0, false, 0, false},
};

/* ---- each with each fault ---- */

TEST_SUITE(store);

enum { FAILURES_MAX = 3, RUNS_MIN = 4000 };
#define KINDS (STORE_MULTI + 1)

static unsigned runs, failed_requests[KINDS][WAYS];
static unsigned told[-ZKL_EOVERDUE + 1]; /* codes, while something failed */

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

/* Each request that the scene makes when none fails: until the n-th fails it goes on as then. */
static void play_way(const struct scene *scene, int servers, enum way way,
                     const struct outcomes *usual, unsigned requests)
{
    unsigned failures = 0;

    for (unsigned nth = 1; nth <= requests && failures < FAILURES_MAX; nth++) {
        struct outcomes o = play(scene, servers, way, nth);
        CHECK(store_fault_reached());
        runs++;
        progress_step();
        failed_requests[store_fault_kind()][way]++;
        rules_compare(usual, &o, scene->also);
        count_codes(&o);
        failures += stage.failed;
    }
}

/* What comes late does so beside three servers as beside one: the scenes about it show that. */
static bool plays(const struct scene *scene, int servers, enum way way)
{
    return scene->lost_alone ? way_is_loss(way) : servers == 1 || !way_is_late(way);
}

static void play_all(const struct scene *scene, int servers)
{
    struct outcomes usual = play(scene, servers, WAY_NONE, 0);
    char *outcome = describe(&usual);
    unsigned before = runs, requests = store_fault_count();

    CHECK_STR(outcome, scene->outcome);
    CHECK(requests >= scene->requests);
    for (enum way way = WAY_NONE + 1; way < WAYS; way++)
        if (plays(scene, servers, way))
            play_way(scene, servers, way, &usual, requests);
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
