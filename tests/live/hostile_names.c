/* More names in one list than anybody has: 100 MB of them with --full. libzookeeper has no limit
 * that would refuse it. */
#include "hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 20,  /* where it is in a list */
    NAME = 63,   /* bytes of each */
    STAT = 68,   /* at the end of a list */
    FIRST = 100, /* number of the first that is made up: behind all that are there */
    FEW = 1000,
    MANY = 100 * 1000 * 1000 / NAME,
    TIMEOUT_MS = 15000
};

struct inventor {
    int names; /* to be made up */
    bool done;
};

static void append_be32(GByteArray *to, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE(value);

    g_byte_array_append(to, (const uint8_t *)&wire, sizeof wire);
}

static void put_be32(GByteArray *to, guint at, uint32_t value)
{
    const uint32_t wire = GUINT32_TO_BE(value);

    memcpy(to->data + at, &wire, sizeof wire);
}

static void append_name(GByteArray *to, int number)
{
    char name[NAME + 1];

    g_snprintf(name, sizeof name, "_c_%08x-58c8-4b51-b04e-1d4d0a3b0c8e-ever-so-lock-%010d", number,
               number);
    append_be32(to, (uint32_t)strlen(name));
    g_byte_array_append(to, (const uint8_t *)name, (guint)strlen(name));
}

/* Behind those that are there, as many more. */
static bool invent(GByteArray *message, int op, void *data)
{
    struct inventor *i = data;
    uint8_t stat[STAT];
    uint32_t count;

    if (i->done || op != PROXY_OP_GET_CHILDREN2 || message->len < COUNT + sizeof count + STAT)
        return true;
    i->done = true;
    memcpy(&count, message->data + COUNT, sizeof count);
    put_be32(message, COUNT, GUINT32_FROM_BE(count) + (uint32_t)i->names);
    memcpy(stat, message->data + message->len - STAT, STAT);
    g_byte_array_set_size(message, message->len - STAT);
    for (int n = 0; n < i->names; n++)
        append_name(message, FIRST + n);
    g_byte_array_append(message, stat, STAT);
    put_be32(message, 0, message->len - 4);
    return true;
}

static struct hostile_run list_to(enum hostile_task task, int names)
{
    struct inventor i = {.names = names};
    struct hostile_run run = {.task = task, .timeout_ms = TIMEOUT_MS, .mangle = invent, .data = &i};

    hostile_run(&run);
    CHECK(i.done);
    CHECK_INT(run.result, WORKER_WORKED);
    printf("hostile: %d names: %" G_GINT64_FORMAT " MB, %" G_GINT64_FORMAT " ms of processor\n",
           names, run.memory / 1000000, run.processor / 1000);
    return run;
}

void hostile_line_without_end(void)
{
    const int names = hostile_full ? MANY : FEW;
    struct hostile_run run = list_to(HOSTILE_LOOK, names);

    CHECK_INT(atoi(run.said), names + 1);
    hostile_run_clear(&run);
}

void hostile_rivals_without_end(void)
{
    struct hostile_run run = list_to(HOSTILE_LOCK, hostile_full ? MANY : FEW);

    hostile_run_clear(&run);
}
