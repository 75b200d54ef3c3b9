/* Is that JSON (RFC 8259)? Knows nothing of the code that writes it. */
#ifndef FUZZ_JSON_CHECK_H
#define FUZZ_JSON_CHECK_H

#include <glib.h>
#include <stdbool.h>

/* One value and white space; counts the objects in it, when asked. */
bool json_check(const char *text, unsigned *ret_objects);

/* What the one string that is all of text means, in UTF-8; NULL if it is not one. To be freed. */
GString *json_check_string(const char *text);

#endif
