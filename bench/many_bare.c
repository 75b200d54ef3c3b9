/* Pairs of create and delete in one directory, so many in flight. */
#include "bare.h"
#include "common.h"

static zhandle_t *zh;
static const char *path;
static int64_t flying, ops, end;

static void start(void);

static void on_deleted(int rc, const void *data)
{
    (void)data;
    bare_require(rc, "delete");
    if (now_ns() < end) {
        ops++;
        start();
    } else if (--flying == 0) {
        bare_answered();
    }
}

static void on_created(int rc, const char *name, const void *data)
{
    (void)data;
    bare_require(rc, "create");
    bare_require(zoo_adelete(zh, name, -1, on_deleted, NULL), "delete");
}

static void start(void)
{
    bare_create(zh, path, on_created, NULL);
}

/* The completions come one at a time, so the first one begins the round. */
static void on_first(int rc, const char *name, const void *data)
{
    flying = option_number("window", 256);
    for (int64_t i = 1; i < flying; i++)
        start();
    on_created(rc, name, data);
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    path = option("lock", "/bench/many");
    zh = bare_open(option("address", ""));
    bare_directory(zh, path);
    say("READY");
    while (told()) {
        struct usage begin = usage_now();
        ops = 0;
        end = begin.ns + option_number("ms", 1000) * 1000000;
        bare_create(zh, path, on_first, NULL);
        bare_await();
        answer_begin(ops, begin);
        answer_end();
    }
    return 0;
}
