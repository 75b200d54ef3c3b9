/* What happens on a stage, one readable line each: virtual time in ms, who, what. Nodes, sessions
 * and hosts have short names, so that two runs can be compared by eye and byte by byte. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <zkl.h>

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

/* ---- names of what is counted off in enums ---- */

const char *request_name(enum store_kind kind);
const char *fired_name(enum store_fired fired); /* behind a path */
const char *rc_name(enum store_rc rc);
const char *cause_name(enum cause cause);
const char *event_name(enum store_event event);
const char *election_event_name(zkl_election_event event);
const char *state_name(zkl_state state);

#endif
