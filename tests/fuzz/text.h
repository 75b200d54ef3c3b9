/* UTF-8 read anew, byte by byte, as an oracle for what GLib's functions are used for. */
#ifndef FUZZ_TEXT_H
#define FUZZ_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_INVALID = -1 };

/* The character at text, of at most length bytes, and how many it takes; TEXT_INVALID, and 1, for
 * a byte that begins none. */
int32_t text_character(const char *text, size_t length, size_t *ret_bytes);

/* One of those that drive a terminal: C0, DEL, C1. */
bool text_is_control(int32_t c);

/* One that turns a line's direction around, ends the line or hides. */
bool text_is_trick(int32_t c);

/* Valid throughout, and without control characters. */
bool text_is_clean(const char *text, size_t length);

/* ---- JSON (RFC 8259), read without any knowledge of the code that writes it ---- */

/* One value and white space; counts the objects in it, when asked. */
bool json_check(const char *text, unsigned *ret_objects);

/* What the one string that is all of text means, in UTF-8; NULL if it is not one. To be freed. */
GString *json_check_string(const char *text);

#endif
