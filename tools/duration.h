/* Times as the command line has them. Pure: no I/O, no messages. */
#ifndef ZKL_TOOLS_DURATION_H
#define ZKL_TOOLS_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Stores the time in text, in milliseconds and rounded up: a decimal number of seconds, or with
 * one of the units ms, s, m and h after it. False if text is anything else, below 0, a fraction of
 * a millisecond that is given in milliseconds, or more than ten years. */
bool duration_parse(const char *text, int64_t *ret_ms);

#endif
