/* What became of a queue between two snapshots, one line for each change. */
#ifndef ZKL_TOOLS_CHANGES_H
#define ZKL_TOOLS_CHANGES_H

#include "tool.h"

/* "TIME EVENT\n" */
void change_line(GString *out, int64_t time_ms, const char *event);

/* Adds a line for each contender that left, then for each that came, holds now or was asked to give
 * up. NULL instead of a snapshot means an empty queue. */
void changes_between(GString *out, int64_t time_ms, const zkl_queue *old, const zkl_queue *new);

/* 2026-11-21T23:06:47.123Z */
void append_time(GString *out, int64_t time_ms);

#endif
