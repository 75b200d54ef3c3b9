/* What the command writes of any text, alone: a JSON string, a table, a status line. The input: a
 * byte for the shape, then the text. */
#include "targets.h"

#include "input.h"
#include "runner.h"
#include "text.h"
#include "tools/json.h"
#include "tools/table.h"
#include "tools/tool.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { COLUMNS_MAX = 8 };

static void check_json(const char *text, size_t length)
{
    GString *json = g_string_new(NULL), *expected = g_string_new(NULL), *decoded;
    size_t bytes;

    for (size_t i = 0; i < length; i += bytes) {
        int32_t c = text_character(text + i, length - i, &bytes);
        g_string_append_unichar(expected, c == TEXT_INVALID ? 0xfffd : (gunichar)c);
    }
    json_string(json, text);
    decoded = json_check_string(json->str);
    CHECK_INT(strlen(json->str), json->len);
    CHECK(g_str_is_ascii(json->str) && text_is_clean(json->str, json->len));
    if (CHECK(decoded != NULL)) {
        CHECK_STR(decoded->str, expected->str);
        g_string_free(decoded, TRUE);
    }
    g_string_free(json, TRUE);
    g_string_free(expected, TRUE);
}

/* How the character or byte is to be written when it may not be shown. */
static char *escaped(int32_t c, const char *at)
{
    if (c == TEXT_INVALID)
        return g_strdup_printf("\\x%02x", (unsigned char)*at);
    return g_strdup_printf(c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
}

/* Each character is there as it is or escaped, in order; what may not be shown is escaped. */
static void check_visible(const char *text, size_t length)
{
    GString *out = g_string_new(NULL);
    size_t bytes;

    append_visible(out, text);
    CHECK(text_is_clean(out->str, out->len));
    const char *at = out->str;
    for (size_t i = 0; i < length; i += bytes) {
        int32_t c = text_character(text + i, length - i, &bytes);
        bool hidden = c == TEXT_INVALID || text_is_control(c) || text_is_trick(c);
        char *escape = escaped(c, text + i);
        if (!hidden && strncmp(at, text + i, bytes) == 0)
            at += bytes;
        else if (CHECK(g_str_has_prefix(at, escape)))
            at += strlen(escape);
        g_free(escape);
    }
    CHECK_STR(at, "");
    g_string_free(out, TRUE);
}

/* Cells are the text's words. Every line has all columns, whatever is in them. */
static void check_table(const char *text, unsigned shape)
{
    static const char *const heads[COLUMNS_MAX] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    unsigned columns = 1 + shape % COLUMNS_MAX, lines = 0;
    char **cells = g_strsplit(text, " ", -1);
    guint count = g_strv_length(cells);
    struct table *t = table_new(heads, columns, shape);

    for (guint i = 0; i < count; i++)
        table_cell(t, cells[i]);
    for (guint i = count; i % columns; i++)
        table_cell(t, "end");
    GString *out = table_end(t);
    char **rows = g_strsplit(out->str, "\n", -1);
    for (char **row = rows; *row && row[1]; row++, lines++)
        CHECK(text_is_clean(*row, strlen(*row)));
    CHECK_INT(lines, 1 + (count + columns - 1) / columns);
    CHECK(out->len > 0 && out->str[out->len - 1] == '\n');
    g_strfreev(rows);
    g_strfreev(cells);
    g_string_free(out, TRUE);
}

/* Into a pipe with little or no room left: whole or not at all. */
static void check_status_line(const char *text, unsigned full_pages)
{
    static char page[4096];
    int fds[2];
    GString *got = g_string_new(NULL);
    char *line = g_strdup_printf("held %.*s\n", PIPE_BUF - 6, text);

    REQUIRE(pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[1], F_SETPIPE_SZ, 8192) > 0);
    for (unsigned i = 0; i < full_pages; i++)
        REQUIRE(write(fds[1], page, sizeof page) == sizeof page);
    status_line(fds[1], "held %.*s", PIPE_BUF - 6, text);
    close(fds[1]);
    for (ssize_t n; (n = read(fds[0], page, sizeof page)) > 0;)
        g_string_append_len(got, page, n);
    memset(page, 0, sizeof page);
    g_string_erase(got, 0, (gssize)(full_pages * sizeof page));
    CHECK_STR(got->str, full_pages < 2 ? line : "");
    CHECK_INT(strlen(got->str), got->len);
    close(fds[0]);
    g_free(line);
    g_string_free(got, TRUE);
}

void fuzz_writers(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    unsigned shape = input_byte(&in);
    size_t length;
    char *text = input_until(&in, '\0', &length);

    check_json(text, length);
    check_visible(text, length);
    check_table(text, shape);
    check_status_line(text, shape % 3);
    g_free(text);
}
