#include "corpus.h"

#include <stdint.h>
#include <string.h>

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

GPtrArray *corpus_parse(const char *text)
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

char *corpus_text(GPtrArray *inputs)
{
    GString *text = g_string_new(NULL);
    g_ptr_array_sort(inputs, by_name);
    for (guint i = 0; i < inputs->len; i++)
        append_line(text, inputs->pdata[i]);
    return g_string_free(text, FALSE);
}

/* ---- files ---- */

GPtrArray *corpus_read(const char *file)
{
    char *text;
    if (!g_file_get_contents(file, &text, NULL, NULL))
        return NULL;
    GPtrArray *inputs = corpus_parse(text);
    g_free(text);
    return inputs;
}

bool corpus_unpack(GPtrArray *inputs, const char *folder)
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

GPtrArray *corpus_pack(const char *folder)
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
