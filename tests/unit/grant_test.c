/* What a holder sees: state and deadline, and what it is told. A question that a change crosses is
 * not answered by what was before. */
#include "lib/grant/grant.h"

#include "by_hand.h"
#include "runner.h"
#include "seeded.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(grant);

static zkl_session *s;
static struct tenure *t;
static zkl_grant *g;
static struct instant (*hand_clock)(void);
static int reads;               /* of the clock */
static void (*meanwhile)(void); /* once, while the clock is read */
static int later;               /* so many readings come first */

struct told {
    int calls;
    zkl_state last;
    int thens; /* calls that came behind one of LOST */
};

static struct instant read_clock(void)
{
    void (*fn)(void) = meanwhile;

    reads++;
    if (fn && later > 0) {
        later--;
    } else if (fn) {
        meanwhile = NULL;
        fn();
    }
    return hand_clock();
}

static void start(void)
{
    s = hand_session();
    hand_clock = clock_now;
    clock_now = read_clock;
    t = hand_tenure(s, "/root/l/n", 5);
    g = grant_new(&t, 1, NULL, NULL);
}

/* Forgets both, so that a leak is seen as one. */
static void stop(void)
{
    grant_unref(g);
    g = NULL;
    hand_end_tenure(t);
    t = NULL;
    hand_close(s);
    s = NULL;
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct told *told = data;

    CHECK(grant == g);
    told->calls++;
    told->last = state;
}

static void on_then(void *data)
{
    struct told *told = data;

    told->thens += told->last == ZKL_LOST;
}

static void check_told(const struct told *told, int calls, zkl_state last)
{
    zkl_session_dispatch(s);
    CHECK_INT(told->calls, calls);
    CHECK_INT(told->last, last);
}

static struct instant deadline_at(int64_t ms)
{
    return instant_add(hand_clock(), ms * CLOCK_MS);
}

TEST_CASE(what_it_is)
{
    start();
    CHECK_INT(zkl_grant_token(g), 5);
    CHECK_INT(zkl_grant_session_id(g), FAKE_SESSION_ID);
    CHECK_STR(zkl_grant_node(g), "/l/n");
    CHECK_STR(grant_full_node(g), "/root/l/n");
    CHECK_STR(t->payload, "who");
    CHECK(grant_session(g) == s);
    CHECK(!grant_is_child(g));
    stop();
}

TEST_CASE(held_until_the_deadline)
{
    start();
    CHECK_INT(zkl_grant_remaining_ms(g), HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1);
    CHECK_INT(zkl_grant_remaining_ms(g), 1);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    hand_jump(1, 1);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

TEST_CASE(ended_by_either_clock)
{
    start();
    hand_jump(HAND_DEADLINE_MS, 0);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
    start();
    hand_jump(0, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_remaining_ms(g), 0); /* of this one alone only that reads RAW so early */
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

TEST_CASE(lost_is_final)
{
    start();
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK(!grant_move_deadline(t, deadline_at(1000), true));
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    grant_suspect(t);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK(!grant_disown(g));
    CHECK(!grant_give_back(g, false));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

static const struct {
    enum loss loss; /* LOSS_NONE: its deadline has passed, and nobody has looked */
    zkl_loss why;
} ends[] = {{LOSS_NONE, ZKL_LOSS_DEADLINE}, {LOSS_EXPIRED, ZKL_LOSS_EXPIRED}};

/* As the first of those who come finds it. */
TEST_CASE(the_word_of_a_lost_one)
{
    for (size_t i = 0; i < 3 * G_N_ELEMENTS(ends); i++) {
        start();
        const enum loss loss = ends[i / 3].loss;
        if (loss == LOSS_NONE)
            hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
        else
            CHECK(validity_lose(&t->validity, loss));
        CHECK(!(i % 3 == 0   ? validity_move_deadline(&t->validity, deadline_at(1000), true)
                : i % 3 == 1 ? validity_suspect(&t->validity)
                             : validity_lose(&t->validity, LOSS_DELETED)));
        CHECK_INT(validity_last(&t->validity), ZKL_LOST);
        const struct validity_view view = validity_read(&t->validity);
        CHECK_INT(view.state, ZKL_LOST);
        CHECK_INT(view.loss, ends[i / 3].why);
        CHECK(view.left == 0 && view.deadline.boot == 0 && view.deadline.raw == 0);
        stop();
    }
}

/* The view that finds it out is as empty as one that is made later. */
TEST_CASE(the_view_of_a_lost_one)
{
    start();
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    for (int i = 0; i < 2; i++) {
        const struct validity_view view = validity_read(&t->validity);
        CHECK_INT(view.loss, ZKL_LOSS_DEADLINE);
        CHECK(view.left == 0 && view.deadline.boot == 0 && view.deadline.raw == 0);
    }
    stop();
}

/* Also for one who asks as soon as the clock is put back, as no clock should be. */
TEST_CASE(lost_was_seen)
{
    start();
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    hand_jump(-1000, -1000);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

TEST_CASE(a_proof_moves_the_deadline)
{
    start();
    CHECK(grant_move_deadline(t, deadline_at(20000), true));
    CHECK_INT(zkl_grant_remaining_ms(g), 20000);
    CHECK(grant_move_deadline(t, deadline_at(3000), false)); /* a smaller timeout takes it back */
    CHECK_INT(zkl_grant_remaining_ms(g), 3000);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    struct instant apart = deadline_at(3000);
    apart.raw -= 1000 * CLOCK_MS;
    CHECK(grant_move_deadline(t, apart, true));
    CHECK_INT(zkl_grant_remaining_ms(g), 2000);
    stop();
}

static int read_deadline(struct instant *ret)
{
    zkl_deadline d = {1, 1};
    int code = zkl_grant_deadline(g, &d);

    *ret = (struct instant){d.boottime_ns, d.monotonic_raw_ns};
    return code;
}

static int fill(struct zoo_op *op)
{
    *op = (struct zoo_op){.type = -1};
    return zkl_grant_check_op(g, op, 1);
}

/* Whatever the answer, the operation is there. */
static void check_filled(int code)
{
    struct zoo_op op;

    CHECK_INT(fill(&op), code);
    CHECK_STR(op.check_op.path, t->full_node);
}

static int64_t kernel_ns(clockid_t id)
{
    struct timespec now;

    REQUIRE(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000 * CLOCK_MS + now.tv_nsec;
}

/* A reading lies between two of the kernel's, and no wall clock's does. */
TEST_CASE(by_the_kernels_clocks)
{
    const int64_t boot = kernel_ns(CLOCK_BOOTTIME), raw = kernel_ns(CLOCK_MONOTONIC_RAW);
    const struct instant both = clock_now();
    const int64_t again = clock_boot();

    CHECK(boot <= both.boot && both.boot <= again && again <= kernel_ns(CLOCK_BOOTTIME));
    CHECK(raw <= both.raw && both.raw <= kernel_ns(CLOCK_MONOTONIC_RAW));
}

/* By both clocks, as it was set, but for the microsecond that is cut off. */
TEST_CASE(the_deadline_itself)
{
    struct instant read, set;

    start();
    for (int proof = 1; proof <= 2; proof++) {
        set = deadline_at(1000 * proof);
        set.raw -= proof * 123456;
        CHECK(grant_move_deadline(t, set, true));
        CHECK_INT(read_deadline(&read), 0);
        CHECK(read.boot <= set.boot && read.boot > set.boot - 1000 && read.raw == set.raw);
    }
    grant_suspect(t);
    CHECK_INT(read_deadline(&read), 0);
    CHECK(read.raw == set.raw);
    hand_jump(0, 2000);
    CHECK_INT(read_deadline(&read), ZKL_ELOST);
    CHECK(read.boot == 0 && read.raw == 0);
    CHECK_INT(zkl_last_error(NULL), ZKL_ELOST);
    check_filled(ZKL_ELOST);
    stop();
    start();
    check_filled(1);
    CHECK(grant_disown(g));
    CHECK_INT(read_deadline(&read), ZKL_EPERM);
    CHECK(read.boot == 0 && read.raw == 0);
    check_filled(ZKL_EPERM);
    stop();
}

TEST_CASE(suspect_until_proved)
{
    struct told told = {0};

    start();
    CHECK_INT(zkl_grant_on_change(g, on_change, &told), 0);
    check_told(&told, 0, ZKL_HELD);
    grant_suspect(t);
    check_told(&told, 1, ZKL_SUSPECT);
    CHECK_INT(zkl_grant_state(g), ZKL_SUSPECT);
    CHECK_INT(zkl_grant_remaining_ms(g), HAND_DEADLINE_MS);
    grant_suspect(t);
    check_told(&told, 1, ZKL_SUSPECT);
    CHECK(grant_move_deadline(t, deadline_at(9000), false));
    CHECK_INT(zkl_grant_state(g), ZKL_SUSPECT);
    check_told(&told, 1, ZKL_SUSPECT);
    CHECK(grant_move_deadline(t, deadline_at(9000), true));
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    check_told(&told, 2, ZKL_HELD);
    CHECK(grant_move_deadline(t, deadline_at(9500), true));
    check_told(&told, 2, ZKL_HELD);
    stop();
}

TEST_CASE(suspect_from_the_beginning)
{
    start();
    fake_event(STORE_EV_DOWN);
    struct tenure *other = hand_tenure(s, "/root/l/m", 6);
    zkl_grant *grant = grant_new(&other, 1, NULL, NULL);
    CHECK_INT(zkl_grant_state(grant), ZKL_SUSPECT);
    grant_unref(grant);
    hand_end_tenure(other);
    stop();
}

TEST_CASE(told_at_once_what_is_not_held)
{
    struct told suspect = {0}, released = {0};

    start();
    grant_suspect(t);
    zkl_grant_on_change(g, on_change, &suspect);
    check_told(&suspect, 1, ZKL_SUSPECT);
    CHECK(grant_disown(g));
    check_told(&suspect, 2, ZKL_RELEASED);
    zkl_grant_on_change(g, on_change, &released);
    check_told(&released, 1, ZKL_RELEASED);
    CHECK(!grant_lose(t, LOSS_DEADLINE, on_then, &released)); /* nobody is left to be told */
    check_told(&released, 1, ZKL_RELEASED);
    check_told(&suspect, 2, ZKL_RELEASED);
    stop();
}

/* Until the contender says so, loss by the deadline is told to nobody; then once. */
TEST_CASE(told_once_of_a_loss)
{
    struct told early = {0}, late = {0}, after = {0};

    start();
    zkl_grant_on_change(g, on_change, &early);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    zkl_grant_on_change(g, on_change, &late);
    check_told(&early, 0, ZKL_HELD);
    check_told(&late, 0, ZKL_HELD);
    CHECK(grant_lose(t, LOSS_DEADLINE, on_then, &late));
    check_told(&early, 1, ZKL_LOST);
    check_told(&late, 1, ZKL_LOST);
    CHECK_INT(late.thens, 1);
    CHECK(!grant_lose(t, LOSS_DEADLINE, on_then, &late));
    check_told(&late, 1, ZKL_LOST);
    CHECK_INT(late.thens, 1);
    grant_detach(t);
    zkl_grant_on_change(g, on_change, &after);
    check_told(&after, 1, ZKL_LOST);
    stop();
}

TEST_CASE(lost_before_the_deadline)
{
    struct told told = {0};

    start();
    zkl_grant_on_change(g, on_change, &told);
    CHECK(grant_lose(t, LOSS_DEADLINE, on_then, &told));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    check_told(&told, 1, ZKL_LOST);
    stop();

    start();
    grant_suspect(t);
    CHECK(!grant_lose(t, LOSS_DEADLINE, on_then, &told));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

TEST_CASE(given_back)
{
    struct told told = {0};

    start();
    grant_detach(t);
    zkl_grant_on_change(g, on_change, &told);
    CHECK(grant_give_back(g, false));
    CHECK_INT(zkl_grant_state(g), ZKL_RELEASED);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK(grant_give_back(g, false));
    CHECK(!grant_disown(g));
    CHECK(grant_move_deadline(t, deadline_at(1000), true)); /* no loss */
    CHECK_INT(zkl_grant_state(g), ZKL_RELEASED);
    grant_suspect(t);
    check_told(&told, 1, ZKL_RELEASED);
    stop();
}

/* ---- on several tenures, and several on one ---- */

static struct {
    struct tenure *tenures[2];
    struct told told;
} both;

static void start_both(void)
{
    start();
    grant_unref(g);
    hand_end_tenure(t);
    both.told = (struct told){.calls = 0};
    both.tenures[0] = hand_tenure(s, "/root/a/n", 5);
    both.tenures[1] = hand_tenure(s, "/root/b/n", 6);
    g = grant_new(both.tenures, 2, NULL, NULL);
    t = tenure_ref(both.tenures[0]);
    zkl_grant_on_change(g, on_change, &both.told);
}

static void stop_both(void)
{
    hand_end_tenure(both.tenures[0]);
    hand_end_tenure(both.tenures[1]);
    stop();
}

static void check_nearer(int64_t ms)
{
    struct instant read;

    CHECK_INT(zkl_grant_remaining_ms(g), ms);
    CHECK_INT(read_deadline(&read), 0);
    CHECK_INT(read.raw, deadline_at(ms).raw);
}

TEST_CASE(two_in_doubt)
{
    zkl_part part = {0};

    start_both();
    CHECK_INT(zkl_grant_part(g, 1, &part), 0);
    CHECK_STR(part.node, "/b/n");
    grant_suspect(both.tenures[1]);
    check_told(&both.told, 1, ZKL_SUSPECT);
    CHECK_INT(zkl_grant_state(g), ZKL_SUSPECT);
    grant_suspect(both.tenures[0]);
    check_told(&both.told, 1, ZKL_SUSPECT);
    CHECK(grant_move_deadline(both.tenures[0], deadline_at(9000), true));
    check_told(&both.told, 1, ZKL_SUSPECT);
    CHECK_INT(zkl_grant_state(g), ZKL_SUSPECT);
    CHECK(grant_move_deadline(both.tenures[1], deadline_at(7000), true));
    check_told(&both.told, 2, ZKL_HELD);
    check_nearer(7000);
    CHECK(grant_move_deadline(both.tenures[0], deadline_at(6000), true));
    check_nearer(6000);
    stop_both();
}

/* The first tenure's loss is the reason why the grant is lost, though nobody has asked in between.
 * What is known of the other tenure makes no difference. */
TEST_CASE(two_lost_unread)
{
    start_both();
    CHECK(grant_lose(both.tenures[1], LOSS_DELETED, on_then, &both.told));
    CHECK(grant_lose(both.tenures[0], LOSS_EXPIRED, on_then, &both.told));
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_DELETED);
    CHECK_INT(grant_loss(both.tenures[0]), ZKL_LOSS_DELETED);
    CHECK_INT(grant_loss(both.tenures[1]), ZKL_LOSS_DELETED);
    check_told(&both.told, 1, ZKL_LOST);
    CHECK_INT(both.told.thens, 2);
    stop_both();
}

/* No doubt is told of what is lost by a deadline: that is told with the loss. */
TEST_CASE(two_in_doubt_too_late)
{
    start_both();
    CHECK(grant_move_deadline(both.tenures[1], deadline_at(1000), true));
    hand_jump(1000, 1000);
    grant_suspect(both.tenures[0]);
    check_told(&both.told, 0, ZKL_HELD);
    CHECK(grant_lose(both.tenures[1], LOSS_DEADLINE, on_then, &both.told));
    check_told(&both.told, 1, ZKL_LOST);
    CHECK_INT(both.told.thens, 1);
    stop_both();
}

/* All nodes go behind the callbacks. */
TEST_CASE(two_lost_with_the_first)
{
    start_both();
    CHECK(grant_lose(both.tenures[1], LOSS_DELETED, on_then, &both.told));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_DELETED);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK(grant_lose(both.tenures[0], LOSS_DEADLINE, on_then, &both.told));
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_DELETED);
    check_told(&both.told, 1, ZKL_LOST);
    CHECK_INT(both.told.thens, 2);
    CHECK(!grant_give_back(g, false));
    stop_both();
}

/* By its deadline, which nobody has told yet. */
TEST_CASE(two_lost_with_the_nearer)
{
    start_both();
    CHECK(grant_move_deadline(both.tenures[1], deadline_at(1000), true));
    hand_jump(1000, 1000);
    CHECK(!grant_disown(g));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_DEADLINE);
    stop_both();
}

TEST_CASE(two_given_back)
{
    start_both();
    CHECK(grant_give_back(g, false));
    CHECK(grant_is_given_back(both.tenures[0]) && grant_is_given_back(both.tenures[1]));
    check_told(&both.told, 1, ZKL_RELEASED);
    CHECK(!grant_lose(both.tenures[0], LOSS_DELETED, on_then, &both.told));
    CHECK_INT(zkl_grant_state(g), ZKL_RELEASED);
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_NONE);
    check_told(&both.told, 1, ZKL_RELEASED);
    stop_both();
}

/* ---- what is let go of ---- */

static int let_go; /* calls of the keeper, or of who has the nodes */

static void keeper_lets_go(struct contender *keeper)
{
    (void)keeper;
    let_go++;
}

static const struct tenure_ops keeps = {.release = keeper_lets_go, .node_gone = keeper_lets_go};

static void nodes_let_go(void *context, bool node_gone)
{
    (void)context;
    (void)node_gone;
    let_go++;
}

static const struct grant_ops with_nodes = {.let_go = nodes_let_go};

TEST_CASE(let_go_of_once)
{
    start();
    let_go = 0;
    t->ops = &keeps;
    CHECK(grant_give_back(g, false));
    CHECK(grant_give_back(g, false));
    CHECK_INT(let_go, 1);
    stop();
}

/* The contender does, when the callbacks are through. */
TEST_CASE(not_let_go_of_when_lost)
{
    start();
    let_go = 0;
    t->ops = &keeps;
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK(!grant_give_back(g, false));
    CHECK_INT(let_go, 0);
    stop();
}

/* A transaction has given it back, and one of the nodes has gone before the others may. */
TEST_CASE(two_let_go_of_without_one)
{
    start_both();
    let_go = 0;
    zkl_grant *grant = grant_new(both.tenures, 2, &with_nodes, NULL);
    CHECK(grant_disown(grant));
    grant_detach(both.tenures[1]);
    grant_let_go(grant, false);
    CHECK_INT(let_go, 1);
    grant_unref(grant);
    grant_unref(g); /* which the tenures had before */
    grant_unref(g);
    stop_both();
}

static void on_given_back(void *context, zkl_grant *grant, const struct grant_end *end)
{
    zkl_grant **spare = context;

    CHECK(grant == g && end->owned && end->sure && !end->before);
    grant_forget(grant);
    *spare = grant_take_off(t);
}

static const struct grant_ops turns = {.given_back = on_given_back};

/* Its tenure gives turns from here on. */
static void start_turns(void)
{
    start();
    grant_unref(grant_take_off(t));
    grant_unref(g);
}

/* Its tenure goes on: that is the next turn's. */
TEST_CASE(a_turn_that_is_over_stays_so)
{
    zkl_grant *spare = NULL, *first;

    start_turns();
    first = g = grant_new_turn(t, NULL, 1, &turns, &spare);
    CHECK(grant_give_back(first, true));
    REQUIRE(spare == first);
    g = grant_new_turn(t, spare, 2, &turns, &spare);
    CHECK(g != first); /* we have it yet */
    CHECK_INT(zkl_grant_state(first), ZKL_RELEASED);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_grant_turn(g), 2);
    CHECK(grant_give_back(first, false)); /* as before, and it ends nobody else's */
    let_go = 0;
    t->ops = &keeps;
    grant_let_go(first, false);
    grant_let_go(first, true);
    CHECK_INT(let_go, 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    grant_unref(first);
    stop();
}

TEST_CASE(a_turn_is_used_again)
{
    struct told told = {0};
    zkl_grant *spare = NULL;

    start_turns();
    g = grant_new_turn(t, NULL, 1, &turns, &spare);
    CHECK(grant_give_back(g, false));
    grant_unref(g);
    CHECK(grant_new_turn(t, spare, 2, &turns, &spare) == g);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_grant_turn(g), 2);
    zkl_grant_on_change(g, on_change, &told);
    grant_suspect(t);
    check_told(&told, 1, ZKL_SUSPECT);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

/* One that asked to be called for the last turn hears nothing of the next. */
TEST_CASE(a_turn_that_calls_is_not_used_again)
{
    struct told called = {0};
    zkl_grant *spare = NULL;

    start_turns();
    zkl_grant *first = g = grant_new_turn(t, NULL, 1, &turns, &spare);
    CHECK_INT(zkl_grant_on_wanted(first, on_change, &called), 0);
    CHECK(grant_give_back(first, false));
    grant_unref(first);
    g = grant_new_turn(t, spare, 2, &turns, &spare);
    grant_call(t, TENURE_WANTED);
    check_told(&called, 0, ZKL_HELD);
    stop();
}

TEST_CASE(called_only_while_owned)
{
    struct told called = {0};

    start();
    CHECK_INT(zkl_grant_on_wanted(g, on_change, &called), 0);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    grant_call(t, TENURE_WANTED);
    check_told(&called, 0, ZKL_HELD);
    stop();
    start();
    grant_call(t, TENURE_WANTED);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_on_wanted(g, on_change, &called), 0); /* too late */
    check_told(&called, 0, ZKL_HELD);
    stop();
}

/* A new one is told of the proof, and so is one that is used again. */
TEST_CASE(a_turn_begun_in_doubt)
{
    zkl_grant *spare = NULL;

    start_turns();
    for (uint64_t turn = 1; turn <= 2; turn++) {
        struct told told = {0};
        grant_suspect(t);
        g = grant_new_turn(t, spare, turn, &turns, &spare);
        zkl_grant_on_change(g, on_change, &told);
        check_told(&told, 1, ZKL_SUSPECT);
        grant_suspect(t);
        check_told(&told, 1, ZKL_SUSPECT);
        CHECK(grant_move_deadline(t, deadline_at(9000), true));
        check_told(&told, 2, ZKL_HELD);
        CHECK(zkl_grant_state(g) == ZKL_HELD && grant_disown(g));
        check_told(&told, 3, ZKL_RELEASED);
        spare = grant_take_off(t);
        if (turn == 1)
            grant_unref(g);
    }
    grant_unref(spare);
    stop();
}

TEST_CASE(every_reference_is_given_up)
{
    struct told told = {0};

    start();
    int before = g_atomic_int_get(&s->refs);
    struct tenure *tenure = hand_tenure(s, "/root/l/m", 6);
    CHECK_INT(g_atomic_int_get(&s->refs), before + 1);
    zkl_grant *other = grant_new(&tenure, 1, NULL, NULL);
    zkl_grant_on_change(other, on_change, &told);
    CHECK_INT(g_atomic_int_get(&s->refs), before + 2);
    hand_end_tenure(tenure);
    CHECK_INT(g_atomic_int_get(&s->refs), before + 2);
    zkl_grant_release(other); /* nobody owns it */
    CHECK_INT(zkl_grant_state(other), ZKL_HELD);
    grant_own(grant_ref(other));
    zkl_grant_release(other);
    CHECK_INT(zkl_grant_state(other), ZKL_RELEASED);
    zkl_grant_release(other); /* a second time */
    CHECK_INT(g_atomic_int_get(&s->refs), before + 2);
    grant_unref(other);
    CHECK_INT(g_atomic_int_get(&s->refs), before + 2); /* until it was told */
    zkl_grant *first = g;
    g = other;
    zkl_session_dispatch(s);
    CHECK_INT(told.calls, 1);
    CHECK_INT(g_atomic_int_get(&s->refs), before);
    g = first;
    stop();
}

/* The error says which argument is missing. */
static void refused_without(const char *argument, int code)
{
    char *end = g_strdup_printf(": %s is NULL", argument);
    zkl_error why;

    CHECK_INT(code, ZKL_EINVAL);
    CHECK_INT(zkl_last_error(&why), ZKL_EINVAL);
    if (!CHECK(g_str_has_suffix(why.text, end)))
        runner_fail(__FILE__, __LINE__, "for %s: %s", argument, why.text);
    g_free(end);
}

TEST_CASE(bad_arguments)
{
    struct told told = {0};
    zkl_deadline deadline;
    zkl_part part;
    char fence[ZKL_FENCE_SIZE];

    start();
    refused_without("g", zkl_grant_on_change(NULL, on_change, &told));
    refused_without("fn", zkl_grant_on_change(g, NULL, &told));
    refused_without("g", zkl_grant_deadline(NULL, &deadline));
    refused_without("ret", zkl_grant_deadline(g, NULL));
    refused_without("g", zkl_grant_part(NULL, 0, &part));
    refused_without("ret", zkl_grant_part(g, 0, NULL));
    refused_without("g", zkl_grant_fence(NULL, fence, sizeof fence));
    refused_without("buf", zkl_grant_fence(g, NULL, sizeof fence));
    CHECK_INT(zkl_grant_remaining_ms(NULL), 0);
    CHECK_INT(zkl_grant_state(NULL), ZKL_LOST);
    zkl_grant_release(NULL);
    stop();
}

TEST_CASE(after_the_session_was_closed)
{
    struct told told = {0};

    start();
    zkl_grant_on_change(g, on_change, &told);
    hand_close(s);
    CHECK_INT(zkl_grant_on_change(g, on_change, &told), ZKL_ECLOSED);
    CHECK_INT(zkl_grant_on_change(g, on_change, &told), ZKL_ECLOSED);
    grant_suspect(t); /* nobody can be told any more */
    CHECK_INT(told.calls, 0);
    CHECK(!grant_lose(t, LOSS_DEADLINE, on_then, &told));
    grant_unref(g);
    g = NULL;
    hand_end_tenure(t);
    t = NULL;
    s = NULL;
}

/* The child has a copy of everything, and holds nothing. */
TEST_CASE(in_a_forked_child)
{
    int status = 0;
    struct instant deadline;
    struct zoo_op op;

    start();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(zkl_grant_state(g) == ZKL_LOST && zkl_grant_remaining_ms(g) == 0 &&
                      zkl_grant_on_change(g, on_change, NULL) == ZKL_ECHILD && grant_is_child(g) &&
                      zkl_grant_token(g) == 5 && read_deadline(&deadline) == ZKL_ECHILD &&
                      deadline.boot == 0 && deadline.raw == 0 && fill(&op) == ZKL_ECHILD &&
                      strcmp(op.check_op.path, t->full_node) == 0
                  ? 0
                  : 1);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    stop();
}

/* Which may have sessions of its own. */
TEST_CASE(of_a_forked_child)
{
    int status = 0;
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        start();
        _exit(zkl_grant_state(g) == ZKL_HELD && !grant_is_child(g) ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- what any thread asks without a lock ---- */

/* The check that reads one clock never gives another answer than both clocks would. */
enum { HALF_MS = HAND_DEADLINE_MS / 2 };

static void check_quick(zkl_state state, int by_reads)
{
    reads = 0;
    CHECK_INT(zkl_grant_state(g), state);
    CHECK_INT(reads, by_reads);
}

TEST_CASE(half_the_time_by_one_clock)
{
    start();
    check_quick(ZKL_HELD, 1);
    hand_jump(HALF_MS - 1, HALF_MS - 1);
    check_quick(ZKL_HELD, 1);
    hand_jump(1, 1);
    check_quick(ZKL_HELD, 2);
    CHECK(grant_move_deadline(t, deadline_at(1000), true)); /* a proof begins anew */
    hand_jump(499, 499);
    check_quick(ZKL_HELD, 1);
    grant_suspect(t);
    check_quick(ZKL_SUSPECT, 1);
    hand_jump(500, 500);
    check_quick(ZKL_SUSPECT, 2);
    hand_jump(1, 1);
    check_quick(ZKL_LOST, 2);
    check_quick(ZKL_LOST, 0);
    stop();
}

/* As fast as RAW may run beside BOOTTIME, and to the millisecond; even when a smaller timeout of a
 * new connection left no more, and from the nearer of two clocks that are apart. */
TEST_CASE(twice_as_fast)
{
    static const struct {
        int64_t boot_ms, raw_ms; /* of the newest deadline; 0: as at the beginning */
        bool proved;
        int64_t left_ms;
    } rows[] = {
        {0, 0, false, HAND_DEADLINE_MS}, {3000, 3000, false, 3000}, {24000, 4000, true, 4000}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        struct instant deadline = deadline_at(rows[i].raw_ms);
        deadline.boot += (rows[i].boot_ms - rows[i].raw_ms) * CLOCK_MS;
        if (rows[i].raw_ms > 0)
            CHECK(grant_move_deadline(t, deadline, rows[i].proved));
        hand_jump(rows[i].left_ms / 2 - 1, rows[i].left_ms - 2);
        check_quick(ZKL_HELD, 1);
        hand_jump(1, 2);
        check_quick(ZKL_LOST, 2);
        stop();
    }
}

TEST_CASE(suspended)
{
    start();
    hand_jump(HAND_DEADLINE_MS, 0);
    check_quick(ZKL_LOST, 2);
    stop();
}

/* Any rate of RAW from none to twice that of BOOTTIME, any deadlines. */
static void walk(uint64_t seed)
{
    start();
    for (int i = 0; i < 200; i++) {
        int64_t boot = seeded_below(&seed, 1000);
        hand_jump(boot, seeded_below(&seed, (uint32_t)boot * 2 + 1));
        zkl_state state = zkl_grant_state(g);
        if (!CHECK_INT(state == ZKL_LOST, zkl_grant_remaining_ms(g) == 0) || state == ZKL_LOST)
            break;
        struct instant next = deadline_at(1);
        next.boot += seeded_below(&seed, 5000) * CLOCK_MS;
        next.raw += seeded_below(&seed, 5000) * CLOCK_MS;
        if (seeded_below(&seed, 4) == 0)
            CHECK(grant_move_deadline(t, next, seeded_below(&seed, 2) == 0));
        if (seeded_below(&seed, 8) == 0)
            grant_suspect(t);
    }
    stop();
}

TEST_CASE(walks)
{
    for (uint64_t seed = 1; seed <= 500; seed++)
        walk(seed);
}

/* ---- what crosses a question, or a change ---- */

/* Its thread is stopped there: the grant has not heard of it. */
static void lose_the_word(void)
{
    CHECK(validity_lose(&t->validity, LOSS_EXPIRED));
}

static void pass_and_ask(void)
{
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
}

static void prove_and_pass(void)
{
    CHECK(grant_move_deadline(t, deadline_at(20000), true));
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
}

static void take_back_and_pass(void)
{
    CHECK(grant_move_deadline(t, deadline_at(3000), false));
    hand_jump(3500, 3500);
}

static void release_and_lose(void)
{
    CHECK(grant_disown(g));
    lose_the_word();
}

static bool is_owned(void)
{
    return zkl_grant_state(g) < ZKL_LOST;
}

static bool is_left(void)
{
    return zkl_grant_remaining_ms(g) > 0;
}

static bool has_a_reason(void)
{
    return zkl_grant_loss(g) != ZKL_LOSS_NONE;
}

static bool give_back(void)
{
    return grant_give_back(g, false);
}

static bool prove(void)
{
    return grant_move_deadline(t, deadline_at(20000), true);
}

static const struct crossing {
    const char *name;
    bool (*call)(void);
    int later; /* readings of the clock */
    void (*meanwhile)(void);
    bool answer;
    zkl_state state; /* behind it */
    zkl_loss loss;
} crossings[] = {
    {"owned, lost", is_owned, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"left, lost", is_left, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"owned, proved", is_owned, 0, prove_and_pass, true, ZKL_HELD, ZKL_LOSS_NONE},
    {"left, proved", is_left, 0, prove_and_pass, true, ZKL_HELD, ZKL_LOSS_NONE},
    {"owned, taken back", is_owned, 0, take_back_and_pass, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
    {"left, taken back", is_left, 0, take_back_and_pass, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
    {"owned, released", is_owned, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"left, released", is_left, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"reason, lost", has_a_reason, 0, lose_the_word, true, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"reason, released", has_a_reason, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"proof, lost", prove, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"proof behind its look, lost", prove, 1, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"proof behind its look, passed", prove, 1, pass_and_ask, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
    {"give back, lost", give_back, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
};

TEST_CASE(crossed)
{
    for (size_t i = 0; i < G_N_ELEMENTS(crossings); i++) {
        const struct crossing *c = &crossings[i];

        start();
        later = c->later;
        meanwhile = c->meanwhile;
        bool right = CHECK_INT(c->call(), c->answer);
        right = CHECK(!meanwhile) && right;
        right = CHECK_INT(zkl_grant_state(g), c->state) && right;
        if (!CHECK_INT(zkl_grant_loss(g), c->loss) || !right)
            runner_fail(__FILE__, __LINE__, "%s", c->name);
        stop();
    }
}

static struct validity anew;

static void look_at_the_old_word(void)
{
    int64_t now;

    CHECK_INT(validity_state(&anew, &now), ZKL_LOST);
}

/* Its limits are there before the word says that it is held. */
TEST_CASE(limits_before_the_word)
{
    start();
    validity_begin(&anew, ZKL_LOST, (struct instant){.boot = 0});
    meanwhile = look_at_the_old_word;
    validity_begin(&anew, ZKL_HELD, deadline_at(9000));
    CHECK(!meanwhile);
    CHECK_INT(validity_last(&anew), ZKL_HELD);
    stop();
}

/* ---- levels ---- */

static zkl_mutex *mutex;

static uint64_t one_owner(void *data)
{
    (void)data;
    return 1;
}

static void *lock(void *data)
{
    *(int *)data = zkl_mutex_lock(mutex, ZKL_FOREVER, NULL);
    return NULL;
}

/* Held by this thread twice; the other's part is only to wait. */
static void hold_twice(void)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct acquisition a = {.calls = 0};
    pthread_t thread;
    int locked = 1;

    s = hand_session();
    o.key = one_owner;
    REQUIRE(zkl_mutex_new(&mutex, s, "/l", &o) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock, &locked) == 0);
    while (!(a.node = fake_created_name("/root/l", 7)))
        g_usleep(1000);
    hand_answer_entry(&a, -1);
    pthread_join(thread, NULL);
    g_free(a.node);
    REQUIRE(locked == 0);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), 0);
}

/* Nothing has run since the clocks moved, so the calls find it out themselves. */
static void check_levels_lost(int64_t boot_ms, int64_t raw_ms)
{
    hold_twice();
    hand_jump(boot_ms, raw_ms);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_EPERM);
    zkl_mutex_free(mutex);
    hand_close(s);

    hold_twice();
    hand_jump(boot_ms, raw_ms);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    zkl_mutex_free(mutex);
    hand_close(s);
}

TEST_CASE(levels)
{
    check_levels_lost(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    check_levels_lost(HAND_DEADLINE_MS, 0);
    check_levels_lost(HALF_MS, HAND_DEADLINE_MS);
    hold_twice();
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_EPERM);
    zkl_mutex_free(mutex);
    hand_close(s);
}
