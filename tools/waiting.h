/* Shows the place in line and who holds, while zkl waits. A terminal has one line, which is
 * overwritten; -v and --status-fd write a line for each change. */
#ifndef ZKL_TOOLS_WAITING_H
#define ZKL_TOOLS_WAITING_H

#include "run.h"

struct waiting {
    const struct run *run;
    int64_t began, read_at; /* by now_ms(); read_at 0: the queue was not read yet */
    zkl_queue *queue;       /* as read last; NULL: not yet */
    char *node;             /* ours, by its name; NULL: unknown */
    char *told;             /* what the last lines were about */
    char *shown;            /* on the terminal; NULL: nothing is */
};

void waiting_begin(struct waiting *w, const struct run *run);

/* After how long to look next; below 0: nobody wants to see it. */
int64_t waiting_due_ms(const struct waiting *w);

/* Looks and shows, when it is time. Waits for the servers a moment at most. */
void waiting_look(struct waiting *w);

/* The terminal's line is as if nothing had been shown. */
void waiting_end(struct waiting *w);

/* Names the first few holders of path besides ourselves, each as identity_sentence() does. NULL if
 * they are not known or have no names. g_free() it. */
char *waiting_holders(const struct run *run, const char *path);

#endif
