/* What happens on a stage, one readable line each: virtual time in ms, who, what. Nodes, sessions
 * and hosts have short names, so that two runs can be compared by eye and byte by byte. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "world/world.h"

struct trace;

/* Writes each line to live at once too, so that it survives a crash; live may be NULL. chain: the
 * trace has also the requests by which sessions prove themselves. */
struct trace *trace_new(FILE *live, bool chain);
void trace_free(struct trace *t);

/* Everything so far. */
const char *trace_text(const struct trace *t);

/* Does nothing if t is NULL. */
void trace_line(struct trace *t, int64_t now, const char *who, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void trace_note(struct trace *t, int64_t now, const struct note *note);

/* text with every id of a contender in it replaced by its short name: free it. */
char *trace_shorten(struct trace *t, const char *text);

#endif
