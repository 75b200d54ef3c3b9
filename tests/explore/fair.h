/* Where the fair moves of each state lead, and whether there is a way on which they go on for ever.
 * All that is a file's, but for a bit a state. */
#ifndef EXPLORE_FAIR_H
#define EXPLORE_FAIR_H

#include <glib.h>

struct fair;

/* length states, each leading to the next and the last to the first; 0: none. g_free() states. */
struct cycle {
    guint32 *states, length;
};

struct fair *fair_new(void);
void fair_free(struct fair *f);

/* States one after the other, from 0: where the moves of each lead, and that these were all. */
void fair_add(struct fair *f, guint32 to);
void fair_end(struct fair *f);

struct cycle fair_find_cycle(struct fair *f);

#endif
