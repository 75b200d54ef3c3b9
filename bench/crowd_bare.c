/* A crowd without logic: each node has a watch on the one before, and its owner deletes it when
 * that fires. With the option proof=1 each owner first reads its own node, as any lock must that is
 * to know that it still has it. With mark=1 it also reads the directory before that, and sets its
 * data afterwards, as zkl does where many wait. */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "bare.h"
#include "common.h"

static zhandle_t *zh;
static const char *path;
static char **nodes; /* the first is the holder's */
static int64_t waiters, left, last;
static bool proof, mark;
static struct times gaps;

static void one_less(void)
{
    if (--left == 0)
        bare_answered();
}

static void on_created(int rc, const char *name, const void *data)
{
    bare_require(rc, "create");
    *(char **)(uintptr_t)data = g_strdup(name);
    one_less();
}

static void on_watched(int rc, const struct Stat *stat, const void *data)
{
    (void)stat, (void)data;
    bare_require(rc, "exists");
    one_less();
}

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
    one_less();
}

static void drop(const char *node)
{
    bare_require(zoo_adelete(zh, node, -1, on_deleted, NULL), "delete");
}

static void on_hint_set(int rc, const struct Stat *stat, const void *data)
{
    (void)stat, (void)data;
    bare_require(rc, "set");
}

static void turn(const char *node)
{
    int64_t now = now_ns();

    times_add(&gaps, now - last);
    last = now;
    if (mark)
        bare_require(zoo_aset(zh, path, node, (int)strlen(node), -1, on_hint_set, NULL), "set");
    drop(node);
}

static void on_read(int rc, const char *value, int length, const struct Stat *stat,
                    const void *node)
{
    (void)value, (void)length, (void)stat;
    bare_require(rc, "get");
    if (node)
        turn(node);
}

static void on_event(zhandle_t *handle, int type, int state, const char *of, void *node)
{
    (void)handle, (void)state, (void)of;
    if (type != ZOO_DELETED_EVENT)
        return;
    if (mark)
        bare_require(zoo_aget(zh, path, 0, on_read, NULL), "get");
    if (proof)
        bare_require(zoo_aget(zh, node, 0, on_read, node), "get");
    else
        turn(node);
}

static void enter(void)
{
    left = waiters + 1;
    for (int64_t i = 0; i <= waiters; i++)
        bare_create(zh, path, on_created, &nodes[i]);
    bare_await();
    left = waiters;
    for (int64_t i = 1; i <= waiters; i++)
        bare_require(zoo_awexists(zh, nodes[i - 1], on_event, nodes[i], on_watched, NULL),
                     "exists");
    bare_await();
}

static void play(void)
{
    struct memory before = memory_now();

    gaps = (struct times){.longest = 0};
    enter();
    say("QUEUED");
    if (!told())
        fail("nobody wants the crowd drained");
    struct memory crowded = memory_now();
    struct usage begin = usage_now();
    last = begin.ns;
    left = waiters + 1;
    drop(nodes[0]);
    bare_await();
    answer_begin(waiters, begin);
    answer_number("heap", (double)(crowded.heap - before.heap));
    answer_number("resident", (double)(crowded.resident - before.resident));
    answer_times("gaps", &gaps);
    answer_end();
    for (int64_t i = 0; i <= waiters; i++)
        g_clear_pointer(&nodes[i], g_free);
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    path = option("lock", "/bench/crowd");
    mark = option_number("mark", 0);
    proof = mark || option_number("proof", 0);
    zh = bare_open(option("address", ""));
    bare_directory(zh, path);
    waiters = option_number("waiters", 100);
    nodes = g_new0(char *, (gsize)waiters + 1);
    for (;;) {
        say("READY");
        if (!told())
            break;
        play();
    }
    return 0;
}
