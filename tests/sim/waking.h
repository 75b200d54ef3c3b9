/* Whom the end of a contender's node wakes: one waiter at most. Only oracle*.c and nodes.c include
 * this.
 *
 * A watch that is left over wakes nobody. It is excused if its session could not have got rid of
 * it, in one of two ways. Either the session lost its connection or a waiter's node, or was given
 * up before the server had heard of that. Or, for this one path, the waiter left while the request
 * that sets the watch was not answered. It is excused until the request that removes it is
 * answered. */
#ifndef SIM_WAKING_H
#define SIM_WAKING_H

#include "oracle.h"

void waking_init(struct oracle *o);
void waking_clear(struct oracle *o);

/* The session may not have got rid of its watches. */
void waking_shake(struct oracle *o, int64_t session);

/* Behind nodes_note(). */
void waking_note(struct stage *stage, const struct note *note);

#endif
