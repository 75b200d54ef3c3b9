/* A holder is asked to give way, on a real server: before the grant and behind it, before it wants
 * to hear and behind that, while its connection is away, while its transactions write the same
 * node. A holder that wants to hear does so exactly once. */
#include "election_actors.h"
#include "fault.h"
#include "fourletter.h"
#include "parts.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

enum { DAY_MS = 86400000 };

TEST_SUITE(giving_way, .init = fault_start, .done = fault_stop);

static zkl_session *asker;

static void begin(void)
{
    fault_begin();
    asker = fault_direct(FAULT_LONG_MS);
}

/* The one that holds, or node; what it was. */
static void ask(const char *node, const char *owner)
{
    zkl_queue *q = NULL;

    CHECK_INT(zkl_queue_revoke(&q, asker, fault.path, node, ZKL_FOREVER), 0);
    REQUIRE(zkl_queue_count(q) == 1);
    if (owner)
        CHECK_STR(zkl_queue_get(q, 0)->owner, owner);
    zkl_queue_free(q);
}

static zkl_mutex *named(zkl_session *s, int64_t retain_ms)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.name = "me";
    o.retain_ms = retain_ms;
    return fault_mutex_options(s, fault.path, &o);
}

/* What is told once is told no more. */
static void check_once(struct told *told, zkl_mutex *m)
{
    EVENTUALLY(atomic_load(&told->count) == 1);
    ask(NULL, "__REVOKE__");
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0); /* it is answered behind all of that */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(atomic_load(&told->count), 1);
    CHECK_INT(told_times(told, ZKL_HELD) + told_times(told, ZKL_SUSPECT), 1);
}

TEST_CASE(behind_the_registration)
{
    struct told told = {.count = 0};
    const zkl_grant *g;

    begin();
    zkl_mutex *m = named(fault_direct(FAULT_LONG_MS), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
    ask(NULL, "me");
    check_once(&told, m);
    fault_end();
}

TEST_CASE(before_the_registration)
{
    struct told told = {.count = 0};
    const zkl_grant *g;

    begin();
    zkl_mutex *m = named(fault_direct(FAULT_LONG_MS), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    ask(NULL, "me");
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
    check_once(&told, m);
    fault_end();
}

/* The second in line has a watch on its own node, the third has none. */
TEST_CASE(before_the_grant)
{
    begin();
    for (int place = 2; place <= 3; place++) {
        struct told told = {.count = 0};
        struct acquisition a[3];
        zkl_session *s = fault_direct(FAULT_LONG_MS);
        for (int i = 0; i < 3; i++)
            acquisition_queue(&a[i], fault_mutex(s), i + 1);
        zkl_queue *q = NULL;
        REQUIRE(zkl_queue_read(&q, asker, fault.path, NULL, ZKL_FOREVER) == 0);
        ask(zkl_queue_get(q, (size_t)place - 1)->node, zkl_queue_get(q, (size_t)place - 1)->owner);
        zkl_queue_free(q);
        for (int i = 0; i < 3; i++) {
            REQUIRE(acquisition_granted(&a[i]));
            CHECK_INT(zkl_grant_on_revoke(a[i].grant, told_fn, &told), 0);
            if (i == place - 1)
                EVENTUALLY(atomic_load(&told.count) == 1);
            acquisition_end(&a[i]);
        }
        EVENTUALLY(fault_children() == 0);
        CHECK_INT(atomic_load(&told.count), 1);
    }
    fault_end();
}

/* The event is told when the connection is there again. */
TEST_CASE(without_a_connection)
{
    struct told told = {.count = 0};
    const zkl_grant *g;

    begin();
    zkl_mutex *m = named(fault_proxied(FAULT_LONG_MS), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
    EVENTUALLY(fourletter_watches_of(fault.port, zkl_grant_session_id(g)) == 1);
    proxy_cut(fault.proxy);
    ask(NULL, "me");
    proxy_heal(fault.proxy);
    EVENTUALLY(atomic_load(&told.count) == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
}

/* An idle tenure goes at once; a turn is told, and the tenure ends with it. */
TEST_CASE(retained_spans)
{
    struct told told = {.count = 0};
    const zkl_grant *g;

    begin();
    zkl_mutex *m = named(fault_direct(FAULT_LONG_MS), DAY_MS);
    for (int i = 0; i < 2; i++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    CHECK_INT(fault_children(), 1);
    ask(NULL, "me");
    EVENTUALLY(fault_children() == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
    ask(NULL, "me");
    EVENTUALLY(atomic_load(&told.count) == 1);
    CHECK_INT(fault_children(), 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    EVENTUALLY(fault_children() == 0);
    CHECK_INT(atomic_load(&told.count), 1);
    fault_end();
}

/* The leader of a started election is asked, and the leader of a single term. */
TEST_CASE(leaders)
{
    struct told told = {.count = 0};
    struct tale tale = TALE_INIT;
    zkl_grant *g;

    begin();
    zkl_election *e = election_of(fault_direct(FAULT_LONG_MS), fault.path, "a");
    REQUIRE(zkl_election_start(e, tale_event, &tale) == 0);
    TALE_WAIT(&tale, "leading");
    ask(NULL, "a");
    TALE_WAIT(&tale, "leading asked");
    ask(NULL, "__REVOKE__"); /* once a term */
    CHECK_INT(zkl_election_yield(e), 0);
    TALE_WAIT(&tale, "leading asked resigned leading");
    ask(NULL, "a");
    TALE_WAIT(&tale, "leading asked resigned leading asked");
    CHECK_INT(zkl_election_resign(e), 0);
    TALE_WAIT(&tale, "leading asked resigned leading asked resigned stopped");
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
    ask(NULL, "a");
    EVENTUALLY(atomic_load(&told.count) == 1);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0); /* it has ended: nothing comes */
    zkl_grant_release(g);
    zkl_election_free(e);
    fault_end();
    CHECK_INT(atomic_load(&told.count), 1);
}

/* Both write the own node: no transaction is lost or doubted for it, and the request stays, so that
 * it is heard. */
TEST_CASE(among_transactions)
{
    enum { ROUNDS = 30, EACH = 5 };
    int heard = 0;

    begin();
    zkl_mutex *m = named(fault_direct(FAULT_LONG_MS), 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct told told = {.count = 0};
        const zkl_grant *g;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        if (round % 2)
            CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
        for (int i = 0; i < EACH; i++) {
            if (i == round % EACH)
                ask(NULL, "me");
            CHECK_INT(zkl_grant_multi(g, NULL, 0, 0, ZKL_FOREVER), 0);
        }
        if (round % 2 == 0)
            CHECK_INT(zkl_grant_on_revoke(g, told_fn, &told), 0);
        heard += EVENTUALLY(atomic_load(&told.count) == 1);
        char *data = raw_get(fault.direct, zkl_grant_node(g), NULL);
        CHECK(data && strncmp(data, "__REVOKE__\nzkl tx ", 18) == 0);
        free(data);
        ask(NULL, "__REVOKE__");
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    CHECK_INT(heard, ROUNDS);
    fault_end();
}

/* Removed by force: the next one holds, the one before hears of its loss. */
TEST_CASE(broken)
{
    struct acquisition a, b;
    zkl_queue *q = NULL;

    begin();
    acquisition_queue(&a, named(fault_direct(FAULT_LONG_MS), 0), 1);
    acquisition_queue(&b, named(fault_direct(FAULT_LONG_MS), 0), 2);
    REQUIRE(zkl_queue_read(&q, asker, fault.path, NULL, ZKL_FOREVER) == 0);
    const zkl_contender *first = zkl_queue_get(q, 0);
    CHECK_INT(zkl_queue_break(asker, fault.path, first->node, first->token + 1, ZKL_FOREVER),
              ZKL_ENOENT);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    CHECK_INT(zkl_queue_break(asker, fault.path, first->node, first->token, ZKL_FOREVER), 0);
    REQUIRE(acquisition_granted(&b));
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_queue_break(asker, fault.path, first->node, first->token, ZKL_FOREVER),
              ZKL_ENOENT);
    zkl_queue_free(q);
    acquisition_end(&a);
    acquisition_end(&b);
    fault_end();
}

/* The number of a permit that is taken besides. */
static int next_slot(zkl_semaphore *m)
{
    zkl_grant *g;
    zkl_part part = {0};

    REQUIRE(zkl_semaphore_acquire(m, 1, ZKL_FOREVER, &g) == 0);
    CHECK_INT(parts_of(g, &part, 1), 1);
    zkl_grant_release(g);
    return part.slot;
}

static void hear(struct acquisition *a)
{
    REQUIRE(acquisition_granted(a));
    CHECK_INT(zkl_grant_on_revoke(a->grant, told_fn, &a->told), 0);
    EVENTUALLY(atomic_load(&a->told.count) == 1);
}

/* Asked while it waits, or while it holds: it hears, once, and its number is known to those behind,
 * behind its transactions as well. */
TEST_CASE(numbered_permits)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    struct acquisition all, one;
    zkl_semaphore *m;

    begin();
    o.limit = 2;
    o.numbered = 1;
    REQUIRE(zkl_semaphore_new(&m, fault_direct(FAULT_LONG_MS), fault.path, &o) == 0);
    for (int waits = 0; waits < 2; waits++) {
        acquisition_start_permits(&all, m, 2);
        REQUIRE(acquisition_granted(&all));
        if (!waits)
            acquisition_end(&all);
        acquisition_start_permits(&one, m, 1);
        EVENTUALLY(waits ? fault_children() == 2 : acquisition_granted(&one));
        char *node = waits ? fault_waiting_node(all.grant) : g_strdup(zkl_grant_node(one.grant));
        ask(strrchr(node, '/') + 1, NULL);
        g_free(node);
        if (waits)
            acquisition_end(&all);
        hear(&one);
        CHECK_INT(next_slot(m), 1);
        CHECK_INT(zkl_grant_multi(one.grant, NULL, 0, 0, ZKL_FOREVER), 0);
        CHECK_INT(next_slot(m), 1);
        CHECK_INT(atomic_load(&one.told.count), 1);
        acquisition_end(&one);
        EVENTUALLY(fault_children() == 0);
    }
    zkl_semaphore_free(m);
    fault_end();
}
