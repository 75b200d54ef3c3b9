/* Shows the place in line and who holds, while zkl waits. A terminal has one line, which is
 * overwritten; -v and --status-fd write a line for each change. */
#ifndef ZKL_TOOLS_WAITING_H
#define ZKL_TOOLS_WAITING_H

#include "run.h"

struct waiting {
    const struct run *run;
    int64_t began;    /* by now_ms(): when the wait began */
    int64_t read_at;  /* by now_ms(): the last reading; 0: there was none */
    zkl_queue *queue; /* by the last reading; NULL: unknown */
    char *node;       /* the name of our node; NULL: unknown */
    char *told;       /* place and holder of the last line for -v and --status-fd */
    char *shown;      /* the line on the terminal; NULL: there is none */
};

void waiting_begin(struct waiting *w, const struct run *run);

/* Returns in how many ms to call waiting_look(); below 0: nobody wants to see the wait. */
int64_t waiting_due_ms(const struct waiting *w);

/* Reads the queue and shows the wait, if it is time. Waits for the servers a moment at most. */
void waiting_look(struct waiting *w);

/* Clears the terminal's line, and frees what w has. */
void waiting_end(struct waiting *w);

/* Names the first few holders of path besides ourselves, each as identity_sentence() does. Returns
 * NULL if no holder with a name is known. g_free() it. */
char *waiting_holders(const struct run *run, const char *path);

#endif
