/* Spans of time as the command line has them. Pure: no I/O, no messages. */
#ifndef ZKL_TOOLS_DURATION_H
#define ZKL_TOOLS_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Parses text: a decimal number of seconds, or a number with one of the units ms, s, m and h after
 * it. *ret_ms is rounded up. Returns false if text is anything else, below 0, a fraction of a
 * millisecond that is given in milliseconds, or more than ten years. */
bool duration_parse(const char *text, int64_t *ret_ms);

#endif
