/* Every input of the corpus once more, by every build: one test for each target. `./dev fuzz` has
 * the corpus as folders, which --unpack makes of it and --pack takes back. */
#include "targets.h"

#include "capture.h"
#include "corpus.h"
#include "runner.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>

static char *corpus_file(const char *target)
{
    return g_build_filename(CORPUS, target, NULL);
}

static void replay_input(const struct fuzz_target *target, const struct corpus_input *in)
{
    gsize size;
    gconstpointer bytes = g_bytes_get_data(in->bytes, &size);
    /* A copy with nothing behind it, so that a sanitizer sees any reading beyond it. */
    uint8_t *data = g_memdup2(bytes, size);

    g_print("%s: %s\n", target->name, in->name); /* so that a crash says which */
    target->one(data, size);
    g_free(data);
}

static GPtrArray *inputs_of(const char *name)
{
    char *file = corpus_file(name);
    GPtrArray *inputs = corpus_read(file);

    g_free(file);
    REQUIRE(inputs);
    return inputs;
}

static void replay(const char *name)
{
    const struct fuzz_target *target = fuzz_targets;
    GPtrArray *inputs = inputs_of(name);

    while (target->name && g_strcmp0(target->name, name) != 0)
        target++;
    REQUIRE(target->name);
    target->one(NULL, 0);
    for (guint i = 0; i < inputs->len; i++)
        replay_input(target, inputs->pdata[i]);
    CHECK(inputs->len >= 5); /* a corpus that is not found says nothing */
    g_ptr_array_unref(inputs);
}

TEST_SUITE(replay);

#define REPLAY(name)                                                                               \
    TEST_CASE(name)                                                                                \
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

/* ---- the corpus itself ---- */

static struct test_suite corpus = {.name = "corpus"};

static void remove_folder(GPtrArray *inputs, const char *folder)
{
    for (guint i = 0; i < inputs->len; i++) {
        char *path =
            g_build_filename(folder, ((struct corpus_input *)inputs->pdata[i])->name, NULL);
        CHECK_INT(g_remove(path), 0);
        g_free(path);
    }
    CHECK_INT(g_rmdir(folder), 0);
}

/* As folders and back it is, to the letter, what is in the source. */
TEST_CASE_OF(corpus, unpacked_and_packed)
{
    for (const struct fuzz_target *target = fuzz_targets; target->name; target++) {
        char *file = corpus_file(target->name), *folder = g_dir_make_tmp(NULL, NULL), *text;
        GPtrArray *inputs = inputs_of(target->name);

        REQUIRE(g_file_get_contents(file, &text, NULL, NULL));
        CHECK(corpus_unpack(inputs, folder));
        GPtrArray *packed = corpus_pack(folder);
        REQUIRE(packed);
        char *packed_text = corpus_text(packed);
        CHECK_STR(packed_text, text);
        remove_folder(inputs, folder);
        g_free(packed_text);
        g_ptr_array_unref(packed);
        g_free(text);
        g_ptr_array_unref(inputs);
        g_free(folder);
        g_free(file);
    }
}

/* The one input of a line. */
static GBytes *bytes_of(const char *line)
{
    GPtrArray *inputs = corpus_parse(line);
    GBytes *bytes = NULL;

    if (inputs && CHECK_INT(inputs->len, 1))
        bytes = g_bytes_ref(((struct corpus_input *)inputs->pdata[0])->bytes);
    g_clear_pointer(&inputs, g_ptr_array_unref);
    return bytes;
}

TEST_CASE_OF(corpus, lines)
{
    static const char quotes[] = "\" \"x\0\377\\", *const bad[] = {"a",           "a \"b\"",
                                                                   "a b\n",       "a \"\n",
                                                                   "a \"b\"c\n",  "a \"\\x0\"\n",
                                                                   "a \"\\n\"\n", " \"b\"\n"};
    GBytes *wanted = g_bytes_new_static(quotes, sizeof(quotes) - 1);
    GBytes *bytes = bytes_of("a \"\" \"x\\x00\\xff\\x5c\"\n"), *none = bytes_of("- \"\"\n");

    CHECK(bytes && g_bytes_equal(bytes, wanted));
    CHECK(none && g_bytes_get_size(none) == 0);
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK(!bytes_of(bad[i]));
    g_clear_pointer(&none, g_bytes_unref);
    g_clear_pointer(&bytes, g_bytes_unref);
    g_bytes_unref(wanted);
}

/* ---- from and to folders ---- */

static int unpack(const char *target, const char *folder)
{
    char *file = corpus_file(target);
    GPtrArray *inputs = corpus_read(file);
    bool ok = inputs && corpus_unpack(inputs, folder);

    g_clear_pointer(&inputs, g_ptr_array_unref);
    g_free(file);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int pack(const char *target, const char *folder)
{
    GPtrArray *inputs = corpus_pack(folder);
    char *file = corpus_file(target), *text = inputs ? corpus_text(inputs) : NULL;
    bool ok = text && g_file_set_contents(file, text, -1, NULL);

    g_free(text);
    g_free(file);
    g_clear_pointer(&inputs, g_ptr_array_unref);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 4 && g_str_equal(argv[1], "--unpack"))
        return unpack(argv[2], argv[3]);
    if (argc == 4 && g_str_equal(argv[1], "--pack"))
        return pack(argv[2], argv[3]);
    capture_init();
    return runner_main(argc, argv);
}
