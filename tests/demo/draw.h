/* Everything that turns a verdict into something to look at. */
#ifndef DEMO_DRAW_H
#define DEMO_DRAW_H

#include "verdict.h"

/* A fault on the time axis; the marks of a run in order of time. */
typedef struct mark {
    int64_t ns;
    int worker;
    char letter; /* 0: it concerns no worker */
    char *label; /* in the picture */
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

/* Its data goes to dir. false after a line on stderr when there is nothing to draw it. */
bool picture_draw(const char *file, const char *dir, const verdict *v, const verdict_input *in,
                  bool unsafe);

#endif
