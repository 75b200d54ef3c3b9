/* Every input of the corpus once more, by every build: one test for each target. */
#include "targets.h"

#include "capture.h"
#include "runner.h"

#include <glib.h>

static void replay_file(const struct fuzz_target *target, const char *path)
{
    char *text;
    gsize size;

    REQUIRE(g_file_get_contents(path, &text, &size, NULL));
    /* Without the NUL behind it, so that a sanitizer sees any reading beyond it. */
    uint8_t *data = g_memdup2(text, size);
    g_free(text);
    g_print("%s\n", path); /* so that a crash says which */
    target->one(data, size);
    g_free(data);
}

static void replay(const char *name)
{
    const struct fuzz_target *target = fuzz_targets;
    char *folder = g_build_filename(CORPUS, name, NULL);
    GDir *dir = g_dir_open(folder, 0, NULL);
    unsigned count = 0;

    while (target->name && g_strcmp0(target->name, name) != 0)
        target++;
    REQUIRE(target->name);
    target->one(NULL, 0);
    for (const char *file; dir && (file = g_dir_read_name(dir)); count++) {
        char *path = g_build_filename(folder, file, NULL);
        replay_file(target, path);
        g_free(path);
    }
    CHECK(count >= 5); /* a corpus that is not found says nothing */
    g_clear_pointer(&dir, g_dir_close);
    g_free(folder);
}

#define REPLAY(name)                                                                               \
    static void name(void)                                                                         \
    {                                                                                              \
        replay(#name);                                                                             \
    }

REPLAY(acl)
REPLAY(command)
REPLAY(attempt)
REPLAY(proofs)
REPLAY(names)
REPLAY(paths)
REPLAY(payloads)
REPLAY(places)
REPLAY(probe)
REPLAY(writers)

static const struct test_case cases[] = {
    {"acl", acl},     {"command", command}, {"attempt", attempt},   {"proofs", proofs},
    {"names", names}, {"paths", paths},     {"payloads", payloads}, {"places", places},
    {"probe", probe}, {"writers", writers}, {NULL, NULL},
};

static const struct test_suite replay_suite = {.name = "replay", .cases = cases};

int main(int argc, char **argv)
{
    static const struct test_suite *const suites[] = {&replay_suite, NULL};

    capture_init();
    return runner_main(argc, argv, suites);
}
