/* Pairs of create and delete, option window of them in flight, in directories taken in turn. With
 * the option list=1 the directory is listed after each create, and the delete waits for that, as
 * any lock's must: what is in the directory tells who is next. */
#include <glib.h>
#include <stdbool.h>

#include "bare.h"
#include "common.h"

static zhandle_t *zh;
static char **directories, **made; /* the node of each pair in flight, if it waits for a list */
static bool list;
static int64_t count, turn, flying, ops, end;

static void start(const void *slot);

static void on_deleted(int rc, const void *slot)
{
    bare_require(rc, "delete");
    if (now_ns() < end) {
        ops++;
        start(slot);
    } else if (--flying == 0) {
        bare_answered();
    }
}

static void drop(const char *name, const void *slot)
{
    bare_require(zoo_adelete(zh, name, -1, on_deleted, slot), "delete");
}

static void on_listed(int rc, const struct String_vector *names, const struct Stat *stat,
                      const void *slot)
{
    char **node = (char **)(uintptr_t)slot;

    (void)names, (void)stat;
    bare_require(rc, "list");
    drop(*node, slot);
    g_clear_pointer(node, g_free);
}

static void on_created(int rc, const char *name, const void *slot)
{
    bare_require(rc, "create");
    if (list)
        *(char **)(uintptr_t)slot = g_strdup(name);
    else
        drop(name, slot);
}

static void begin_pair(string_completion_t created, const void *slot)
{
    const char *directory = directories[turn++ % count];

    bare_create(zh, directory, created, slot);
    if (list)
        bare_require(zoo_aget_children2(zh, directory, 0, on_listed, slot), "list");
}

static void start(const void *slot)
{
    begin_pair(on_created, slot);
}

/* The completions come one at a time, so the first one begins the round. */
static void on_first(int rc, const char *name, const void *slot)
{
    for (int64_t i = 1; i < flying; i++)
        start(&made[i]);
    on_created(rc, name, slot);
}

static void make_directories(const char *path)
{
    count = option_number("locks", 1);
    directories = g_new0(char *, (gsize)count);
    for (int64_t i = 0; i < count; i++) {
        directories[i] = g_strdup_printf("%s-%d", path, (int)i);
        bare_directory(zh, directories[i]);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    int64_t window = option_number("window", 256);
    list = option_number("list", 0);
    made = g_new0(char *, (gsize)window);
    zh = bare_open(option("address", ""));
    make_directories(option("lock", "/bench/many"));
    say("READY");
    while (told()) {
        struct usage begin = usage_now();
        ops = 0;
        flying = window;
        end = begin.ns + option_number("ms", 1000) * 1000000;
        begin_pair(on_first, &made[0]);
        bare_await();
        answer_begin(ops, begin);
        answer_end();
    }
    return 0;
}
