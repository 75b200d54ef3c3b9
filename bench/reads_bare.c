/* Reads of one node, option window of them in flight on each of option connections: what the server
 * answers when nothing is written. */
#include <glib.h>

#include "bare.h"
#include "common.h"

struct connection {
    zhandle_t *zh;
    int64_t flying, ops;
};

static const char *path;
static int64_t end;

static void start(struct connection *c);

static void on_read(int rc, const char *value, int length, const struct Stat *stat,
                    const void *connection)
{
    struct connection *c = (struct connection *)(uintptr_t)connection;

    (void)value, (void)length, (void)stat;
    bare_require(rc, "get");
    c->ops++;
    if (now_ns() < end)
        start(c);
    else if (--c->flying == 0)
        bare_answered();
}

static void start(struct connection *c)
{
    bare_require(zoo_aget(c->zh, path, 0, on_read, c), "get");
}

/* The completions of a connection come one at a time, so the first one begins its round. */
static void on_first(int rc, const char *value, int length, const struct Stat *stat,
                     const void *connection)
{
    struct connection *c = (struct connection *)(uintptr_t)connection;

    for (int64_t i = 1; i < c->flying; i++)
        start(c);
    on_read(rc, value, length, stat, connection);
}

static int64_t play(struct connection *all, int64_t count, int64_t window)
{
    int64_t ops = 0;

    for (int64_t i = 0; i < count; i++) {
        all[i].flying = window;
        all[i].ops = 0;
        bare_require(zoo_aget(all[i].zh, path, 0, on_first, &all[i]), "get");
    }
    for (int64_t i = 0; i < count; i++)
        bare_await();
    for (int64_t i = 0; i < count; i++)
        ops += all[i].ops;
    return ops;
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    int64_t count = option_number("connections", 1);
    struct connection *all = g_new0(struct connection, (gsize)count);
    path = option("lock", "/bench/reads");
    for (int64_t i = 0; i < count; i++)
        all[i].zh = bare_open(option("address", ""));
    bare_directory(all[0].zh, path);
    say("READY");
    while (told()) {
        struct usage begin = usage_now();
        end = begin.ns + option_number("ms", 1000) * 1000000;
        int64_t ops = play(all, count, option_number("window", 256));
        answer_begin(ops, begin);
        answer_end();
    }
    return 0;
}
