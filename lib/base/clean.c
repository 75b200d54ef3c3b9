#include "clean.h"

#include <stdbool.h>
#include <string.h>

static const char dots[] = "...";

char *clean_text(const char *data, gssize length)
{
    char *text = g_utf8_make_valid(data ? data : "", length);

    for (char *at = text; *at; at = g_utf8_next_char(at)) {
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            memset(at, '?', (size_t)(g_utf8_next_char(at) - at));
    }
    return text;
}

void clean_copy(char *to, size_t size, const char *text)
{
    size_t used = 0, cut = 0; /* cut: where the dots would go */

    for (const char *at = text; *at;) {
        const gunichar c = g_utf8_get_char_validated(at, -1);
        const bool stays = c != (gunichar)-1 && c != (gunichar)-2 && !g_unichar_iscntrl(c);
        const size_t put = stays ? (size_t)(g_utf8_next_char(at) - at) : 1;

        if (used + put >= size) {
            strcpy(to + cut, dots);
            return;
        }
        memcpy(to + used, stays ? at : "?", put);
        used += put;
        at += put;
        if (used + strlen(dots) < size)
            cut = used;
    }
    to[used] = '\0';
}
