/* A semaphore: who has its permits, who hears of a release, what its limit is. */
#include "fourletter.h"
#include "live.h"
#include "parts.h"
#include "runner.h"
#include "semaphore_actors.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(semaphore, .init = live_init);

/* One that waits, in its place of n children. */
static void queue(struct live *t, zkl_semaphore *m, int permits, struct completion *c, int n)
{
    semaphore_begin(m, permits, c);
    LIVE_UNTIL(live_contenders(t, t->lock) == n);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(c), 0);
}

static char *limit_of(struct live *t)
{
    return raw_get(t->admin, t->lock, NULL);
}

static void check_limit(struct live *t, const char *due)
{
    char *limit = limit_of(t);

    CHECK_STR(limit, due);
    free(limit);
}

TEST_CASE(permits_are_shared)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 1), *c = NULL;
    struct Stat stat;

    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &c), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, t->lock);
    CHECK(c == NULL);
    check_limit(t, "2");
    CHECK_INT(zkl_grant_state(a), ZKL_HELD);
    REQUIRE(raw_exists(t->admin, zkl_grant_node(b), &stat) == ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(t->session));
    CHECK_INT(stat.czxid, zkl_grant_token(b));
    CHECK_INT(stat.version, 0); /* nobody was behind: nobody was told */
    zkl_grant_release(a);
    c = semaphore_acquire(m, 1);
    zkl_grant_release(b);
    zkl_grant_release(c);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    live_end(t);
}

/* A and B hold, C and D wait: B's release reaches C, and then A's D. */
TEST_CASE(release_reaches_the_first_in_line)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN),
                  *n = semaphore_open(live_open(t, t->connect, NULL), t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(n, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 1, &c, 3);
    queue(t, n, 1, &d, 4);
    zkl_grant_release(b);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(completion_calls(&d), 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* Two permits are asked for, and one is free: one behind does not overtake. */
TEST_CASE(all_or_nothing_in_order)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 3, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 2), *e = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 2, &c, 2);
    queue(t, m, 1, &d, 3);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 0, &e), ZKL_EBUSY);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(completion_wait(&d), 0);
    CHECK(strstr(zkl_grant_node(c.grant), "-n2-lease-") != NULL);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(limit_is_raised)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN),
                  *admin = semaphore_open(other, t->lock, 0, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;
    int limit = 0;

    queue(t, m, 1, &c, 2);
    queue(t, m, 1, &d, 3);
    CHECK_INT(zkl_semaphore_get_limit(admin, ZKL_FOREVER, &limit), 0);
    CHECK_INT(limit, 1);
    CHECK_INT(zkl_semaphore_set_limit(admin, 3, ZKL_FOREVER), 0);
    CHECK_INT(completion_wait(&c), 0);
    CHECK_INT(completion_wait(&d), 0);
    check_limit(t, "3");
    zkl_grant_release(a);
    zkl_grant_release(c.grant);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(admin);
    live_end(t);
}

TEST_CASE(limit_is_lowered)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 2, &c, 3);
    queue(t, m, 1, &d, 4);
    CHECK_INT(zkl_semaphore_set_limit(m, 1, ZKL_FOREVER), 0);
    CHECK_INT(completion_wait(&c), ZKL_ELIMIT); /* it would wait for ever */
    CHECK(strstr(c.error.text, "limit") != NULL);
    CHECK_INT(zkl_grant_state(a), ZKL_HELD);
    CHECK_INT(zkl_grant_state(b), ZKL_HELD);
    zkl_grant_release(a);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&d), 0);
    zkl_grant_release(b);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(more_than_the_limit)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_grant *g = NULL;

    CHECK_INT(zkl_semaphore_acquire(m, 3, ZKL_FOREVER, &g), ZKL_ELIMIT);
    CHECK_ERROR(ZKL_ELIMIT, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(m);
    live_end(t);
}

/* The directory's limit counts; without one, that of the options is written. */
TEST_CASE(whose_limit)
{
    struct live *t = live_begin();
    zkl_semaphore *none = semaphore_open(t->session, t->lock, 0, SEMAPHORE_PLAIN),
                  *three = semaphore_open(t->session, t->lock, 3, SEMAPHORE_PLAIN);
    zkl_grant *g = NULL;
    int limit;

    CHECK_INT(zkl_semaphore_acquire(none, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_get_limit(none, ZKL_FOREVER, &limit), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_set_limit(none, 3, ZKL_FOREVER), ZKL_ENOENT);
    live_make_directory(t);
    CHECK_INT(zkl_semaphore_acquire(none, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_get_limit(none, ZKL_FOREVER, &limit), ZKL_ELAYOUT);
    zkl_grant_release(semaphore_acquire(three, 3));
    check_limit(t, "3");
    CHECK_INT(zkl_semaphore_set_limit(none, 2, ZKL_FOREVER), 0);
    zkl_grant_release(semaphore_acquire(none, 2));
    CHECK_INT(zkl_semaphore_acquire(three, 3, ZKL_FOREVER, &g), ZKL_ELIMIT);
    REQUIRE(raw_set(t->admin, t->lock, "some text", 9) == ZOK);
    CHECK_INT(zkl_semaphore_acquire(three, 1, ZKL_FOREVER, &g), ZKL_ENOENT);
    CHECK_INT(zkl_semaphore_set_limit(three, 1, ZKL_FOREVER), ZKL_ELAYOUT);
    check_limit(t, "some text");
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_semaphore_free(none);
    zkl_semaphore_free(three);
    live_end(t);
}

/* One that gives up leaves no watch and no gap in the line. */
TEST_CASE(gives_up)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN),
                  *n = semaphore_open(other, t->lock, 1, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;
    zkl_op *op;

    CHECK_INT(zkl_semaphore_acquire(n, 1, 100, &none), ZKL_ETIMEDOUT);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    REQUIRE(zkl_semaphore_acquire_async(n, 1, ZKL_FOREVER, completion_take, &c, &op) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    queue(t, m, 1, &d, 3);
    zkl_op_cancel(op);
    zkl_op_free(op);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* What another wrote into a node is there still when its owner was admitted. */
TEST_CASE(touch_keeps_what_others_wrote)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT, d = COMPLETION_INIT;

    queue(t, m, 1, &c, 2);
    queue(t, m, 1, &d, 3);
    char **nodes = live_queue(t, t->lock);
    REQUIRE(raw_set(t->admin, nodes[1], "__REVOKE__", 10) == ZOK);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    struct Stat stat = {.version = 0};
    LIVE_UNTIL(raw_exists(t->admin, nodes[1], &stat) == ZOK && stat.version == 2);
    char *data = raw_get(t->admin, nodes[1], NULL);
    CHECK_STR(data, "__REVOKE__");
    free(data);
    g_strfreev(nodes);
    zkl_grant_release(c.grant);
    CHECK_INT(completion_wait(&d), 0);
    zkl_grant_release(d.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

static bool one_waits(struct live *t)
{
    return live_contenders(t, t->lock) == 2;
}

TEST_CASE(loss)
{
    semaphore_loss(SEMAPHORE_PLAIN, one_waits);
}

static void take_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)state;
    gate_pass(data);
}

/* A contender that comes and is admitted is no reason to give way. */
TEST_CASE(wanted)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    struct gate gate = GATE_INIT;
    zkl_grant *a = semaphore_acquire(m, 1), *b;
    struct completion c = COMPLETION_INIT;

    REQUIRE(zkl_grant_on_wanted(a, take_wanted, &gate) == 0);
    session_settle(t, t->session);
    b = semaphore_acquire(m, 1);
    session_settle(t, t->session);
    CHECK(!gate.entered);
    queue(t, m, 1, &c, 3);
    gate_wait_entered(&gate);
    gate_open(&gate);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(b);
    zkl_grant_release(c.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(others_children)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_PLAIN);
    zkl_mutex *mutex = live_mutex(t->session, t->lock);
    zkl_grant *g = semaphore_acquire(m, 1), *none = NULL;

    CHECK_INT(zkl_mutex_lock(mutex, 1000, NULL), ZKL_ELAYOUT);
    zkl_grant_release(g);
    REQUIRE(zkl_mutex_lock(mutex, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 1000, &none), ZKL_ELAYOUT);
    REQUIRE(zkl_mutex_unlock(mutex) == 0);
    g_free(live_foreign_node(t, "leases", 0)); /* Curator's layout */
    CHECK_INT(zkl_semaphore_acquire(m, 1, 1000, &none), ZKL_ELAYOUT);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_mutex_free(mutex);
    zkl_semaphore_free(m);
    live_end(t);
}

/* The numbers of g in words. */
static void check_slots(const zkl_grant *g, const char *due)
{
    GString *text = g_string_new(NULL);
    zkl_part part;

    for (size_t i = 0; zkl_grant_part(g, i, &part) == 0; i++)
        g_string_append_printf(text, i ? " %d" : "%d", part.slot);
    CHECK_STR(text->str, due);
    g_string_free(text, TRUE);
}

TEST_CASE(numbers)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 4, SEMAPHORE_NUMBERED),
                  *plain = semaphore_open(t->session, t->lock, 4, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1), *b = semaphore_acquire(m, 2),
              *c = semaphore_acquire(plain, 1);
    struct completion d = COMPLETION_INIT, e = COMPLETION_INIT;

    check_slots(a, "0");
    check_slots(b, "1 2");
    check_slots(c, "-1");
    CHECK(strstr(zkl_grant_node(b), "-s2-lease-") != NULL);
    queue(t, m, 1, &d, 4);
    queue(t, m, 3, &e, 5);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&d), 0);
    check_slots(d.grant, "0");
    zkl_grant_release(b);
    zkl_grant_release(c);
    CHECK_INT(completion_wait(&e), 0);
    check_slots(e.grant, "1 2 3");
    zkl_grant_release(d.grant);
    a = semaphore_acquire(m, 1);
    check_slots(a, "0");
    zkl_grant_release(a);
    zkl_grant_release(e.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(plain);
    live_end(t);
}

/* All at once, on two sessions: each gets another number. */
TEST_CASE(numbers_at_once)
{
    enum { COUNT = 32 };
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m[] = {semaphore_open(t->session, t->lock, COUNT, SEMAPHORE_NUMBERED),
                          semaphore_open(other, t->lock, COUNT, SEMAPHORE_NUMBERED)};
    struct completion all[COUNT];
    bool seen[COUNT] = {false};
    zkl_part part;

    semaphore_begin_all(m, all, COUNT);
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(completion_wait(&all[i]) == 0);
        REQUIRE(parts_of(all[i].grant, &part, 1) == 1);
        REQUIRE(part.slot >= 0 && part.slot < COUNT);
        CHECK(!seen[part.slot]);
        seen[part.slot] = true;
    }
    for (int i = 0; i < COUNT; i++)
        zkl_grant_release(all[i].grant);
    zkl_semaphore_free(m[0]);
    zkl_semaphore_free(m[1]);
    live_end(t);
}

/* A transaction writes its own line behind them, and they are read all the same. */
TEST_CASE(numbers_and_transactions)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 3, SEMAPHORE_NUMBERED);
    zkl_grant *a = semaphore_acquire(m, 2), *b;

    REQUIRE(zkl_grant_multi(a, NULL, 0, 0, ZKL_FOREVER) == 0);
    b = semaphore_acquire(m, 1);
    check_slots(a, "0 1");
    check_slots(b, "2");
    REQUIRE(zkl_grant_multi(b, NULL, 0, 0, ZKL_FOREVER) == 0);
    char *data = raw_get(t->admin, zkl_grant_node(b), NULL);
    CHECK(strstr(data, "\nzkl numbers 2 of 3\nzkl tx ") != NULL);
    free(data);
    zkl_grant_release(a);
    a = semaphore_acquire(m, 1);
    check_slots(a, "0");
    zkl_grant_release(a);
    zkl_grant_release(b);
    zkl_semaphore_free(m);
    live_end(t);
}

/* A session that ends by force while it waits: it begins again, and gets its number. */
TEST_CASE(numbers_behind_a_new_session)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_NUMBERED),
                  *n = semaphore_open(other, t->lock, 2, SEMAPHORE_NUMBERED);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT;

    REQUIRE(raw_set(t->admin, zkl_grant_node(a), "__REVOKE__", 10) == ZOK);
    queue(t, n, 1, &c, 2); /* admitted, and waits for a's numbers */
    REQUIRE(raw_expire(t->port, zkl_session_id(other)));
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    check_slots(c.grant, "0");
    zkl_grant_release(c.grant);
    zkl_semaphore_free(m);
    zkl_semaphore_free(n);
    live_end(t);
}

/* One before us whose data tell no numbers is waited for, until it goes or the caller gives up. */
TEST_CASE(numbers_that_are_not_known)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 2, SEMAPHORE_NUMBERED);
    zkl_grant *a = semaphore_acquire(m, 1), *none = NULL;
    struct completion c = COMPLETION_INIT;

    REQUIRE(raw_set(t->admin, zkl_grant_node(a), "__REVOKE__", 10) == ZOK);
    CHECK_INT(zkl_semaphore_acquire(m, 1, 300, &none), ZKL_ETIMEDOUT);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    queue(t, m, 1, &c, 2);
    zkl_grant_release(a);
    CHECK_INT(completion_wait(&c), 0);
    check_slots(c.grant, "0");
    zkl_grant_release(c.grant);
    zkl_semaphore_free(m);
    live_end(t);
}

TEST_CASE(freed_meanwhile)
{
    struct live *t = live_begin();
    zkl_semaphore *m = semaphore_open(t->session, t->lock, 1, SEMAPHORE_PLAIN);
    zkl_grant *a = semaphore_acquire(m, 1);
    struct completion c = COMPLETION_INIT;

    queue(t, m, 1, &c, 2);
    zkl_semaphore_free(m);
    CHECK_INT(completion_wait(&c), ZKL_ECLOSED);
    CHECK_INT(zkl_grant_state(a), ZKL_HELD);
    zkl_grant_release(a);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}
