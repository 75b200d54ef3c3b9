/* The parts of the picture: panels of lanes, and the faults' labels above the big one. */
#ifndef DEMO_SVG_H
#define DEMO_SVG_H

#include "draw.h"

enum { SVG_WIDTH = 1200, SVG_LEFT = 50, SVG_RIGHT = 24 };

/* One lane per worker over a stretch of time. */
typedef struct panel {
    const verdict *v;
    int workers;
    int64_t from, to;
    int y, lane;     /* top and height of a lane, in pixels */
    bool tokens_all; /* a token at every grant that has room, else at some */
} panel;

void svg_panel(GString *out, const panel *p);
int svg_panel_bottom(const panel *p);

/* Labels from y down, in as many rows as they need, and lines down through the panel. */
int svg_marks_height(const panel *p, const GArray *marks);
void svg_marks(GString *out, const panel *p, const GArray *marks, int y);

double svg_x(const panel *p, int64_t ns);

#endif
