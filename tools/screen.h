/* The whole terminal, drawn over again and again, by plain ANSI sequences. It does not flicker,
 * since what stays the same is written over itself. */
#ifndef ZKL_TOOLS_SCREEN_H
#define ZKL_TOOLS_SCREEN_H

#include "events.h"
#include "terminal.h"

#include <glib.h>
#include <termios.h>

struct screen {
    struct terminal terminal; /* where keys come from; its fd is -1 if nowhere */
    struct termios before;
    bool set; /* keys come one by one and are not shown */
    bool on;  /* drawn upon */
    int rows, columns;
};

/* Takes the terminal, once we are in front. */
void screen_enter(struct screen *s);

/* Gives it back as it was: by this and by nothing else, but that is to be called at every end. */
void screen_leave(struct screen *s);

/* The terminal has another size, perhaps. */
void screen_measure(struct screen *s);

/* The next key typed; 0: none. -1: there will be none any more. */
int screen_key(struct screen *s);

/* Shows as many lines of text as fit, each cut to the width. Gives up when a signal comes, since a
 * terminal may be stopped. Returns false if the terminal has gone. */
bool screen_draw(struct screen *s, const struct events *events, const char *text);

#endif
