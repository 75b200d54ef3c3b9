/* Writes strings of JSON. */
#ifndef ZKL_TOOLS_JSON_H
#define ZKL_TOOLS_JSON_H

#include <glib.h>

/* Adds text as a JSON string with its quotes, in ASCII, so that no terminal acts on it. What is not
 * UTF-8 becomes U+FFFD. */
void json_string(GString *out, const char *text);

#endif
