/* What the demo is doing, while it does it: one live line on a terminal, plain lines elsewhere. */
#ifndef DEMO_PROGRESS_H
#define DEMO_PROGRESS_H

#include <glib.h>
#include <stdbool.h>

void progress_start(bool quiet, bool colour);
void progress_say(const char *format, ...) G_GNUC_PRINTF(1, 2); /* the present step */
void progress_count(int done, int of);
void progress_stop(void); /* leaves no trace of the live line */

#endif
