/* Lengths, numbers and kinds in replies that are not true. Each lie is told once to a process of
 * its own. Where libzookeeper survives, the lock is held in the end; in no case is it held without
 * a node, and in every case others get it. */
#include "hostile.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 0, XID = 4, ZXID = 8, ERROR = 16, BODY = 20, ITEM = BODY + 4 };

/* In the first event. */
enum { EVENT_TYPE = BODY, EVENT_PATH = BODY + 8 };

/* In the answer to the handshake. */
enum { PROTOCOL = 4, TIMEOUT = 8, SESSION = 12, PASSWORD = 20 };

enum fate {
    WORKS, /* it survives, and the lock is held and released */
    SEES,  /* it survives, and who looks at the line sees what is there */
    LASTS, /* it survives, perhaps with an error: it is refused, never woken, or late */
    ENDS   /* libzookeeper may end the process: it reads what it never wrote, or asserts */
};

enum how {
    SAY,     /* a value at a place */
    BLANK,   /* as SAY, and as much behind it */
    SHORTEN, /* the value is how much of the message is left, and its length says so */
    AGAIN    /* the message comes twice */
};

enum { VALUES_MAX = 8 };

struct lie {
    int op; /* in the first reply to such a request; SEES: behind a list */
    enum how how;
    guint at;
    enum fate fate;
    bool sampled; /* the first value, also without --full */
    int count;
    int32_t values[VALUES_MAX];
};

#define EACH(...)                                                                                  \
    sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t),                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct lie lies[] = {
    {PROXY_OP_HANDSHAKE, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1, 16)},
    {PROXY_OP_HANDSHAKE, SAY, PROTOCOL, WORKS, false, EACH(-1, 7)},
    {PROXY_OP_HANDSHAKE, SAY, TIMEOUT, WORKS, true, EACH(-1, 0, 1, INT32_MIN, INT32_MAX)},
    {PROXY_OP_HANDSHAKE, SAY, SESSION, LASTS, false, EACH(-1, 0)},
    {PROXY_OP_HANDSHAKE, BLANK, SESSION, WORKS, true, EACH(0)},
    {PROXY_OP_HANDSHAKE, SAY, PASSWORD, WORKS, false, EACH(-1, 0, INT32_MAX)},
    {PROXY_OP_HANDSHAKE, AGAIN, 0, ENDS, false, EACH(0)},

    {PROXY_OP_CREATE2, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_CREATE2, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_CREATE2, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_CREATE2, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_CREATE2, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_CREATE2, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_CREATE2, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_CREATE2, SAY, BODY, WORKS, true, EACH(0, 7, 1)},
    {PROXY_OP_CREATE2, SAY, BODY, ENDS, false, EACH(-1, -2, INT32_MIN, 1000, 1 << 20, INT32_MAX)},
    {PROXY_OP_CREATE2, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 100)},

    {PROXY_OP_CREATE, SAY, BODY, WORKS, true, EACH(-1, INT32_MIN, 0, 7, 1000, INT32_MAX)},
    {PROXY_OP_CREATE, SHORTEN, 0, WORKS, false, EACH(20, 23, 24, 40)},

    {PROXY_OP_GET_CHILDREN2, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_GET_CHILDREN2, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_GET_CHILDREN2, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_GET_CHILDREN2, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_GET_CHILDREN2, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_GET_CHILDREN2, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, WORKS, true, EACH(-1, -2, INT32_MIN, 0, 1)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, WORKS, true, EACH(7, 1000, 1 << 20)},
    {PROXY_OP_GET_CHILDREN2, SAY, BODY, ENDS, false, EACH(INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SAY, ITEM, WORKS, true, EACH(-1, INT32_MIN, 0, 1, 1000, INT32_MAX)},
    {PROXY_OP_GET_CHILDREN2, SHORTEN, 0, WORKS, true, EACH(40, 24, 28)},
    {PROXY_OP_GET_CHILDREN2, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 23, 100)},

    {PROXY_OP_GET_DATA, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_GET_DATA, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_GET_DATA, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_GET_DATA, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_GET_DATA, SAY, ZXID, WORKS, false, EACH(-1, INT32_MAX)},
    {PROXY_OP_GET_DATA, SAY, ERROR, WORKS, false, EACH(-4, -101, -112, -115, -118)},
    {PROXY_OP_GET_DATA, SAY, ERROR, LASTS, false, EACH(1, -999, INT32_MIN)},
    {PROXY_OP_GET_DATA, SAY, BODY, WORKS, false, EACH(-2, -1, INT32_MIN, 0, 1, 7)},
    {PROXY_OP_GET_DATA, SAY, BODY, SEES, true, EACH(-2, INT32_MIN)},
    {PROXY_OP_GET_DATA, SAY, BODY, ENDS, false, EACH(1000, 1 << 20, INT32_MAX)},
    {PROXY_OP_GET_DATA, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},

    {PROXY_OP_EVENT, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_EVENT, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_EVENT, SAY, XID, LASTS, false, EACH(-2, -8)},
    {PROXY_OP_EVENT, SAY, XID, ENDS, false, EACH(0, -4, INT32_MAX)},
    {PROXY_OP_EVENT, SAY, EVENT_TYPE, WORKS, false, EACH(1, 3)},
    {PROXY_OP_EVENT, SAY, EVENT_TYPE, LASTS, false, EACH(77, 4, 0, -1, -2, INT32_MIN)},
    {PROXY_OP_EVENT, SAY, EVENT_PATH, LASTS, false, EACH(0, 1)},
    {PROXY_OP_EVENT, SAY, EVENT_PATH, ENDS, false, EACH(-1, INT32_MIN, 1000, INT32_MAX)},
    {PROXY_OP_EVENT, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},
    {PROXY_OP_EVENT, AGAIN, 0, WORKS, false, EACH(0)},

    {PROXY_OP_MULTI, SAY, LENGTH, LASTS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_MULTI, SAY, LENGTH, ENDS, false, EACH(1, 15, 16)},
    {PROXY_OP_MULTI, SAY, XID, LASTS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_MULTI, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_MULTI, SAY, ERROR, LASTS, false, EACH(1, -4, -101, -112, -999, INT32_MIN)},
    {PROXY_OP_MULTI, SAY, BODY, LASTS, false, EACH(0, 14, 77, INT32_MIN)},
    {PROXY_OP_MULTI, SAY, BODY, ENDS, false, EACH(-1)},
    {PROXY_OP_MULTI, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16, 20, 24, 28, 40)},

    {PROXY_OP_DELETE, SAY, LENGTH, WORKS, false, EACH(-1, INT32_MIN, INT32_MAX, 0, 1 << 20)},
    {PROXY_OP_DELETE, SAY, LENGTH, ENDS, false, EACH(1, 15)},
    {PROXY_OP_DELETE, SAY, XID, WORKS, false, EACH(INT32_MAX, 0, -2, -8)},
    {PROXY_OP_DELETE, SAY, XID, ENDS, false, EACH(-1, -4)},
    {PROXY_OP_DELETE, SAY, ERROR, LASTS, false, EACH(1, -4, -101, -112, -999, INT32_MIN)},
    {PROXY_OP_DELETE, SHORTEN, 0, ENDS, false, EACH(4, 8, 12, 16)},
    {PROXY_OP_DELETE, AGAIN, 0, ENDS, true, EACH(0)},
};

struct liar {
    const struct lie *lie;
    int32_t value;
    bool listed, told;
};

static void put(GByteArray *message, guint at, int32_t value)
{
    const uint32_t wire = GUINT32_TO_BE((uint32_t)value);

    if (at + sizeof wire <= message->len)
        memcpy(message->data + at, &wire, sizeof wire);
}

static bool tell(GByteArray *message, int op, void *data)
{
    struct liar *liar = data;
    const struct lie *lie = liar->lie;

    liar->listed |= op == PROXY_OP_GET_CHILDREN2;
    if (liar->told || op != lie->op || (lie->fate == SEES && !liar->listed))
        return true;
    liar->told = true;
    if (lie->how == SAY || lie->how == BLANK)
        put(message, lie->at, liar->value);
    if (lie->how == BLANK)
        put(message, lie->at + 4, liar->value);
    if (lie->how == SHORTEN) {
        g_byte_array_set_size(message, MIN((guint)liar->value, message->len));
        put(message, LENGTH, (int32_t)message->len - 4);
    }
    if (lie->how == AGAIN) {
        const guint length = message->len;
        g_byte_array_set_size(message, 2 * length);
        memcpy(message->data + length, message->data, length);
    }
    return true;
}

static void show(const struct liar *liar, const struct hostile_run *run)
{
    static const char *const hows[] = {"say", "blank", "shorten to", "again"};
    static const char *const fates[] = {"works", "sees", "lasts", "ends"};
    const struct lie *lie = liar->lie;

    printf("hostile: reply %d at %u %s %d (%s): %d, %" G_GINT64_FORMAT " ms of processor: %s\n",
           lie->op, lie->at, hows[lie->how], liar->value, fates[lie->fate], run->result,
           run->processor / 1000, g_strdelimit(run->said, "\n", ' '));
    fflush(stdout);
}

static void live_through(const struct lie *lie, int32_t value)
{
    struct liar liar = {.lie = lie, .value = value};
    struct hostile_run run = {.task = lie->fate == SEES ? HOSTILE_LOOK : HOSTILE_LOCK,
                              .timeout_ms = lie->fate == ENDS ? FAULT_SHORT_MS : FAULT_LONG_MS,
                              .plain = lie->op == PROXY_OP_CREATE,
                              .mangle = tell,
                              .data = &liar};

    hostile_run(&run);
    CHECK(liar.told);
    if (lie->fate == WORKS || lie->fate == SEES)
        CHECK_INT(run.result, WORKER_WORKED);
    else if (lie->fate == LASTS)
        CHECK(run.result == WORKER_WORKED || run.result == WORKER_FAILED);
    if (run.plain)
        CHECK_INT(run.creates, 1); /* its node is found, not made again */
    if (lie->fate == SEES)
        CHECK(g_str_has_suffix(run.said, run.line)); /* behind what a sanitizer says */
    show(&liar, &run);
    hostile_run_clear(&run);
}

void hostile_each_lie(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(lies); i++) {
        const int count = hostile_full ? lies[i].count : lies[i].sampled;
        for (int k = 0; k < count; k++)
            live_through(&lies[i], lies[i].values[k]);
    }
}
