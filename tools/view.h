/* What zkl watch shows: what was read last, and whether it is still so. */
#ifndef ZKL_TOOLS_VIEW_H
#define ZKL_TOOLS_VIEW_H

#include "reader.h"

struct view {
    struct reading *reading; /* NULL: none yet; without a queue: no such path */
    bool up;                 /* there is a connection */
    int64_t since_ms;        /* since when, or not; wall clock */
};

/* A line for each difference, as zkl-watch(1) has them; old may be the first, empty one. */
GString *view_lines(const struct view *old, const struct view *new);

/* One object, with its newline. */
GString *view_json(const char *path, const struct view *v);

/* At most rows lines: a title, the table, and how many more there are. */
GString *view_screen(const char *path, const struct view *v, int rows);

#endif
