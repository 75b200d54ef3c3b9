/* Writes JSON strings by RFC 8259. */
#include "json.h"

static void append_unit(GString *out, gunichar c)
{
    g_string_append_printf(out, "\\u%04x", c);
}

/* Appends a character, escaped where it must be, or where it is not ASCII. */
static void append_character(GString *out, gunichar c)
{
    if (c == '"' || c == '\\') {
        g_string_append_c(out, '\\');
        g_string_append_c(out, (char)c);
    } else if (c >= 0x20 && c < 0x7f) {
        g_string_append_c(out, (char)c);
    } else if (c < 0x10000) {
        append_unit(out, c);
    } else { /* a surrogate pair */
        append_unit(out, 0xd800 + ((c - 0x10000) >> 10));
        append_unit(out, 0xdc00 + ((c - 0x10000) & 0x3ff));
    }
}

void json_string(GString *out, const char *text)
{
    const char *p = text;

    g_string_append_c(out, '"');
    while (*p) {
        gunichar c = g_utf8_get_char_validated(p, -1);

        if (c == (gunichar)-1 || c == (gunichar)-2) {
            append_character(out, 0xfffd);
            p++;
        } else {
            append_character(out, c);
            p = g_utf8_next_char(p);
        }
    }
    g_string_append_c(out, '"');
}
