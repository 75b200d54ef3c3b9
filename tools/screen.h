/* Draws the whole terminal again and again, by plain ANSI sequences. Nothing flickers, since each
 * line is written over the old one. */
#ifndef ZKL_TOOLS_SCREEN_H
#define ZKL_TOOLS_SCREEN_H

#include "events.h"
#include "terminal.h"

#include <glib.h>
#include <termios.h>

struct screen {
    struct terminal terminal; /* the source of keys; if there is none, its fd is -1 */
    struct termios before;    /* the terminal's modes; we give them back */
    bool set;                 /* keys come one by one and are not shown */
    bool on;                  /* we draw upon it */
    int rows, columns;
};

/* Waits until we are in front, and takes the terminal. */
void screen_enter(struct screen *s);

/* Gives the terminal back as it was. Nothing else does that, so call it at every end. */
void screen_leave(struct screen *s);

/* Reads the terminal's size, which may have changed. */
void screen_measure(struct screen *s);

/* Returns the next key that was typed; 0: none; -1: there will be none any more. */
int screen_key(struct screen *s);

/* Shows as many lines of text as fit, each cut to the width. Gives up when a signal comes, since
 * output to the terminal may be stopped. Returns false if the terminal has gone. */
bool screen_draw(struct screen *s, const struct events *events, const char *text);

#endif
