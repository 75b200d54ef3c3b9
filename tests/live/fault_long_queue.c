/* What it costs a server to hand a lock over in a long queue: counted on the wire, and what becomes
 * of it when that is cut in between. */
#include "fault.h"
#include "recipes/head_hint.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(fault_long_queue, .init = fault_start, .done = fault_stop);

enum { COUNTED = 20, FEW = 2 * LONG_QUEUE + COUNTED + 2, MANY = 4 * LONG_QUEUE };
enum { CUT = 6 }; /* waiters with others' nodes before and behind them */

static struct acquisition acquisitions[MANY];

/* The sanitizer of this build; "": none. Half of the test is enough for a build with one: what the
 * server is asked and has done says nothing to a sanitizer, and the threads and the memory are the
 * same. */
static const char *sanitizer(void)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");

    return instrumented ? instrumented : "";
}

/* Waiters in the order of their numbers, each with a handle of its own. */
static void queue_up(zkl_session *s, int count)
{
    for (int i = 0; i < count; i++) {
        acquisition_start(&acquisitions[i], fault_mutex(s), ZKL_FOREVER);
        if (i == 0)
            acquisition_granted(&acquisitions[0]);
    }
    /* Each arrival is a step: with a sanitizer, beside other work, all of them take minutes. */
    for (int here = 0; here < count; here = fault_children()) {
        if (!EVENTUALLY(fault_children() > here))
            return;
    }
}

static void hand_over(int from, int to)
{
    for (int i = from; i < to; i++) {
        acquisition_end(&acquisitions[i]);
        REQUIRE(acquisition_granted(&acquisitions[i + 1]));
    }
}

/* Nobody lists: nothing, however many wait. */
static void check_hand_overs(int count)
{
    fault_begin();
    zkl_session *s = fault_proxied(60000); /* it is to outlive minutes beside other work */
    queue_up(s, count);
    hand_over(0, LONG_QUEUE + 1); /* those that entered a short queue list */
    proxy_reset_stats(fault.proxy);
    hand_over(LONG_QUEUE + 1, LONG_QUEUE + 1 + COUNTED);
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2), 0);
    uint64_t reads = (uint64_t)proxy_requests(fault.proxy, PROXY_OP_GET_DATA);
    CHECK(reads >= 2 * COUNTED && reads <= 3 * COUNTED); /* who is slow watches its own node */
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_DELETE), COUNTED);
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_CREATE2), 0);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, COUNTED, UNTIL_LATE));
    hand_over(LONG_QUEUE + 1 + COUNTED, count - 1);
    acquisition_end(&acquisitions[count - 1]);
    fault_end();
}

TEST_CASE(costs_the_same_for_all)
{
    check_hand_overs(FEW);
    if (!*sanitizer())
        check_hand_overs(MANY);
}

/* Nodes of another client, which wait for nobody. */
static void others_enter(char *nodes[LONG_QUEUE])
{
    char *prefix = g_strconcat(fault.path, "/_c_33333333-3333-3333-3333-333333333333-lock-", NULL);

    for (int i = 0; i < LONG_QUEUE; i++) {
        char made[512] = "";
        REQUIRE(raw_create(fault.direct, prefix, NULL, -1, ZOO_SEQUENCE, made) == ZOK);
        nodes[i] = g_strdup(made);
    }
    g_free(prefix);
}

static void others_leave(char *nodes[LONG_QUEUE])
{
    for (int i = 0; i < LONG_QUEUE; i++) {
        CHECK_INT(raw_delete(fault.direct, nodes[i]), ZOK);
        g_free(nodes[i]);
    }
}

/* A hint that never comes, or whose answer does not, or one that is not read at once: slower, and
 * nobody is passed over or granted twice. */
TEST_CASE(cut_at_the_hint)
{
    static const struct {
        void (*lose)(struct proxy *p, int op);
        int op;
    } rows[] = {
        {proxy_lose_request_to, PROXY_OP_SET_DATA}, {proxy_lose_reply_to, PROXY_OP_SET_DATA},
        {proxy_lose_request_to, PROXY_OP_GET_DATA}, {proxy_lose_reply_to, PROXY_OP_GET_DATA},
        {proxy_lose_request_to, PROXY_OP_DELETE},   {proxy_lose_reply_to, PROXY_OP_DELETE},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *before[LONG_QUEUE], *behind[LONG_QUEUE];
        fault_begin();
        struct history *h = history_new();
        zkl_session *s = fault_proxied(FAULT_LONG_MS);
        queue_up(s, 1);
        others_enter(before);
        for (int n = 1; n < CUT; n++)
            acquisition_start(&acquisitions[n], fault_mutex(s), ZKL_FOREVER);
        EVENTUALLY(fault_children() == LONG_QUEUE + CUT);
        others_enter(behind);
        acquisition_end(&acquisitions[0]);
        others_leave(before);
        REQUIRE(acquisition_granted(&acquisitions[1]));
        for (int n = 1; n < CUT - 1; n++) {
            int64_t begin = fault_boot_ns();
            if (n == 2)
                rows[i].lose(fault.proxy, rows[i].op);
            history_add(h, begin, begin + 1, zkl_grant_token(acquisitions[n].grant));
            hand_over(n, n + 1);
            for (int later = n + 2; later < CUT; later++)
                CHECK_INT(atomic_load(&acquisitions[later].done), 0);
        }
        acquisition_end(&acquisitions[CUT - 1]);
        CHECK(proxy_requests(fault.proxy, PROXY_OP_SET_DATA) >= CUT - 3);
        CHECK_INT(history_count(h), CUT - 2);
        history_check(h);
        others_leave(behind);
        fault_end();
    }
}
