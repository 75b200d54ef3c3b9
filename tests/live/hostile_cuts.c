/* Each reply of a session that waits, holds and releases ends at each of its bytes, and the
 * connection with it. The lock is granted all the same, with a node, and nothing stays behind. */
#include "fourletter.h"
#include "hostile.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGES_MAX = 64, SAMPLES = 12 };

/* What the man in the middle has seen, and where he cuts; in the proxy's thread. */
struct cutter {
    int message;
    guint at;
    int seen;
    bool cut;
    guint length[MESSAGES_MAX]; /* of those seen, where none is cut */
    int op[MESSAGES_MAX];
};

static bool cut(GByteArray *message, int op, void *data)
{
    struct cutter *c = data;
    const int number = c->seen++;

    if (number < MESSAGES_MAX) {
        c->length[number] = message->len;
        c->op[number] = op;
    }
    if (number != c->message || c->cut)
        return true;
    c->cut = true;
    g_byte_array_set_size(message, MIN(c->at, message->len));
    return false;
}

static void check_held(const struct acquisition *mine, zkl_session *s)
{
    struct Stat stat;

    EVENTUALLY(zkl_grant_state(mine->grant) == ZKL_HELD);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(mine->grant), &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(s));
    CHECK_INT(fault_children(), 1);
}

/* Waits behind a rival, holds and releases; then another takes the lock. */
static void live_through(struct cutter *c)
{
    struct acquisition rival, mine;

    fault_begin();
    zkl_mutex *direct = fault_mutex(fault_direct(FAULT_LONG_MS));
    acquisition_queue(&rival, direct, 1);
    proxy_mangle(fault.proxy, cut, c);
    zkl_session *s = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
    const char *ahead = zkl_grant_node(rival.grant);
    EVENTUALLY(fault_children() == 2 &&
               fourletter_has_watch(fault.port, zkl_session_id(s), ahead) == 1);
    CHECK_INT(atomic_load(&mine.done), 0);
    acquisition_end(&rival);
    REQUIRE(acquisition_granted(&mine));
    check_held(&mine, s);
    acquisition_end(&mine);
    fault_at_rest();
    fault_close(s);
    acquisition_queue(&rival, direct, 1);
    acquisition_end(&rival);
    fault_end();
}

void hostile_each_byte(void)
{
    struct cutter whole = {.message = -1};
    guint total = 0, tried = 0, cuts = 0;

    live_through(&whole);
    REQUIRE(whole.seen > 0 && whole.seen <= MESSAGES_MAX);
    for (int i = 0; i < whole.seen; i++)
        total += whole.length[i] + 1;
    const guint step = hostile_full ? 1 : MAX(1, total / SAMPLES);
    guint place = 0;
    for (int i = 0; i < whole.seen; i++) {
        for (guint at = 0; at <= whole.length[i]; at++, place++) {
            if (place % step != 0)
                continue;
            struct cutter c = {.message = i, .at = at};
            live_through(&c);
            tried++;
            cuts += c.cut;
        }
    }
    printf("hostile: %u of %u places in %d messages, %u cut\n", tried, total, whole.seen, cuts);
    CHECK(cuts * 4 >= tried * 3); /* the last messages do not always come */
}
