/* Just enough of JSON to write it. */
#ifndef ZKL_TOOLS_JSON_H
#define ZKL_TOOLS_JSON_H

#include <glib.h>

/* Adds text as a JSON string, quotes included; ASCII only, so that no terminal is driven by it.
 * What is not UTF-8 becomes U+FFFD. */
void json_string(GString *out, const char *text);

#endif
