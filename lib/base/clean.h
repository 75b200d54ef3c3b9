/* Text that others wrote, made fit for people: valid UTF-8 without control characters, so that it
 * drives no terminal and stays on its line. */
#ifndef LIB_CLEAN_H
#define LIB_CLEAN_H

#include <glib.h>

/* Returns a copy of data, which has length bytes (-1: up to the NUL). Invalid bytes, and NUL,
 * become U+FFFD; each byte of a control character becomes '?'. The caller frees it. */
char *clean_text(const char *data, gssize length);

/* Does the same without allocation: copies text into to, which has size bytes, 4 at least. Each
 * invalid byte becomes a '?' too. A text that does not fit ends in "...". */
void clean_copy(char *to, size_t size, const char *text);

#endif
