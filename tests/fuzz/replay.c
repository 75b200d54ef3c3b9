/* Every input of the corpus once more, by every build: one test for each target. `./dev fuzz` has
 * the corpus as folders, which --unpack makes of it and --pack takes back. */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "runner.h"
#include "targets.h"

/* ---- a corpus ---- */

/* A target's inputs, in one text file: a line NAME "BYTES" for each. NAME is - for what a fuzzer
 * found; of BYTES \ and what is not printable ASCII is \xHH. libFuzzer wants a folder with a file
 * for each. */
struct corpus_input {
    char *name;    /* of its file; that of what a fuzzer found is its SHA-1 */
    GBytes *bytes; /* never NULL */
};

static void free_input(void *data)
{
    struct corpus_input *in = data;
    g_free(in->name);
    g_bytes_unref(in->bytes);
    g_free(in);
}

/* Takes both. */
static void add(GPtrArray *inputs, char *name, GBytes *bytes)
{
    struct corpus_input *in = g_new(struct corpus_input, 1);
    *in = (struct corpus_input){.name = name, .bytes = bytes};
    g_ptr_array_add(inputs, in);
}

static char *found_name(GBytes *bytes)
{
    return g_compute_checksum_for_bytes(G_CHECKSUM_SHA1, bytes);
}

static bool was_found(const struct corpus_input *in)
{
    char *name = found_name(in->bytes);
    bool found = strcmp(in->name, name) == 0;
    g_free(name);
    return found;
}

/* ---- lines ---- */

static void append_line(GString *text, const struct corpus_input *in)
{
    gsize size;
    const uint8_t *data = g_bytes_get_data(in->bytes, &size);

    g_string_append_printf(text, "%s \"", was_found(in) ? "-" : in->name);
    for (gsize i = 0; i < size; i++)
        if (g_ascii_isprint((char)data[i]) && data[i] != '\\')
            g_string_append_c(text, (char)data[i]);
        else
            g_string_append_printf(text, "\\x%02x", data[i]);
    g_string_append(text, "\"\n");
}

/* Reads the bytes that are written between two quotes. */
static GBytes *parse_bytes(const char *from, const char *end)
{
    GByteArray *bytes = g_byte_array_new();
    for (; from < end; from++) {
        uint8_t byte = (uint8_t)*from;
        if (*from == '\\') {
            if (end - from < 4 || from[1] != 'x' || !g_ascii_isxdigit(from[2]) ||
                !g_ascii_isxdigit(from[3])) {
                g_byte_array_unref(bytes);
                return NULL;
            }
            byte = (uint8_t)(g_ascii_xdigit_value(from[2]) * 16 + g_ascii_xdigit_value(from[3]));
            from += 3;
        }
        g_byte_array_append(bytes, &byte, 1);
    }
    return g_byte_array_free_to_bytes(bytes);
}

static bool parse_line(GPtrArray *inputs, const char *line)
{
    const char *quote = strstr(line, " \""), *end = strrchr(line, '"');
    GBytes *bytes = quote && quote > line && end > quote + 1 ? parse_bytes(quote + 2, end) : NULL;
    if (!bytes)
        return false;
    char *name = g_strndup(line, (gsize)(quote - line));
    if (strcmp(name, "-") == 0) {
        g_free(name);
        name = found_name(bytes);
    }
    add(inputs, name, bytes);
    return end[1] == '\0';
}

static GPtrArray *corpus_parse(const char *text)
{
    GPtrArray *inputs = g_ptr_array_new_with_free_func(free_input);
    char **lines = g_strsplit(text, "\n", -1);
    bool ok = g_str_has_suffix(text, "\n");
    for (char **line = lines; ok && line[1]; line++)
        ok = parse_line(inputs, *line);
    g_strfreev(lines);
    if (!ok)
        g_clear_pointer(&inputs, g_ptr_array_unref);
    return inputs;
}

static int by_name(const void *a, const void *b)
{
    const struct corpus_input *x = *(void *const *)a, *y = *(void *const *)b;
    int later = was_found(x) - was_found(y);
    return later ? later : strcmp(x->name, y->name);
}

static char *corpus_text(GPtrArray *inputs)
{
    GString *text = g_string_new(NULL);
    g_ptr_array_sort(inputs, by_name);
    for (guint i = 0; i < inputs->len; i++)
        append_line(text, inputs->pdata[i]);
    return g_string_free(text, FALSE);
}

/* ---- files ---- */

static GPtrArray *corpus_read(const char *file)
{
    char *text;
    if (!g_file_get_contents(file, &text, NULL, NULL))
        return NULL;
    GPtrArray *inputs = corpus_parse(text);
    g_free(text);
    return inputs;
}

static bool corpus_unpack(GPtrArray *inputs, const char *folder)
{
    bool ok = g_mkdir_with_parents(folder, 0700) == 0;
    for (guint i = 0; ok && i < inputs->len; i++) {
        const struct corpus_input *in = inputs->pdata[i];
        char *path = g_build_filename(folder, in->name, NULL);
        gsize size;
        const char *data = g_bytes_get_data(in->bytes, &size);
        ok = g_file_set_contents(path, data ? data : "", (gssize)size, NULL);
        g_free(path);
    }
    return ok;
}

static GPtrArray *corpus_pack(const char *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    if (!dir)
        return NULL;
    GPtrArray *inputs = g_ptr_array_new_with_free_func(free_input);
    for (const char *name; (name = g_dir_read_name(dir));) {
        char *path = g_build_filename(folder, name, NULL);
        char *data;
        gsize size;
        if (g_file_get_contents(path, &data, &size, NULL))
            add(inputs, g_strdup(name), g_bytes_new_take(data, size));
        g_free(path);
    }
    g_dir_close(dir);
    return inputs;
}

/* ---- the replay ---- */

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

/* The target that the running test is named after. */
static void replay(void)
{
    const char *name = strchr(runner_current(), '.') + 1;
    const struct fuzz_target *target = fuzz_targets;
    GPtrArray *inputs = inputs_of(name);

    while (strcmp(target->name, name) != 0)
        target++;
    target->one(NULL, 0);
    for (guint i = 0; i < inputs->len; i++)
        replay_input(target, inputs->pdata[i]);
    CHECK(inputs->len >= 5); /* a corpus that is not found says nothing */
    g_ptr_array_unref(inputs);
}

TEST_SUITE(replay);

static void add_targets(void)
{
    static struct test_case cases[32];
    size_t count = 0;

    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
        cases[count] = (struct test_case){.name = t->name, .fn = replay};
        runner_add(&this_suite, &cases[count++]);
    }
}

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
    add_targets();
    return runner_main(argc, argv);
}
