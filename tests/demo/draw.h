/* Everything that turns a verdict into something to look at. */
#ifndef DEMO_DRAW_H
#define DEMO_DRAW_H

#include "verdict.h"

/* A fault on the time axis; the marks of a run in order of time. */
typedef struct mark {
    int64_t ns;
    int worker;
    char letter;
    const char *colour; /* SVG colour name or number */
    char *label;        /* for the SVG */
} mark;

GArray *marks_new(const verdict *v);
void marks_free(GArray *marks);

/* How the terminal wants it. */
typedef struct look {
    bool colour, utf8;
    int width;
} look;

look look_of_stdout(bool no_colour);

void report_print(const verdict *v, const verdict_input *in, const look *l);
void report_verdict(const verdict *v, const look *l);
void timeline_print(const verdict *v, const verdict_input *in, const look *l);
bool svg_write(const char *file, const verdict *v, const verdict_input *in, bool unsafe);

#endif
